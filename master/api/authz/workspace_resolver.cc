#include "master/api/authz/workspace_resolver.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

using auth::Where;

class StoreWhereabouts final : public Whereabouts {
 public:
  explicit StoreWhereabouts(store::Store* store) : store_(*store) {}

  absl::StatusOr<int32_t> WorkspaceOf(Where where, const std::string& id) override {
    store::Projects& projects = store_.projects();
    if (where == Where::kCheckpoint) return projects.WorkspaceOf(model::CheckpointId(id));
    if (where == Where::kProjectKey) {
      DET_ASSIGN_OR_RETURN(const store::ProjectRecord project, projects.GetProjectByKey(id));
      return project.workspace;
    }
    if (where == Where::kModel) {
      DET_ASSIGN_OR_RETURN(const store::ModelRecord model, store_.models().GetModel(id));
      return model.workspace;
    }
    if (where == Where::kTemplate) {
      DET_ASSIGN_OR_RETURN(const store::TemplateRecord found, store_.templates().GetTemplate(id));
      return found.workspace;
    }
    const std::optional<int> number = NumberIn(where, id);
    if (where == Where::kWebhook && number) {
      DET_ASSIGN_OR_RETURN(const store::WebhookRecord webhook,
                           store_.webhooks().GetWebhook(*number));
      return webhook.workspace;
    }
    if (!number) return auth::DoesNotExist(where, id);
    switch (where) {
      case Where::kTrial:
        return projects.WorkspaceOf(model::TrialId(*number));
      case Where::kExperiment:
      case Where::kJob:
      case Where::kTask:
      case Where::kAllocation:
        return projects.WorkspaceOf(model::ExperimentId(*number));
      case Where::kWorkspace:
        return *number;
      case Where::kProject:
        return projects.WorkspaceOfProject(*number);
      default:
        break;
    }
    return auth::DoesNotExist(where, id);
  }

 private:
  // Tasks and allocations are named after their experiment: "7.12", "7.12.0"; jobs too: "exp-7".
  static std::optional<int> NumberIn(Where where, const std::string& id) {
    if (where == Where::kJob) {
      const auto experiment = model::ExperimentOf(model::JobId(id));
      if (experiment) return experiment->value();
    }
    const bool named = where == Where::kTask || where == Where::kAllocation;
    int number = 0;
    if (!absl::SimpleAtoi(named ? id.substr(0, id.find('.')) : id, &number)) return std::nullopt;
    return number;
  }

  store::Store& store_;
};

}  // namespace

std::unique_ptr<Whereabouts> MakeWhereabouts(store::Store* store) {
  return std::make_unique<StoreWhereabouts>(store);
}

}  // namespace det::api
