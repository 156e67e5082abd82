// Workspaces and projects in a whole master: creating, listing and moving experiments.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "det/api/v1/job.grpc.pb.h"
#include "det/api/v1/kubernetes.grpc.pb.h"
#include "det/api/v1/project.grpc.pb.h"
#include "det/api/v1/resource_pool.grpc.pb.h"
#include "det/api/v1/workspace.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

class WorkspacesTest : public MasterIntegrationTest {
 protected:
  template <class Stub, class Method, class Request, class Response>
  grpc::Status Call(Stub& stub, Method method, const Request& request, Response* response) {
    CallContext context("user");
    return (stub.*method)(&context, request, response);
  }
  int MakeWorkspace(const std::string& name) {
    api::PostWorkspaceRequest request;
    request.set_name(name);
    return Made(request).id();
  }
  api::Workspace Made(const api::PostWorkspaceRequest& request) {
    api::PostWorkspaceResponse response;
    const grpc::Status status =
        Call(*workspaces_, &api::WorkspaceService::Stub::PostWorkspace, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.workspace();
  }
  int MakeProject(int workspace, const std::string& name) {
    api::PostProjectRequest request;
    request.set_workspace_id(workspace);
    request.set_name(name);
    api::PostProjectResponse response;
    const grpc::Status status =
        Call(*projects_, &api::ProjectService::Stub::PostProject, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.project().id();
  }
  grpc::Status PatchWorkspace(const api::PatchWorkspaceRequest& request,
                              api::PatchWorkspaceResponse* response) {
    return Call(*workspaces_, &api::WorkspaceService::Stub::PatchWorkspace, request, response);
  }
  api::Project GetProject(int id) {
    api::GetProjectRequest request;
    request.set_id(id);
    api::GetProjectResponse response;
    const grpc::Status status =
        Call(*projects_, &api::ProjectService::Stub::GetProject, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.project();
  }
  grpc::Status Move(int experiment, int project) {
    api::MoveExperimentRequest request;
    request.set_experiment_id(experiment);
    request.set_destination_project_id(project);
    api::MoveExperimentResponse response;
    return Call(*experiments_, &api::ExperimentService::Stub::MoveExperiment, request, &response);
  }
  api::Experiment CreateIn(const std::string& workspace, const std::string& project) {
    api::CreateExperimentResponse response;
    const grpc::Status status = Create(
        Request(kConfig + ("workspace: " + workspace + "\nproject: " + project + "\n")), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment();
  }

  std::unique_ptr<api::WorkspaceService::Stub> workspaces_ =
      api::WorkspaceService::NewStub(master_.channel());
  std::unique_ptr<api::ProjectService::Stub> projects_ =
      api::ProjectService::NewStub(master_.channel());
  std::unique_ptr<api::JobService::Stub> jobs_ = api::JobService::NewStub(master_.channel());
  std::unique_ptr<api::ResourcePoolService::Stub> pools_ =
      api::ResourcePoolService::NewStub(master_.channel());
};

TEST_F(WorkspacesTest, LimitsNamesByCharacters) {
  std::string name;
  for (int i = 0; i < 80; ++i) name += "\xe5\xad\xa6";
  EXPECT_GT(MakeProject(MakeWorkspace(name), name), 0);
  api::PostWorkspaceRequest request;
  request.set_name(name + "x");
  api::PostWorkspaceResponse response;
  const grpc::Status status =
      Call(*workspaces_, &api::WorkspaceService::Stub::PostWorkspace, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("1 to 80 characters"));
}

TEST_F(WorkspacesTest, CreatesAnExperimentInTheConfiguredProject) {
  const int vision = MakeWorkspace("vision");
  const int cats = MakeProject(vision, "cats");
  const int plain = Create();
  const api::Experiment made = CreateIn("vision", "cats");
  EXPECT_EQ(made.project_id(), cats);
  EXPECT_EQ(made.project_name(), "cats");
  EXPECT_EQ(made.project_owner_id(), 1);
  EXPECT_EQ(made.workspace_id(), vision);
  EXPECT_EQ(made.workspace_name(), "vision");
  EXPECT_EQ(Get(plain).project_id(), 1);
  EXPECT_EQ(Get(plain).workspace_name(), "Uncategorized");
  EXPECT_EQ(Get(plain).config().fields().at("project").string_value(), "Uncategorized");

  api::GetExperimentsRequest list;
  list.set_project_id(cats);
  api::GetExperimentsResponse listed;
  ASSERT_TRUE(
      Call(*experiments_, &api::ExperimentService::Stub::GetExperiments, list, &listed).ok());
  ASSERT_EQ(listed.experiments_size(), 1);
  EXPECT_EQ(listed.experiments(0).id(), made.id());
  api::GetJobsResponse jobs;
  ASSERT_TRUE(Call(*jobs_, &api::JobService::Stub::GetJobs, api::GetJobsRequest(), &jobs).ok());
  ASSERT_EQ(jobs.jobs_size(), 2);
  EXPECT_EQ(jobs.jobs(1).workspace(), "vision");
  EXPECT_EQ(jobs.jobs(1).workspace_id(), vision);
  EXPECT_EQ(GetProject(cats).num_active_experiments(), 1);
  EXPECT_EQ(GetProject(cats).num_runs(), 1);
}

TEST_F(WorkspacesTest, CreatesAnExperimentInTheRequestedProject) {
  const int cats = MakeProject(MakeWorkspace("vision"), "cats");
  auto request = Request();
  request.set_project_id(cats);
  api::CreateExperimentResponse first, fork;
  ASSERT_TRUE(Create(request, &first).ok());
  EXPECT_EQ(first.experiment().workspace_name(), "vision");
  request = {};
  request.set_parent_id(first.experiment().id());
  ASSERT_TRUE(Create(request, &fork).ok());
  EXPECT_EQ(fork.experiment().project_id(), cats) << "a fork is in the project of its parent";
}

TEST_F(WorkspacesTest, RejectsMissingAndArchivedProjects) {
  const int vision = MakeWorkspace("vision");
  const int cats = MakeProject(vision, "cats");
  api::CreateExperimentResponse response;
  auto request = Request(std::string(kConfig) + "workspace: vision\nproject: dogs\n");
  request.set_config_path("c.yaml");
  grpc::Status status = Create(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(),
              HasSubstr("c.yaml:7: project \"dogs\" not found in workspace \"vision\""));
  status = Create(Request(std::string(kConfig) + "workspace: w\nproject: p\n"), &response);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("det workspace create"));

  api::ArchiveWorkspaceRequest archive;
  archive.set_id(vision);
  api::ArchiveWorkspaceResponse archived;
  ASSERT_TRUE(
      Call(*workspaces_, &api::WorkspaceService::Stub::ArchiveWorkspace, archive, &archived).ok());
  request.set_config(kConfig);
  request.set_project_id(cats);
  EXPECT_EQ(Create(request, &response).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(master_.store().ListExperiments({})->total, 0);
}

TEST_F(WorkspacesTest, MovesRunningAndEndedExperiments) {
  const int vision = MakeWorkspace("vision");
  const int cats = MakeProject(vision, "cats");
  const int id = Create();
  ASSERT_TRUE(Move(id, cats).ok());
  EXPECT_EQ(Get(id).workspace_id(), vision);
  EXPECT_EQ(Get(id).config().fields().at("workspace").string_value(), "vision");
  ASSERT_TRUE(Kill(id).ok());
  Await(id);
  ASSERT_TRUE(Move(id, 1).ok());
  EXPECT_EQ(Get(id).project_name(), "Uncategorized");
  EXPECT_EQ(Move(id, 99).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Move(99, cats).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(WorkspacesTest, AppliesStorageAndPoolsOfTheWorkspace) {
  master_.parts().defaults.checkpoint_storage = R"({"save_trial_best": 5, "save_trial_latest": 4})";
  api::PutResourcePoolRequest pool;
  pool.set_name("gpus");
  api::PutResourcePoolResponse put;
  ASSERT_TRUE(Call(*pools_, &api::ResourcePoolService::Stub::PutResourcePool, pool, &put).ok());
  api::PostWorkspaceRequest request;
  request.set_name("vision");
  request.set_default_compute_pool("gpus");
  auto& storage = *request.mutable_checkpoint_storage_config()->mutable_fields();
  storage["save_trial_best"].set_number_value(7);
  request.mutable_agent_user_group()->set_agent_user("ann");
  const api::Workspace vision = Made(request);
  EXPECT_EQ(vision.agent_user_group().agent_user(), "ann");
  MakeProject(vision.id(), "cats");
  const api::Experiment made = CreateIn("vision", "cats");
  EXPECT_EQ(made.resource_pool(), "gpus");
  EXPECT_EQ(made.config()
                .fields()
                .at("checkpoint_storage")
                .struct_value()
                .fields()
                .at("save_trial_best")
                .number_value(),
            7);
  EXPECT_EQ(made.original_config().find("save_trial_best"), std::string::npos);

  // The other fields come from the master's configuration.
  const auto& kept = made.config().fields().at("checkpoint_storage").struct_value().fields();
  EXPECT_EQ(kept.at("save_trial_latest").number_value(), 4);
  EXPECT_EQ(made.original_config().find("save_trial_latest"), std::string::npos);

  request.set_name("speech");
  request.set_default_compute_pool("none");
  api::PostWorkspaceResponse response;
  EXPECT_EQ(Call(*workspaces_, &api::WorkspaceService::Stub::PostWorkspace, request, &response)
                .error_code(),
            StatusCode::NOT_FOUND);
  request.clear_default_compute_pool();
  storage["host_path"].set_string_value("/etc");
  EXPECT_EQ(Call(*workspaces_, &api::WorkspaceService::Stub::PostWorkspace, request, &response)
                .error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(WorkspacesTest, RenamesForRunningExperimentsButNotWhileBound) {
  const int vision = MakeWorkspace("vision");
  MakeProject(vision, "cats");
  const api::Experiment made = CreateIn("vision", "cats");
  api::PutResourcePoolRequest put;
  put.set_name("night");
  api::PutResourcePoolResponse night;
  ASSERT_TRUE(Call(*pools_, &api::ResourcePoolService::Stub::PutResourcePool, put, &night).ok());
  api::BindRPToWorkspaceRequest bind;
  bind.set_resource_pool_name("night");
  bind.add_workspace_ids(vision);
  api::BindRPToWorkspaceResponse bound;
  ASSERT_TRUE(Call(*pools_, &api::ResourcePoolService::Stub::BindRPToWorkspace, bind, &bound).ok());
  api::ListWorkspacesBoundToRPRequest list;
  list.set_resource_pool_name("night");
  api::ListWorkspacesBoundToRPResponse listed;
  ASSERT_TRUE(
      Call(*pools_, &api::ResourcePoolService::Stub::ListWorkspacesBoundToRP, list, &listed).ok());
  EXPECT_THAT(listed.workspace_ids(), ElementsAre(vision));
  EXPECT_THAT(listed.workspace_names(), ElementsAre("vision"));
  api::ListRPsBoundToWorkspaceRequest open;
  open.set_workspace_id(1);
  api::ListRPsBoundToWorkspaceResponse pools;
  ASSERT_TRUE(
      Call(*workspaces_, &api::WorkspaceService::Stub::ListRPsBoundToWorkspace, open, &pools).ok());
  EXPECT_THAT(pools.resource_pools(), ElementsAre("default"));

  api::PatchWorkspaceRequest patch;
  patch.set_id(vision);
  patch.mutable_workspace()->set_name("sight");
  api::PatchWorkspaceResponse patched;
  EXPECT_EQ(PatchWorkspace(patch, &patched).error_code(), StatusCode::FAILED_PRECONDITION);
  api::DeleteWorkspaceRequest drop;
  drop.set_id(vision);
  api::DeleteWorkspaceResponse dropped;
  const grpc::Status kept =
      Call(*workspaces_, &api::WorkspaceService::Stub::DeleteWorkspace, drop, &dropped);
  EXPECT_EQ(kept.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(kept.error_message(), HasSubstr("a binding of resource pool night"));
  api::UnbindRPFromWorkspaceRequest unbind;
  unbind.set_resource_pool_name("night");
  unbind.add_workspace_names("vision");
  api::UnbindRPFromWorkspaceResponse unbound;
  ASSERT_TRUE(
      Call(*pools_, &api::ResourcePoolService::Stub::UnbindRPFromWorkspace, unbind, &unbound).ok());
  const grpc::Status renamed = PatchWorkspace(patch, &patched);
  ASSERT_TRUE(renamed.ok()) << renamed.error_message();
  EXPECT_EQ(patched.workspace().name(), "sight");
  api::GetJobsResponse jobs;
  ASSERT_TRUE(Call(*jobs_, &api::JobService::Stub::GetJobs, api::GetJobsRequest(), &jobs).ok());
  ASSERT_EQ(jobs.jobs_size(), 1);
  EXPECT_EQ(jobs.jobs(0).workspace(), "sight");
  EXPECT_EQ(Get(made.id()).workspace_name(), "sight");
}

TEST_F(WorkspacesTest, BindsNoDefaultPool) {
  const int vision = MakeWorkspace("vision");
  api::BindRPToWorkspaceRequest bind;
  bind.set_resource_pool_name("default");
  bind.add_workspace_ids(vision);
  api::BindRPToWorkspaceResponse bound;
  const grpc::Status refused =
      Call(*pools_, &api::ResourcePoolService::Stub::BindRPToWorkspace, bind, &bound);
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("default resource pool default cannot be bound to any workspace"));
}

TEST_F(WorkspacesTest, PinsNewWorkspaceAndProtectsArchivedOne) {
  const int vision = MakeWorkspace("vision");
  api::GetWorkspacesRequest list;
  list.set_pinned(true);
  api::GetWorkspacesResponse listed;
  ASSERT_TRUE(Call(*workspaces_, &api::WorkspaceService::Stub::GetWorkspaces, list, &listed).ok());
  ASSERT_EQ(listed.workspaces_size(), 1);
  EXPECT_EQ(listed.workspaces(0).id(), vision);
  EXPECT_TRUE(listed.workspaces(0).pinned());
  const int cats = MakeProject(vision, "cats");
  api::ArchiveWorkspaceRequest archive;
  archive.set_id(vision);
  api::ArchiveWorkspaceResponse archived;
  ASSERT_TRUE(
      Call(*workspaces_, &api::WorkspaceService::Stub::ArchiveWorkspace, archive, &archived).ok());
  EXPECT_TRUE(GetProject(cats).archived());
  api::PatchWorkspaceRequest patch;
  patch.set_id(vision);
  patch.mutable_workspace()->set_name("sight");
  api::PatchWorkspaceResponse patched;
  EXPECT_EQ(PatchWorkspace(patch, &patched).error_code(), StatusCode::FAILED_PRECONDITION);
  api::MoveProjectRequest move;
  move.set_project_id(cats);
  move.set_destination_workspace_id(1);
  api::MoveProjectResponse moved;
  EXPECT_EQ(Call(*projects_, &api::ProjectService::Stub::MoveProject, move, &moved).error_code(),
            StatusCode::FAILED_PRECONDITION);
}

TEST_F(WorkspacesTest, AnswersCallsAboutKubernetes) {
  const auto kubernetes = api::KubernetesService::NewStub(master_.channel());
  api::GetWorkspacesWithDefaultNamespaceBindingsResponse all;
  const int vision = MakeWorkspace("vision");
  ASSERT_TRUE(Call(*kubernetes,
                   &api::KubernetesService::Stub::GetWorkspacesWithDefaultNamespaceBindings,
                   api::GetWorkspacesWithDefaultNamespaceBindingsRequest(), &all)
                  .ok());
  EXPECT_THAT(all.workspace_ids(), ElementsAre(1, vision));
  api::SetResourceQuotasRequest request;
  api::SetResourceQuotasResponse response;
  request.set_id(vision);
  grpc::Status status =
      Call(*kubernetes, &api::KubernetesService::Stub::SetResourceQuotas, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("operation not supported"));
  request.set_id(99);
  status = Call(*kubernetes, &api::KubernetesService::Stub::SetResourceQuotas, request, &response);
  EXPECT_THAT(status.error_message(), HasSubstr("workspace 99 not found"));
}

TEST_F(WorkspacesTest, ListsExperimentsWithConfigurationAndHyperparameters) {
  const int vision = MakeWorkspace("vision");
  const int cats = MakeProject(vision, "cats");
  const api::Experiment made = CreateIn("vision", "cats");
  api::GetExperimentsRequest list;
  list.set_project_id(cats);
  api::GetExperimentsResponse listed;
  const auto get = &api::ExperimentService::Stub::GetExperiments;
  ASSERT_TRUE(Call(*experiments_, get, list, &listed).ok());
  ASSERT_EQ(listed.experiments_size(), 1);
  const api::Experiment& found = listed.experiments(0);
  EXPECT_EQ(
      found.config().fields().at("resources").struct_value().fields().at("priority").number_value(),
      42);
  EXPECT_TRUE(found.config().fields().contains("environment"));
  EXPECT_TRUE(found.has_hyperparameters());
  EXPECT_EQ(found.original_config(), "");
  const api::Experiment one = Get(made.id());
  EXPECT_FALSE(one.has_hyperparameters());
  EXPECT_NE(one.original_config(), "");
  EXPECT_FALSE(one.parent_archived());
  list.set_project_id(999);
  EXPECT_EQ(Call(*experiments_, get, list, &listed).error_code(), StatusCode::NOT_FOUND);
  store::ProjectPatch patch;
  patch.archived = true;
  ASSERT_TRUE(master_.store().projects().ChangeProject(cats, patch).ok());
  EXPECT_TRUE(Get(made.id()).parent_archived());
}

TEST_F(WorkspacesTest, DeletesProjectWithEndedExperiments) {
  const int vision = MakeWorkspace("vision");
  const int cats = MakeProject(vision, "cats");
  const api::Experiment made = CreateIn("vision", "cats");
  ASSERT_TRUE(Kill(made.id()).ok());
  Await(made.id());
  api::DeleteProjectRequest drop;
  drop.set_id(cats);
  api::DeleteProjectResponse gone;
  ASSERT_TRUE(Call(*projects_, &api::ProjectService::Stub::DeleteProject, drop, &gone).ok());
  EXPECT_FALSE(gone.completed()) << "garbage collection deletes it";
  api::GetProjectRequest get;
  get.set_id(cats);
  grpc::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    api::GetProjectResponse got;
    status = Call(*projects_, &api::ProjectService::Stub::GetProject, get, &got);
    if (!status.ok()) break;
    EXPECT_EQ(got.project().state(), api::WORKSPACE_STATE_DELETING);
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(
      absl::IsNotFound(master_.store().GetExperiment(model::ExperimentId(made.id())).status()));
}

TEST_F(WorkspacesTest, DoesNotDeleteProjectsWithRunningExperiments) {
  const int vision = MakeWorkspace("vision");
  const int cats = MakeProject(vision, "cats");
  const api::Experiment made = CreateIn("vision", "cats");
  api::DeleteProjectRequest of_project;
  of_project.set_id(cats);
  api::DeleteProjectResponse project_gone;
  const auto drop = &api::ProjectService::Stub::DeleteProject;
  grpc::Status status = Call(*projects_, drop, of_project, &project_gone);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("contains 1 experiment that has not ended"));
  api::MoveProjectRequest move;
  move.set_project_id(cats);
  move.set_destination_workspace_id(1);
  api::MoveProjectResponse moved;
  const auto take = &api::ProjectService::Stub::MoveProject;
  EXPECT_EQ(Call(*projects_, take, move, &moved).error_code(), StatusCode::FAILED_PRECONDITION);
  ASSERT_TRUE(Kill(made.id()).ok());
  Await(made.id());
  ASSERT_TRUE(Call(*projects_, take, move, &moved).ok());
  EXPECT_EQ(Get(made.id()).workspace_id(), 1);
  ASSERT_TRUE(Move(made.id(), 1).ok());
  ASSERT_TRUE(Call(*projects_, drop, of_project, &project_gone).ok());
  EXPECT_TRUE(project_gone.completed());
  EXPECT_EQ(Call(*projects_, drop, of_project, &project_gone).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(WorkspacesTest, ChangesNameNotesAndLabels) {
  const int id = Create();
  api::PatchExperimentRequest request;
  api::PatchExperiment& patch = *request.mutable_experiment();
  patch.set_id(id);
  patch.set_name("lion");
  patch.set_notes("roars");
  patch.mutable_labels()->add_values()->set_string_value("cat");
  patch.mutable_resources()->set_priority(7);
  api::PatchExperimentResponse response;
  const auto change = &api::ExperimentService::Stub::PatchExperiment;
  const grpc::Status status = Call(*experiments_, change, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.experiment().name(), "lion");
  EXPECT_EQ(response.experiment().notes(), "roars");
  EXPECT_THAT(response.experiment().labels(), ElementsAre("cat"));
  patch.mutable_resources()->set_priority(1000);
  patch.set_name("tiger");
  EXPECT_EQ(Call(*experiments_, change, request, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Get(id).name(), "lion") << "a rejected patch changes nothing";

  api::PutExperimentLabelRequest put;
  put.set_experiment_id(id);
  put.set_label("wild");
  api::PutExperimentLabelResponse labels;
  ASSERT_TRUE(
      Call(*experiments_, &api::ExperimentService::Stub::PutExperimentLabel, put, &labels).ok());
  EXPECT_THAT(labels.labels(), ElementsAre("cat", "wild"));
  api::DeleteExperimentLabelRequest drop;
  drop.set_experiment_id(id);
  drop.set_label("cat");
  api::DeleteExperimentLabelResponse left;
  ASSERT_TRUE(
      Call(*experiments_, &api::ExperimentService::Stub::DeleteExperimentLabel, drop, &left).ok());
  api::GetExperimentLabelsResponse all;
  ASSERT_TRUE(Call(*experiments_, &api::ExperimentService::Stub::GetExperimentLabels,
                   api::GetExperimentLabelsRequest(), &all)
                  .ok());
  EXPECT_THAT(all.labels(), ElementsAre("wild"));
}

TEST_F(WorkspacesTest, ListsPinnedWorkspacesAndRecentProjects) {
  const int vision = MakeWorkspace("vision");
  const int cats = MakeProject(vision, "cats");
  MakeProject(vision, "dogs");
  api::PinWorkspaceRequest pin;
  pin.set_id(vision);
  api::PinWorkspaceResponse pinned;
  ASSERT_TRUE(Call(*workspaces_, &api::WorkspaceService::Stub::PinWorkspace, pin, &pinned).ok());
  api::GetWorkspacesRequest list;
  list.set_pinned(true);
  api::GetWorkspacesResponse listed;
  ASSERT_TRUE(Call(*workspaces_, &api::WorkspaceService::Stub::GetWorkspaces, list, &listed).ok());
  ASSERT_EQ(listed.workspaces_size(), 1);
  EXPECT_EQ(listed.workspaces(0).num_projects(), 2);
  EXPECT_EQ(listed.workspaces(0).username(), "admin");
  EXPECT_EQ(listed.pagination().total(), 1);
  api::GetWorkspaceProjectsRequest of;
  of.set_id(vision);
  of.set_name("DOG");
  api::GetWorkspaceProjectsResponse in;
  ASSERT_TRUE(Call(*workspaces_, &api::WorkspaceService::Stub::GetWorkspaceProjects, of, &in).ok());
  ASSERT_EQ(in.projects_size(), 1);
  EXPECT_EQ(in.projects(0).key(), "DOG");
  EXPECT_EQ(GetProject(cats).workspace_name(), "vision");
  api::GetProjectsByUserActivityResponse visited;
  ASSERT_TRUE(Call(*projects_, &api::ProjectService::Stub::GetProjectsByUserActivity,
                   api::GetProjectsByUserActivityRequest(), &visited)
                  .ok());
  ASSERT_EQ(visited.projects_size(), 1);
  EXPECT_EQ(visited.projects(0).name(), "cats");
}

}  // namespace
}  // namespace det::tests
