#include "master/api/runtime/user_reports.h"

#include <array>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "master/api/common/convert.h"
#include "master/core/model/id_text.h"

namespace det::api {

absl::Status CheckProgress(double progress) {
  if (progress >= 0 && progress <= 1) return absl::OkStatus();  // not NaN
  return absl::InvalidArgumentError(absl::StrCat("invalid progress value: ", progress,
                                                 ". Progress value should be between 0 and 1"));
}

absl::Status CheckReportedState(const v1::Checkpoint& checkpoint) {
  // A state with an unknown name is read as STATE_UNSPECIFIED.
  if (checkpoint.state() == v1::Checkpoint::STATE_COMPLETED) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "invalid state for reported checkpoint: ", v1::Checkpoint::State_Name(checkpoint.state()),
      "; expected STATE_COMPLETED"));
}

absl::Status CheckOneTask(const v1::PostTaskLogsRequest& request) {
  if (request.logs().empty()) return absl::InvalidArgumentError("logs: expected at least one line");
  for (const v1::TaskLog& log : request.logs()) {
    if (log.has_id()) {
      return absl::InvalidArgumentError(
          absl::StrCat("logs.id: found ", log.id(), "; the master assigns the IDs of lines"));
    }
    if (log.task_id() == request.logs(0).task_id()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("logs: one request can only contain lines of one task, found ",
                     request.logs(0).task_id(), " and ", log.task_id()));
  }
  return absl::OkStatus();
}

absl::Status CheckSequence(int64_t sequence, const model::AllocationId& allocation) {
  if (sequence < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence: expected a number from 1, found ", sequence));
  }
  if (!allocation.value().empty() && !model::ParseAllocationId(allocation)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "sequence: agents number the lines of allocations; set allocation_id to a UUID of the "
      "process, or remove sequence");
}

absl::StatusOr<model::Value> ToStorage(const google::protobuf::Struct& storage) {
  static constexpr std::array<std::string_view, 5> kTypes = {"shared_fs", "directory", "s3", "gcs",
                                                             "azure"};
  model::Value value = FromStruct(storage, Numbers::kIntegersIfWhole);
  const model::Value* type = value.Find("type");
  const std::string* text = type == nullptr ? nullptr : type->AsString();
  for (const std::string_view known : kTypes) {
    if (text != nullptr && *text == known) return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("checkpoint_storage.type: unexpected type: ", text == nullptr ? "none" : *text,
                   "; expected shared_fs, directory, s3, gcs or azure"));
}

}  // namespace det::api
