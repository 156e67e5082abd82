// Between the model registry of the store and the messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_SERVICE_CONVERT_MODEL_H_
#define MASTER_SERVICE_CONVERT_MODEL_H_

#include "absl/status/statusor.h"
#include "det/api/v1/model.pb.h"
#include "master/store/models.h"

namespace det::service {

det::api::v1::Model ToProto(const store::ModelRecord& record);
// Without its model and its checkpoint.
det::api::v1::ModelVersion ToProto(const store::ModelVersionRecord& record);

store::ModelQuery ToQuery(const det::api::v1::GetModelsRequest& request);
store::ModelVersionQuery ToQuery(const det::api::v1::GetModelVersionsRequest& request);

// What a request wants, without who asks, when, and where it is to lie. INVALID_ARGUMENT names the
// field.
absl::StatusOr<store::ModelRecord> FromProto(const det::api::v1::PostModelRequest& request);
absl::StatusOr<store::ModelPatch> FromProto(const det::api::v1::PatchModel& given);
absl::StatusOr<store::ModelVersionRecord> FromProto(
    const det::api::v1::PostModelVersionRequest& request);
absl::StatusOr<store::ModelVersionPatch> FromProto(const det::api::v1::PatchModelVersion& given);

}  // namespace det::service

#endif  // MASTER_SERVICE_CONVERT_MODEL_H_
