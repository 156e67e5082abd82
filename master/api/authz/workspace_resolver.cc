#include "master/api/authz/workspace_resolver.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

using auth::Scope;

class StoreWhereabouts final : public WorkspaceResolver {
 public:
  explicit StoreWhereabouts(store::Store* store) : store_(*store) {}

  absl::StatusOr<int32_t> WorkspaceOf(Scope where, const std::string& id) override {
    store::Projects& projects = store_.projects();
    if (where == Scope::kCheckpoint) return projects.GetWorkspaceId(model::CheckpointId(id));
    if (where == Scope::kProjectKey) {
      DET_ASSIGN_OR_RETURN(const store::ProjectRecord project, projects.GetProjectByKey(id));
      return project.workspace;
    }
    if (where == Scope::kModel) {
      DET_ASSIGN_OR_RETURN(const store::ModelRecord model, store_.models().GetModel(id));
      return model.workspace;
    }
    if (where == Scope::kTemplate) {
      DET_ASSIGN_OR_RETURN(const store::TemplateRecord found, store_.templates().GetTemplate(id));
      return found.workspace;
    }
    const std::optional<int> number = NumberIn(where, id);
    if (where == Scope::kWebhook && number) {
      DET_ASSIGN_OR_RETURN(const store::WebhookRecord webhook,
                           store_.webhooks().GetWebhook(*number));
      return webhook.workspace;
    }
    if (!number) return auth::ResourceNotFound(where, id);
    switch (where) {
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
    return auth::ResourceNotFound(where, id);
  }

 private:
  // Tasks and allocations are named after their experiment: "7.12", "7.12.0"; jobs too: "exp-7".
  static std::optional<int> NumberIn(Scope where, const std::string& id) {
    if (where == Scope::kJob) {
      const auto experiment = model::ParseJobId(model::JobId(id));
      if (experiment) return experiment->value();
    }
    const bool named = where == Scope::kTask || where == Scope::kAllocation;
    int number = 0;
    if (!absl::SimpleAtoi(named ? id.substr(0, id.find('.')) : id, &number)) return std::nullopt;
    return number;
  }

  store::Store& store_;
};

}  // namespace

std::unique_ptr<WorkspaceResolver> MakeWorkspaceResolver(store::Store* store) {
  return std::make_unique<StoreWhereabouts>(store);
}

}  // namespace det::api
