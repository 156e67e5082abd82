#include "master/store/interfaces/models.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace det::store {

std::string GetHolderName(const std::string& model, int32_t version) {
  return absl::StrCat("version ", version, " of model ", model);
}

std::optional<int32_t> ParseModelId(const std::string& name) {
  int32_t id = 0;
  const bool digits = std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
  return digits && absl::SimpleAtoi(name, &id) ? std::optional(id) : std::nullopt;
}

absl::Status NoSuchModel(const std::string& name) {
  return absl::NotFoundError(
      absl::StrCat("model ", name, " not found; `det model list` shows all"));
}
absl::Status NoSuchVersion(const std::string& model, int32_t version) {
  return absl::NotFoundError(absl::StrCat(GetHolderName(model, version),
                                          " not found; `det model list-versions ", model,
                                          "` shows all"));
}
absl::Status ModelExists(const std::string& name) {
  return absl::AlreadyExistsError(absl::StrCat(
      "another model is named \"", name, "\", perhaps in another workspace; choose another name"));
}
absl::Status ModelIsArchived(const std::string& name) {
  return absl::FailedPreconditionError(
      absl::StrCat("model ", name, " is archived; unarchive it first"));
}
absl::Status NoSuchCheckpointToHold(const model::CheckpointId& id) {
  return absl::NotFoundError(absl::StrCat("checkpoint ", id.value(), " not found"));
}
absl::Status NotCompleted(const model::CheckpointId& id, model::CheckpointState state) {
  return absl::FailedPreconditionError(
      absl::StrCat("checkpoint ", id.value(), " is ", std::string(model::ToString(state)),
                   "; a model version requires a COMPLETED checkpoint"));
}
absl::Status WorkspaceHasModels(const std::string& workspace, int64_t models) {
  return absl::FailedPreconditionError(absl::StrCat("workspace \"", workspace, "\" contains ",
                                                    models, models == 1 ? " model" : " models",
                                                    "; move them elsewhere or delete them first"));
}

}  // namespace det::store
