// Converts between the model registry of the store and the messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_MODELS_CONVERT_MODEL_H_
#define MASTER_API_MODELS_CONVERT_MODEL_H_

#include "absl/status/statusor.h"
#include "det/api/v1/model.pb.h"
#include "master/store/interfaces/models.h"

namespace det::api {

v1::Model ToProto(const store::ModelRecord& record);
// Does not set the model and the checkpoint of the version.
v1::ModelVersion ToProto(const store::ModelVersionRecord& record);

store::ModelQuery ToQuery(const v1::GetModelsRequest& request);
store::ModelVersionQuery ToQuery(const v1::GetModelVersionsRequest& request);

// The requested record, without owner, time and workspace. INVALID_ARGUMENT names the field.
absl::StatusOr<store::ModelRecord> FromProto(const v1::PostModelRequest& request);
absl::StatusOr<store::ModelPatch> FromProto(const v1::PatchModel& given);
absl::StatusOr<store::ModelVersionRecord> FromProto(const v1::PostModelVersionRequest& request);
absl::StatusOr<store::ModelVersionPatch> FromProto(const v1::PatchModelVersion& given);

}  // namespace det::api

#endif  // MASTER_API_MODELS_CONVERT_MODEL_H_
