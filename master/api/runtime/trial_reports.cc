#include "master/api/runtime/trial_reports.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "master/api/common/convert.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

absl::StatusOr<model::CheckpointId> ParseCheckpointId(const std::string& text) {
  if (base::IsUuid(text)) return model::CheckpointId(text);
  return absl::InvalidArgumentError(
      absl::StrCat("invalid checkpoint UUID \"", text, "\"; expected a UUID in lower case"));
}

// A sum above it would not be a number of the database any more.
constexpr int64_t kMaxCheckpointBytes = int64_t{1} << 53;

absl::Status CheckNumbers(const det::trial::v1::ReportCheckpointRequest& request) {
  if (request.steps_completed() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("steps_completed is ", request.steps_completed(), "; expected 0 or more"));
  }
  int64_t total = 0;
  for (const auto& [path, bytes] : request.resources()) {
    if (bytes < 0 || bytes > kMaxCheckpointBytes - total) {
      return absl::InvalidArgumentError(absl::StrCat(
          "resources: ", path, " has ", bytes,
          " bytes; expected sizes from 0, of all files together up to ", kMaxCheckpointBytes));
    }
    total += bytes;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<cluster::Event> ToEvent(const det::trial::v1::ReportCheckpointRequest& request,
                                       const model::AllocationId& allocation, absl::Time now) {
  DET_ASSIGN_OR_RETURN(const model::CheckpointId id, ParseCheckpointId(request.uuid()));
  const model::TrialId trial(request.trial_id());
  if (!request.damage().empty()) {
    DET_ASSIGN_OR_RETURN(const model::CheckpointId instead, ParseCheckpointId(request.instead()));
    return cluster::CheckpointDamaged{allocation,       trial,   id,
                                      request.damage(), instead, request.steps_completed()};
  }
  DET_RETURN_IF_ERROR(CheckNumbers(request));
  cluster::CheckpointReported event{.allocation = allocation};
  event.checkpoint = {.id = id,
                      .trial = trial,
                      .allocation = allocation,
                      .steps_completed = request.steps_completed(),
                      .resources = {request.resources().begin(), request.resources().end()},
                      .metadata = FromStruct(request.metadata(), Numbers::kIntegersIfWhole),
                      .time = request.has_report_time() ? FromProto(request.report_time()) : now};
  return event;
}

absl::Status CheckUuidIsOwn(store::Store& store, const std::string& uuid,
                            const model::AllocationId& allocation) {
  const auto existing = store.GetCheckpoint(model::CheckpointId(uuid));
  if (absl::IsNotFound(existing.status())) return absl::OkStatus();
  DET_RETURN_IF_ERROR(existing.status());
  const auto run = model::ParseAllocationId(allocation);
  if (run && run->trial == existing->checkpoint.trial) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("checkpoint ", uuid, " belongs to another trial; use a new UUID"));
}

}  // namespace det::api
