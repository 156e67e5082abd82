#include "master/service/spaces.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::service {
namespace {

absl::StatusOr<FoundSpace> Open(store::Store& store, const store::ProjectRecord& project) {
  DET_ASSIGN_OR_RETURN(store::WorkspaceRecord workspace,
                       store.workspaces().GetWorkspace(project.workspace, {}));
  if (workspace.archived) return store::WorkspaceIsArchived(workspace.name);
  if (project.archived) {
    return absl::FailedPreconditionError(absl::StrCat("project \"", project.name,
                                                      "\" of workspace \"", workspace.name,
                                                      "\" is archived; unarchive it first"));
  }
  cluster::Space space{workspace.id, project.id, workspace.name, project.name};
  return FoundSpace{std::move(space), std::move(workspace)};
}

using Live = std::vector<std::pair<model::ExperimentId, int32_t>>;  // with its project

// One after the other; the first error ends it.
void TellNext(const Edge& edge, std::shared_ptr<Live> left, Done done) {
  if (left->empty()) return done(absl::OkStatus());
  const auto [id, project] = left->back();
  left->pop_back();
  const auto record = edge.store->projects().GetProject(project);
  if (!record.ok()) return done(record.status());
  cluster::MoveExperiment event{
      id, {record->workspace, record->id, record->workspace_name, record->name}};
  SubmitAndFinish(edge, std::move(event),
                  [&edge, left, done = std::move(done)](absl::Status told) mutable {
                    if (!told.ok()) return done(std::move(told));
                    edge.pool->Post([&edge, left, done = std::move(done)]() mutable {
                      TellNext(edge, left, std::move(done));
                    });
                  });
}

}  // namespace

absl::StatusOr<FoundSpace> FindSpace(store::Store& store, int32_t project) {
  DET_ASSIGN_OR_RETURN(const store::ProjectRecord record, store.projects().GetProject(project));
  return Open(store, record);
}

absl::StatusOr<FoundSpace> FindSpace(store::Store& store, const std::string& workspace,
                                     const std::string& project) {
  if (workspace.empty()) return FindSpace(store, store::kUncategorized);
  DET_ASSIGN_OR_RETURN(const store::WorkspacePage in,
                       store.workspaces().ListWorkspaces({.exact_name = workspace}));
  if (in.workspaces.empty()) {
    return absl::NotFoundError(absl::StrCat("workspace \"", workspace,
                                            "\" does not exist; `det workspace list` shows all, ",
                                            "`det workspace create` makes one"));
  }
  DET_ASSIGN_OR_RETURN(const store::ProjectPage found,
                       store.projects().ListProjects(
                           {.workspace = in.workspaces.front().id, .exact_name = project}));
  if (found.projects.empty()) {
    return absl::NotFoundError(absl::StrCat("workspace \"", workspace, "\" has no project \"",
                                            project, "\"; `det project list` shows all, ",
                                            "`det project create` makes one"));
  }
  return Open(store, found.projects.front());
}

void TellNames(const Edge& edge, std::function<bool(const experiment::Experiment& e)> of,
               Done done) {
  auto live = std::make_shared<Live>();
  edge.engine->Query(
      [live, of = std::move(of)](const cluster::Cluster& cluster) {
        for (const experiment::Experiment* e : cluster.live_experiments()) {
          if (of(*e)) live->emplace_back(e->id, e->project);
        }
      },
      [&edge, live, done = std::move(done)](absl::Status status) mutable {
        if (!status.ok()) return done(std::move(status));
        edge.pool->Post([&edge, live, done = std::move(done)]() mutable {
          TellNext(edge, live, std::move(done));
        });
      });
}

}  // namespace det::service
