// Generic tasks, and the end of tasks with their workspace, called at the services.
#include <future>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "det/api/v1/command.grpc.pb.h"
#include "det/api/v1/config_policy.grpc.pb.h"
#include "det/api/v1/generic_task.grpc.pb.h"
#include "det/api/v1/project.grpc.pb.h"
#include "det/api/v1/task.grpc.pb.h"
#include "det/api/v1/task_runtime.grpc.pb.h"
#include "det/api/v1/usage.grpc.pb.h"
#include "det/api/v1/workspace.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using ::testing::HasSubstr;
using Generic = api::GenericTaskService::Stub;

constexpr char kNoSlots[] = "entrypoint: ['python3', 'x.py']\nresources: {slots: 0}\n";

api::CreateGenericTaskRequest MakeRequest(const std::string& config = kNoSlots) {
  api::CreateGenericTaskRequest request;
  request.set_config(config);
  return request;
}

class GenericTasksTest : public MasterIntegrationTest {
 protected:
  grpc::Status Create(const api::CreateGenericTaskRequest& request, std::string* id = nullptr) {
    api::CreateGenericTaskResponse response;
    const grpc::Status status = Call(&Generic::CreateGenericTask, request, &response);
    if (id != nullptr) *id = response.task_id();
    return status;
  }
  std::string MustCreate(const api::CreateGenericTaskRequest& request = MakeRequest()) {
    std::string id;
    const grpc::Status status = Create(request, &id);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return id;
  }
  std::string CreateChild(const std::string& parent, bool no_pause = false) {
    api::CreateGenericTaskRequest request = MakeRequest();
    request.set_parent_id(parent);
    request.set_no_pause(no_pause);
    return MustCreate(request);
  }
  api::Task GetTask(const std::string& id) {
    api::GetTaskRequest request;
    request.set_task_id(id);
    api::GetTaskResponse response;
    EXPECT_TRUE(Call(&api::TaskService::Stub::GetTask, request, &response).ok());
    return response.task();
  }
  std::string GetState(const std::string& id) {
    return api::GenericTaskState_Name(GetTask(id).task_state());
  }
  std::string GetConfig(const std::string& id) {
    api::GetGenericTaskConfigRequest request;
    request.set_task_id(id);
    api::GetGenericTaskConfigResponse response;
    EXPECT_TRUE(Call(&Generic::GetGenericTaskConfig, request, &response).ok());
    return response.config();
  }
  std::string GetContext(const std::string& id) {
    api::GetTaskContextDirectoryRequest request;
    request.set_task_id(id);
    api::GetTaskContextDirectoryResponse response;
    EXPECT_TRUE(
        Call(&api::TaskRuntimeService::Stub::GetTaskContextDirectory, request, &response).ok());
    return response.b64_tgz();
  }
  grpc::Status Kill(const std::string& id, bool from_root = false) {
    api::KillGenericTaskRequest request;
    request.set_task_id(id);
    request.set_kill_from_root(from_root);
    api::KillGenericTaskResponse response;
    return Call(&Generic::KillGenericTask, request, &response);
  }
  grpc::Status Pause(const std::string& id) {
    api::PauseGenericTaskRequest request;
    request.set_task_id(id);
    api::PauseGenericTaskResponse response;
    return Call(&Generic::PauseGenericTask, request, &response);
  }
  grpc::Status Unpause(const std::string& id) {
    api::UnpauseGenericTaskRequest request;
    request.set_task_id(id);
    api::UnpauseGenericTaskResponse response;
    return Call(&Generic::UnpauseGenericTask, request, &response);
  }
  int CreateWorkspace(const std::string& name) {
    api::PostWorkspaceRequest request;
    request.set_name(name);
    api::PostWorkspaceResponse response;
    EXPECT_TRUE(Call(&api::WorkspaceService::Stub::PostWorkspace, request, &response).ok());
    return response.workspace().id();
  }
  int CreateProject(int workspace) {
    api::PostProjectRequest request;
    request.set_workspace_id(workspace);
    request.set_name("project");
    api::PostProjectResponse response;
    EXPECT_TRUE(Call(&api::ProjectService::Stub::PostProject, request, &response).ok());
    return response.project().id();
  }
  std::string LaunchCommand(int workspace) {
    api::LaunchCommandRequest request;
    request.set_workspace_id(workspace);
    request.set_config_yaml("resources: {slots: 0}");
    request.add_words("sleep 1000");
    api::LaunchCommandResponse response;
    const grpc::Status status = Call(&api::CommandService::Stub::LaunchCommand, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.command().id();
  }
  grpc::StatusCode ListCommands(int workspace) {
    api::GetCommandsRequest request;
    request.set_workspace_id(workspace);
    api::GetCommandsResponse response;
    return Call(&api::CommandService::Stub::GetCommands, request, &response).error_code();
  }
  std::string GetReason(const std::string& id) {
    return store_().tasks().Get(model::TaskId(id))->task.reason;
  }
  store::FakeStore& store_() { return master_.store(); }
};

TEST_F(GenericTasksTest, CreatesTask_WithItsConfigAsSubmitted) {
  const std::string id = MustCreate();
  const api::Task task = GetTask(id);
  EXPECT_EQ(task.task_type(), api::Task::TASK_TYPE_GENERIC);
  EXPECT_EQ(task.task_state(), api::GENERIC_TASK_STATE_ACTIVE);
  EXPECT_FALSE(task.no_pause());
  EXPECT_FALSE(task.has_parent_id());
  ASSERT_EQ(task.allocations_size(), 1);
  EXPECT_EQ(task.allocations(0).allocation_id(), id + ".1");
  EXPECT_EQ(GetConfig(id), R"({"entrypoint":["python3","x.py"],"resources":{"slots":0}})");
  api::GetTasksResponse list;
  EXPECT_TRUE(Call(&api::TaskService::Stub::GetTasks, api::GetTasksRequest(), &list).ok());
  EXPECT_EQ(list.allocation_id_to_summary().at(id + ".1").name(), "Generic Task " + id);
}

TEST_F(GenericTasksTest, RefusesBadRequests) {
  const auto expect = [this](const api::CreateGenericTaskRequest& request, grpc::StatusCode code,
                             const std::string& text) {
    const grpc::Status status = Create(request);
    EXPECT_EQ(status.error_code(), code) << text;
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  };
  expect({}, grpc::StatusCode::INVALID_ARGUMENT, "No config file nor forked task");
  expect(MakeRequest("a: [b"), grpc::StatusCode::INVALID_ARGUMENT, "config:");
  expect(MakeRequest("no_such: 1"), grpc::StatusCode::INVALID_ARGUMENT, "no_such");
  expect(MakeRequest("description: mine"), grpc::StatusCode::INVALID_ARGUMENT,
         "config:1: description: generic tasks do not have this field");
  expect(MakeRequest("resources: {slots: 0}"), grpc::StatusCode::INVALID_ARGUMENT,
         "entrypoint: must not be empty");
  expect(MakeRequest("entrypoint: [a]\nresources: {slots: -1}"), grpc::StatusCode::INVALID_ARGUMENT,
         "resources.slots");
  api::CreateGenericTaskRequest request = MakeRequest();
  request.set_project_id(99);
  expect(request, grpc::StatusCode::NOT_FOUND, "99");
  request = MakeRequest();
  request.set_parent_id("no-such-task");
  expect(request, grpc::StatusCode::NOT_FOUND, "no-such-task");
  request = MakeRequest();
  request.set_forked_from("9f0e3c4e-0000-4000-8000-000000000000");
  expect(request, grpc::StatusCode::NOT_FOUND, "of type GENERIC");
  request = MakeRequest();
  request.set_inherit_context(true);
  expect(request, grpc::StatusCode::INVALID_ARGUMENT, "parent_id");
}

TEST_F(GenericTasksTest, ForksConfigAndContext) {
  api::CreateGenericTaskRequest request =
      MakeRequest("entrypoint: [a, b]\nresources: {slots: 0, priority: 3}");
  api::File* file = request.add_context_directory();
  file->set_path("x.py");
  file->set_content("print(1)");
  const std::string origin = MustCreate(request);
  api::CreateGenericTaskRequest fork = MakeRequest("resources: {slots: 0}");
  fork.set_forked_from(origin);
  const std::string forked = MustCreate(fork);
  EXPECT_EQ(GetConfig(forked), R"({"entrypoint":["a","b"],"resources":{"slots":0}})");
  EXPECT_EQ(GetTask(forked).forked_from(), origin);
  EXPECT_FALSE(GetContext(origin).empty());
  EXPECT_EQ(GetContext(forked), GetContext(origin));
  fork.set_config("");
  EXPECT_EQ(GetConfig(MustCreate(fork)), GetConfig(origin));

  api::CreateGenericTaskRequest child = MakeRequest();
  child.set_parent_id(origin);
  EXPECT_EQ(GetContext(MustCreate(child)), "");
  child.set_inherit_context(true);
  const std::string inheriting = MustCreate(child);
  EXPECT_EQ(GetContext(inheriting), GetContext(origin));
  EXPECT_EQ(GetTask(inheriting).parent_id(), origin);
  child.set_config("entrypoint: [a]\nwork_dir: /tmp\nresources: {slots: 0}");
  EXPECT_THAT(Create(child).error_message(), HasSubstr("cannot set work_dir"));
}

TEST_F(GenericTasksTest, PausesAndUnpauses_WithChildrenThatMayBePaused) {
  const std::string parent = MustCreate();
  const std::string child = CreateChild(parent);
  const std::string stubborn = CreateChild(parent, true);
  EXPECT_TRUE(Pause(parent).ok());
  EXPECT_EQ(GetState(parent), "GENERIC_TASK_STATE_PAUSED");
  EXPECT_TRUE(GetTask(parent).has_end_time());
  EXPECT_EQ(GetState(child), "GENERIC_TASK_STATE_PAUSED");
  EXPECT_EQ(GetState(stubborn), "GENERIC_TASK_STATE_ACTIVE");
  EXPECT_THAT(Pause(parent).error_message(), HasSubstr("in state 'PAUSED'"));
  EXPECT_THAT(Pause(stubborn).error_message(), HasSubstr("no_pause"));
  EXPECT_TRUE(Unpause(parent).ok());
  EXPECT_EQ(GetState(parent), "GENERIC_TASK_STATE_ACTIVE");
  EXPECT_EQ(GetState(child), "GENERIC_TASK_STATE_ACTIVE");
  EXPECT_FALSE(GetTask(parent).has_end_time());
  EXPECT_EQ(GetTask(parent).allocations_size(), 2);
  EXPECT_EQ(Unpause(parent).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(GenericTasksTest, KillsTaskAndItsChildren_OrTheWholeFamily) {
  const std::string root = MustCreate();
  const std::string child = CreateChild(root);
  const std::string grandchild = CreateChild(child);
  const std::string sibling = CreateChild(root);
  EXPECT_TRUE(Kill(child).ok());
  EXPECT_EQ(GetState(child), "GENERIC_TASK_STATE_CANCELED");
  EXPECT_EQ(GetState(grandchild), "GENERIC_TASK_STATE_CANCELED");
  EXPECT_EQ(GetState(root), "GENERIC_TASK_STATE_ACTIVE");
  const grpc::Status again = Kill(child);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(again.error_message(), HasSubstr("in state 'CANCELED'"));
  api::CreateGenericTaskRequest late = MakeRequest();
  late.set_parent_id(child);
  EXPECT_EQ(Create(late).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(Kill(sibling, true).ok());
  EXPECT_EQ(GetState(root), "GENERIC_TASK_STATE_CANCELED");
  EXPECT_EQ(GetState(sibling), "GENERIC_TASK_STATE_CANCELED");
  EXPECT_EQ(Kill(root, true).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(GetReason(root), "user admin requested the kill");
}

TEST_F(GenericTasksTest, DoesNotServeOtherKinds) {
  const std::string command = LaunchCommand(1);
  for (const grpc::Status& status : {Kill(command), Pause(command), Unpause(command)}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(status.error_message(), HasSubstr("of type GENERIC"));
  }
  EXPECT_EQ(GetConfig(command), "");
  api::GetGenericTaskConfigRequest request;
  request.set_task_id("no-such-task");
  api::GetGenericTaskConfigResponse response;
  EXPECT_EQ(Call(&Generic::GetGenericTaskConfig, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
  api::AllocationRendezvousInfoRequest rendezvous;
  rendezvous.set_allocation_id(command + ".1");
  rendezvous.set_resources_id("0");
  api::AllocationRendezvousInfoResponse info;
  EXPECT_EQ(Call(&api::TaskRuntimeService::Stub::AllocationRendezvousInfo, rendezvous, &info)
                .error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  api::GetTaskAcceleratorDataRequest accelerators;
  accelerators.set_task_id(command);
  api::GetTaskAcceleratorDataResponse found;
  EXPECT_TRUE(
      Call(&api::TaskRuntimeService::Stub::GetTaskAcceleratorData, accelerators, &found).ok());
}

TEST_F(GenericTasksTest, NeedsPermissionOfTasks_InTheWorkspaceOfTheTask) {
  const std::string id = MustCreate();
  const int elsewhere = CreateWorkspace("elsewhere");
  const auto add_user = [this](const std::string& name, int workspace, model::Role role) {
    const auto user = master_.store().users().AddUser({.username = name});
    ASSERT_TRUE(user.ok()) << user.status();
    ASSERT_TRUE(master_.store().access().AddRole({user->id, workspace, role}).ok());
    master_.AddSession(name, store::SessionRecord::Kind::kUser, user->id);
  };
  add_user("viewer", 1, model::Role::kViewer);
  add_user("stranger", elsewhere, model::Role::kEditor);
  api::KillGenericTaskRequest kill;
  kill.set_task_id(id);
  api::KillGenericTaskResponse killed;
  EXPECT_EQ(Call(&Generic::KillGenericTask, kill, &killed, "viewer").error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Call(&Generic::KillGenericTask, kill, &killed, "stranger").error_code(),
            grpc::StatusCode::NOT_FOUND);
  api::GetGenericTaskConfigRequest config;
  config.set_task_id(id);
  api::GetGenericTaskConfigResponse read;
  EXPECT_TRUE(Call(&Generic::GetGenericTaskConfig, config, &read, "viewer").ok());
  EXPECT_EQ(Call(&Generic::GetGenericTaskConfig, config, &read, "stranger").error_code(),
            grpc::StatusCode::NOT_FOUND);
  api::CreateGenericTaskResponse created;
  EXPECT_EQ(Call(&Generic::CreateGenericTask, MakeRequest(), &created, "viewer").error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(GenericTasksTest, HidesThePasswordOfARegistry_FromThoseWhoMayNotChangeTheTask) {
  const std::string id =
      MustCreate(MakeRequest("entrypoint: [a]\nresources: {slots: 0}\n"
                             "environment: {registry_auth: {username: u, password: secret-word}}"));
  EXPECT_THAT(GetConfig(id), HasSubstr("secret-word"));
  const auto user = master_.store().users().AddUser({.username = "viewer"});
  ASSERT_TRUE(user.ok()) << user.status();
  ASSERT_TRUE(master_.store().access().AddRole({user->id, 1, model::Role::kViewer}).ok());
  master_.AddSession("viewer", store::SessionRecord::Kind::kUser, user->id);
  api::GetGenericTaskConfigRequest request;
  request.set_task_id(id);
  api::GetGenericTaskConfigResponse response;
  EXPECT_TRUE(Call(&Generic::GetGenericTaskConfig, request, &response, "viewer").ok());
  EXPECT_THAT(response.config(), ::testing::Not(HasSubstr("secret-word")));
}

TEST_F(GenericTasksTest, AppliesTheLimitsOfPolicies) {
  api::PutWorkspaceConfigPoliciesRequest request;
  request.set_workspace_id(1);
  request.set_workload_type("NTSC");
  request.set_config_policies("constraints: {resources: {max_slots: 1}, priority_limit: 40}");
  api::PutWorkspaceConfigPoliciesResponse put;
  const grpc::Status set =
      Call(&api::ConfigPolicyService::Stub::PutWorkspaceConfigPolicies, request, &put);
  ASSERT_TRUE(set.ok()) << set.error_message();
  const auto expect_refusal = [this](const std::string& resources, const std::string& text) {
    const grpc::Status status =
        Create(MakeRequest("entrypoint: [a]\nresources: {" + resources + "}"));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  };
  expect_refusal("slots: 2", "resources.slots");
  expect_refusal("slots: 0, priority: 3", "resources.priority");
  api::SetCommandPriorityRequest priority;
  priority.set_id(LaunchCommand(1));
  priority.set_priority(3);
  api::SetCommandPriorityResponse changed;
  EXPECT_EQ(Call(&api::CommandService::Stub::SetCommandPriority, priority, &changed).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(GenericTasksTest, RecordsWhoCreatedAndKilled) {
  const std::string id = MustCreate();
  EXPECT_TRUE(Kill(id).ok());
  master_.audit().Flush();
  const auto records = master_.store().audit().ListAudit({.limit = 0});
  ASSERT_TRUE(records.ok()) << records.status();
  std::map<std::string, std::string> targets;
  for (const store::AuditRecord& record : *records) {
    EXPECT_EQ(record.caller, "admin");
    targets[record.method] = record.target;
  }
  EXPECT_THAT(targets["det.api.v1.GenericTaskService.CreateGenericTask"], HasSubstr(id));
  EXPECT_THAT(targets["det.api.v1.GenericTaskService.KillGenericTask"], HasSubstr(id));
}

TEST_F(GenericTasksTest, IsInTheUsageReport) {
  FakeAgent agent(master_, "a", 1);
  EXPECT_TRUE(agent.Next().has_registered());
  const std::string id = MustCreate(MakeRequest("entrypoint: [a]"));
  const std::string allocation = agent.Next().start().task().allocation_id();
  EXPECT_EQ(allocation, id + ".1");
  agent.Started(allocation);
  agent.Exited(allocation, 0);
  agent.AwaitAck();
  EXPECT_EQ(GetState(id), "GENERIC_TASK_STATE_COMPLETED");
  api::ResourceAllocationRawRequest request;
  request.set_timestamp_after("2020-01-01T00:00:00Z");
  request.set_timestamp_before("2100-01-01T00:00:00Z");
  google::api::HttpBody csv;
  const grpc::Status exported = Call(&api::UsageService::Stub::ExportAllocations, request, &csv);
  EXPECT_TRUE(exported.ok()) << exported.error_message();
  EXPECT_THAT(csv.data(), HasSubstr(allocation + ",GENERIC,admin,Uncategorized,,1,"));
}

TEST_F(GenericTasksTest, CountsActivityThatANotebookReports) {
  cluster::CreateTask create;
  create.task.id = model::TaskId("9f0e3c4e-0000-4000-8000-000000000001");
  create.task.kind = model::TaskKind::kNotebook;
  create.task.owner = master_.store().users().GetUserByName("admin")->id;
  create.task.definition = std::make_shared<const model::TaskDefinition>();
  std::promise<absl::Status> created;
  master_.parts().engine->Submit(create,
                                 [&](const auto& applied) { created.set_value(applied.status()); });
  ASSERT_TRUE(created.get_future().get().ok());
  const std::string id = create.task.id.value();
  const std::string token = master_.MakeTaskToken(id + ".1");
  const auto report = [this](const std::string& of, bool idle, const std::string& with) {
    api::IdleNotebookRequest request;
    request.set_id(of);
    request.set_idle(idle);
    api::IdleNotebookResponse response;
    return Call(&api::CommandService::Stub::IdleNotebook, request, &response, with).error_code();
  };
  EXPECT_EQ(report(id, true, token), grpc::StatusCode::OK);
  EXPECT_FALSE(master_.task_activity().Last(create.task.id).has_value());
  EXPECT_EQ(report(id, false, token), grpc::StatusCode::OK);
  EXPECT_TRUE(master_.task_activity().Last(create.task.id).has_value());
  EXPECT_EQ(report(LaunchCommand(1), false, "user"), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(report("no-such-notebook", false, "user"), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(report(LaunchCommand(1), false, token), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(GenericTasksTest, EndsTasksOfAnArchivedWorkspace) {
  const int workspace = CreateWorkspace("vision");
  api::CreateGenericTaskRequest request = MakeRequest();
  request.set_project_id(CreateProject(workspace));
  const std::string generic = MustCreate(request);
  const std::string command = LaunchCommand(workspace);
  const std::string elsewhere = LaunchCommand(1);
  api::ArchiveWorkspaceRequest archive;
  archive.set_id(workspace);
  api::ArchiveWorkspaceResponse response;
  EXPECT_TRUE(Call(&api::WorkspaceService::Stub::ArchiveWorkspace, archive, &response).ok());
  EXPECT_EQ(GetState(generic), "GENERIC_TASK_STATE_CANCELED");
  EXPECT_EQ(GetReason(command), "workspace vision was archived");
  EXPECT_TRUE(GetTask(command).has_end_time());
  EXPECT_FALSE(GetTask(elsewhere).has_end_time());
  EXPECT_EQ(Create(request).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(GenericTasksTest, EndsTasksOfADeletedWorkspace) {
  const int workspace = CreateWorkspace("vision");
  const std::string command = LaunchCommand(workspace);
  EXPECT_EQ(ListCommands(workspace), grpc::StatusCode::OK);
  api::DeleteWorkspaceRequest request;
  request.set_id(workspace);
  api::DeleteWorkspaceResponse response;
  EXPECT_TRUE(Call(&api::WorkspaceService::Stub::DeleteWorkspace, request, &response).ok());
  EXPECT_TRUE(response.completed());
  EXPECT_EQ(GetReason(command), "workspace vision was deleted");
  EXPECT_TRUE(GetTask(command).has_end_time());
  EXPECT_EQ(ListCommands(workspace), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace det::tests
