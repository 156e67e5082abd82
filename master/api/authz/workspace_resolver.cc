#include "master/api/authz/workspace_resolver.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

using auth::Scope;

class StoreWorkspaceResolver final : public WorkspaceResolver {
 public:
  explicit StoreWorkspaceResolver(store::Store* store) : store_(*store) {}

  absl::StatusOr<int32_t> FindWorkspace(Scope scope, const std::string& id) override {
    store::Projects& projects = store_.projects();
    if (scope == Scope::kCheckpoint) return FindWorkspaceOfCheckpoint(absl::AsciiStrToLower(id));
    if (scope == Scope::kProjectKey) {
      DET_ASSIGN_OR_RETURN(const store::ProjectRecord project,
                           projects.GetProjectByKey(absl::AsciiStrToUpper(id)));
      return project.workspace;
    }
    if (scope == Scope::kModel) {
      DET_ASSIGN_OR_RETURN(const store::ModelRecord model, store_.models().GetModel(id));
      return model.workspace;
    }
    if (scope == Scope::kTemplate) {
      DET_ASSIGN_OR_RETURN(const store::TemplateRecord found, store_.templates().GetTemplate(id));
      return found.workspace;
    }
    if (const std::optional<model::TaskId> task = ParseTask(scope, id)) {
      DET_ASSIGN_OR_RETURN(const store::TaskRecord found, store_.tasks().Get(*task));
      return found.task.workspace;
    }
    const std::optional<int> number = ParseNumber(scope, id);
    if (scope == Scope::kWebhook && number) {
      DET_ASSIGN_OR_RETURN(const store::WebhookRecord webhook,
                           store_.webhooks().GetWebhook(*number));
      return webhook.workspace;
    }
    if (!number) return auth::ResourceNotFound(scope, id);
    switch (scope) {
      case Scope::kTrial:
        return projects.GetWorkspaceId(model::TrialId(*number));
      case Scope::kExperiment:
      case Scope::kJob:
      case Scope::kTask:
      case Scope::kAllocation:
        return projects.GetWorkspaceId(model::ExperimentId(*number));
      case Scope::kWorkspace:
        return *number;
      case Scope::kProject:
        return projects.GetProjectWorkspaceId(*number);
      default:
        break;
    }
    return auth::ResourceNotFound(scope, id);
  }

  absl::StatusOr<model::UserId> FindOwner(Scope scope, const std::string& id) override {
    if (scope == Scope::kModel) {
      DET_ASSIGN_OR_RETURN(const store::ModelRecord model, store_.models().GetModel(id));
      return model.owner;
    }
    const std::optional<int> number = ParseNumber(scope, id);
    if (!number) return auth::ResourceNotFound(scope, id);
    switch (scope) {
      case Scope::kProject: {
        DET_ASSIGN_OR_RETURN(const store::ProjectRecord project,
                             store_.projects().GetProjectSettings(*number));
        return project.owner;
      }
      case Scope::kTrial: {
        DET_ASSIGN_OR_RETURN(const store::TrialRecord trial,
                             store_.GetBareTrial(model::TrialId(*number)));
        return FindOwner(trial.trial.experiment);
      }
      case Scope::kExperiment:
        return FindOwner(model::ExperimentId(*number));
      default:
        return auth::ResourceNotFound(scope, id);
    }
  }

 private:
  absl::StatusOr<int32_t> FindWorkspaceOfCheckpoint(const std::string& uuid) {
    absl::StatusOr<int32_t> found = store_.projects().GetWorkspaceId(model::CheckpointId(uuid));
    if (absl::IsNotFound(found.status()) && !base::IsUuid(uuid)) {
      return absl::InvalidArgumentError(absl::StrCat("checkpoint \"", uuid, "\" is not a UUID"));
    }
    return found;
  }

  absl::StatusOr<model::UserId> FindOwner(model::ExperimentId id) {
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store_.GetExperiment(id));
    return record.experiment.owner;
  }

  // The task that is not a trial; also of its allocation or its job.
  static std::optional<model::TaskId> ParseTask(Scope scope, const std::string& id) {
    if (scope == Scope::kAllocation) return model::ParseOtherTask(model::AllocationId(id));
    if (scope != Scope::kTask && scope != Scope::kJob) return std::nullopt;
    const model::TaskId task(id);
    return model::IsOtherTask(task) ? std::optional(task) : std::nullopt;
  }

  // Tasks and allocations are named after their experiment: "7.12", "7.12.0"; jobs too:
  // "exp-7".
  static std::optional<int> ParseNumber(Scope scope, const std::string& id) {
    if (scope == Scope::kJob) {
      const auto experiment = model::ParseJobId(model::JobId(id));
      if (experiment) return experiment->value();
    }
    const bool has_parts = scope == Scope::kTask || scope == Scope::kAllocation;
    int number = 0;
    if (!absl::SimpleAtoi(has_parts ? id.substr(0, id.find('.')) : id, &number))
      return std::nullopt;
    return number;
  }

  store::Store& store_;
};

}  // namespace

std::unique_ptr<WorkspaceResolver> MakeWorkspaceResolver(store::Store* store) {
  return std::make_unique<StoreWorkspaceResolver>(store);
}

}  // namespace det::api
