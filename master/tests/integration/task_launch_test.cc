// The launch of commands, notebooks, shells and TensorBoards in a whole master: what their agent
// gets, and who sees their secrets.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/api/v1/command.grpc.pb.h"
#include "det/api/v1/user.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/api/tasks/launch.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using enum grpc::StatusCode;
using model::TaskDefinition;
using model::TaskKind;
using model::Value;
using Stub = api::CommandService::Stub;

std::string GetText(const Value& object, const char* name) {
  const Value* value = object.Find(name);
  return value == nullptr || value->AsString() == nullptr ? "" : *value->AsString();
}

class TaskLaunchTest : public MasterIntegrationTest {
 protected:
  // Prepares a launch of the user "admin" without storing it.
  absl::StatusOr<std::shared_ptr<const TaskDefinition>> Prepare(TaskKind kind,
                                                                const std::string& config) {
    api::LaunchCommandRequest request;
    request.set_config_yaml(config);
    auth::Principal admin{.kind = auth::PrincipalKind::kUser,
                          .user = master_.store().users().GetUserByName("admin")->id,
                          .admin = true};
    model::ResourcePool pool;
    pool.name = "default";
    pools_.default_compute = pools_.default_aux = pool.name;
    pools_.known = {pool};
    auto launch = det::api::PrepareLaunch(master_.store(), settings_, request, kind, pools_, admin);
    if (!launch.ok()) return launch.status();
    return launch->event.task.definition;
  }

  // Adds a user with the token "ann", who has this role in workspace 1.
  void AddAnn(model::Role role) {
    store::UserRecord ann;
    ann.username.append("ann");
    const model::UserId id = master_.store().users().AddUser(ann)->id;
    ASSERT_TRUE(master_.store().access().AddRole({id, 1, role}).ok());
    master_.AddSession("ann", store::SessionRecord::Kind::kUser, id);
  }

  std::shared_ptr<const TaskDefinition> GetDefinition(const std::string& id) {
    return master_.store().tasks().Get(model::TaskId(id))->task.definition;
  }

  det::api::LaunchSettings settings_;
  det::api::LaunchPools pools_;
};

TEST_F(TaskLaunchTest, StartsCommandThroughRunner) {
  auto definition = Prepare(TaskKind::kCommand, "entrypoint: [echo a b]\nwork_dir: /w");
  ASSERT_TRUE(definition.ok()) << definition.status();
  EXPECT_THAT((*definition)->argv,
              ElementsAre("resolute-runner", "--work-dir=/w", "--", "echo a b"));
  EXPECT_EQ((*definition)->service, TaskDefinition::Service::kNone);
  EXPECT_THAT((*definition)->files, IsEmpty());
}

TEST_F(TaskLaunchTest, AddsStartupHookOfPoolOrCluster) {
  settings_.startup_hooks = {{"", "cluster"}};
  EXPECT_EQ((*Prepare(TaskKind::kCommand, "{}"))->files.at("startup-hook.sh"), "cluster");
  settings_.startup_hooks["default"] = "pool";
  EXPECT_EQ((*Prepare(TaskKind::kShell, "{}"))->files.at("startup-hook.sh"), "pool");
}

TEST_F(TaskLaunchTest, AppliesIdleTimeoutOfKind) {
  settings_.notebook_timeout = absl::Minutes(20);
  EXPECT_EQ((*Prepare(TaskKind::kNotebook, "{}"))->idle_timeout, absl::Minutes(20));
  EXPECT_EQ((*Prepare(TaskKind::kNotebook, "idle_timeout: 10s"))->idle_timeout, absl::Seconds(10));
  EXPECT_EQ((*Prepare(TaskKind::kShell, "{}"))->idle_timeout, std::nullopt);
  EXPECT_EQ(GetText((*Prepare(TaskKind::kNotebook, "{}"))->config, "idle_timeout"), "20m0s");
}

TEST_F(TaskLaunchTest, KeepsTokensOfNotebookOutOfConfig) {
  auto definition = *Prepare(TaskKind::kNotebook, "entrypoint: [x]\nnotebook_idle_type: activity");
  EXPECT_THAT(definition->argv, ElementsAre("resolute-runner", "--service=notebook", "--"));
  EXPECT_EQ(definition->service, TaskDefinition::Service::kHttp);
  EXPECT_EQ(definition->resources.slots_per_trial, 1);
  const Value service = *Value::FromJson(definition->files.at("service.json"));
  EXPECT_THAT(GetText(service, "base_path"), StartsWith("/proxy/"));
  EXPECT_EQ(GetText(service, "idle_type"), "activity");
  const std::string token = GetText(definition->details, "token");
  const std::string access_token = GetText(definition->details, "access_token");
  EXPECT_EQ(GetText(service, "token"), token);
  EXPECT_GE(token.size(), 40u);
  EXPECT_NE(token, access_token);
  EXPECT_THAT(definition->files.at("service.json"), Not(HasSubstr(access_token)));
  for (const std::string& secret : {token, access_token}) {
    EXPECT_THAT(definition->config.ToJson(), Not(HasSubstr(secret)));
  }
}

TEST_F(TaskLaunchTest, MakesNewKeyForEachShell) {
  auto definition = *Prepare(TaskKind::kShell, "{}");
  EXPECT_EQ(definition->service, TaskDefinition::Service::kTcp);
  EXPECT_THAT(GetText(definition->details, "private_key"),
              StartsWith("-----BEGIN OPENSSH PRIVATE KEY-----\n"));
  EXPECT_THAT(GetText(definition->details, "public_key"), StartsWith("ssh-ed25519 AAAA"));
  EXPECT_NE((*Prepare(TaskKind::kShell, "{}"))->details, definition->details);
  EXPECT_THAT(definition->config.ToJson(), Not(HasSubstr("OPENSSH")));
}

TEST_F(TaskLaunchTest, RejectsService_WhenUserHasTooMany) {
  settings_.tasks_per_user = 2;
  pools_.services[master_.store().users().GetUserByName("admin")->id] = 2;
  const absl::Status status = Prepare(TaskKind::kShell, "{}").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the limit is 2"));
  EXPECT_TRUE(Prepare(TaskKind::kCommand, "{}").ok());
}

TEST_F(TaskLaunchTest, PreviewsNotebookWithoutCreatingIt) {
  api::LaunchCommandRequest request;
  request.set_preview(true);
  request.set_config_yaml("resources: {slots: 0}");
  api::LaunchNotebookResponse response;
  ASSERT_TRUE(Call(&Stub::LaunchNotebook, request, &response).ok());
  EXPECT_EQ(response.notebook().ByteSizeLong(), 0u);
  EXPECT_THAT(response.config().fields().at("description").string_value(),
              StartsWith("JupyterLab ("));
  api::GetNotebooksResponse list;
  ASSERT_TRUE(Call(&Stub::GetNotebooks, api::GetCommandsRequest(), &list).ok());
  EXPECT_EQ(list.notebooks_size(), 0);
}

TEST_F(TaskLaunchTest, ShowsSecretsOnlyToOwnerAndEditors) {
  api::LaunchCommandRequest request;
  request.set_config_yaml("resources: {slots: 0}");
  api::LaunchNotebookResponse notebook;
  ASSERT_TRUE(Call(&Stub::LaunchNotebook, request, &notebook).ok());
  const std::string& id = notebook.notebook().id();
  EXPECT_EQ(notebook.notebook().service_address(),
            "/proxy/" + id + "/?token=" + GetText(GetDefinition(id)->details, "access_token"));
  api::LaunchShellResponse shell;
  ASSERT_TRUE(Call(&Stub::LaunchShell, request, &shell).ok());
  EXPECT_THAT(shell.shell().private_key(), StartsWith("-----BEGIN OPENSSH"));

  AddAnn(model::Role::kViewer);
  api::CommandRequest by_id;
  by_id.set_id(id);
  api::GetNotebookResponse read;
  ASSERT_TRUE(Call(&Stub::GetNotebook, by_id, &read, "ann").ok());
  EXPECT_EQ(read.notebook().service_address(), "/proxy/" + id + "/");
  by_id.set_id(shell.shell().id());
  api::GetShellResponse read_shell;
  ASSERT_TRUE(Call(&Stub::GetShell, by_id, &read_shell, "ann").ok());
  EXPECT_EQ(read_shell.shell().private_key(), "");
  EXPECT_EQ(read_shell.shell().public_key(), shell.shell().public_key());
  api::GetShellsResponse list;
  ASSERT_TRUE(Call(&Stub::GetShells, api::GetCommandsRequest(), &list, "ann").ok());
  ASSERT_EQ(list.shells_size(), 1);
  EXPECT_EQ(list.shells(0).private_key(), "");
}

constexpr char kBucketConfig[] = R"(
checkpoint_storage: {type: s3, bucket: b, access_key: a, secret_key: hidden-key}
)";

TEST_F(TaskLaunchTest, ShowsExperimentsInTensorboard) {
  const int first = Create();
  const int second = Create(std::string(kConfig) + kBucketConfig);
  settings_.cluster_id = "c";
  api::LaunchCommandRequest request;
  request.set_config_yaml("{description: mine, resources: {slots: 4}, tensorboard_args: [--x]}");
  request.add_experiment_ids(second);
  request.add_experiment_ids(first);
  api::LaunchTensorboardResponse response;
  const grpc::Status status = Call(&Stub::LaunchTensorboard, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const api::Tensorboard& tensorboard = response.tensorboard();
  EXPECT_EQ(tensorboard.service_address(), "/proxy/" + tensorboard.id() + "/");
  EXPECT_THAT(tensorboard.description(), StartsWith("TensorBoard ("));
  EXPECT_THAT(tensorboard.experiment_ids(), ElementsAre(second, first));
  EXPECT_EQ(
      response.config().fields().at("resources").struct_value().fields().at("slots").number_value(),
      0);
  EXPECT_THAT(response.ShortDebugString(), Not(HasSubstr("hidden-key")));

  const auto definition = GetDefinition(tensorboard.id());
  const Value service = *Value::FromJson(definition->files.at("service.json"));
  const Value::List& sources = *service.Find("sources")->AsList();
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_THAT(GetText(sources[0], "prefix"),
              testing::EndsWith("/tensorboard/experiment/" + std::to_string(first) + "/"));
  EXPECT_EQ(GetText(*sources[0].Find("storage"), "type"), "shared_fs");
  EXPECT_EQ(GetText(*sources[1].Find("storage"), "secret_key"), "hidden-key");
  EXPECT_EQ(sources[1].Find("trials"), nullptr);
  EXPECT_EQ(*service.Find("arguments"), Value(Value::List{"--x"}));
}

TEST_F(TaskLaunchTest, ShowsOnlyNamedTrialsOfExperiment) {
  FakeAgent agent(master_, "a1", 1);
  int experiment = 0;
  (void)Run(agent, &experiment);
  api::GetExperimentTrialsRequest trials_request;
  trials_request.set_experiment_id(experiment);
  api::GetExperimentTrialsResponse trials;
  ASSERT_TRUE(Call(&api::TrialService::Stub::GetExperimentTrials, trials_request, &trials).ok());
  const int trial = trials.trials(0).id();
  api::LaunchCommandRequest request;
  request.add_trial_ids(trial);
  request.add_experiment_ids(experiment);
  api::LaunchTensorboardResponse response;
  ASSERT_TRUE(Call(&Stub::LaunchTensorboard, request, &response).ok());
  EXPECT_THAT(response.tensorboard().trial_ids(), ElementsAre(trial));
  const auto definition = GetDefinition(response.tensorboard().id());
  const Value service = *Value::FromJson(definition->files.at("service.json"));
  const Value::List& sources = *service.Find("sources")->AsList();
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(*sources[0].Find("trials"), Value(Value::List{trial}));
}

TEST_F(TaskLaunchTest, RejectsTensorboardOfNothing) {
  api::LaunchCommandRequest request;
  api::LaunchTensorboardResponse response;
  grpc::Status status = Call(&Stub::LaunchTensorboard, request, &response);
  EXPECT_EQ(status.error_code(), INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "must set experiment, trial ids, or filters");
  request.mutable_filters()->set_name("no-such-name");
  status = Call(&Stub::LaunchTensorboard, request, &response);
  EXPECT_EQ(status.error_message(), "no experiments found");
  request.add_experiment_ids(999);
  status = Call(&Stub::LaunchTensorboard, request, &response);
  EXPECT_EQ(status.error_code(), NOT_FOUND);
}

TEST_F(TaskLaunchTest, LetsViewerLaunchTensorboardOnly) {
  const int experiment = Create();
  AddAnn(model::Role::kViewer);
  api::LaunchCommandRequest request;
  api::LaunchShellResponse shell;
  EXPECT_EQ(Call(&Stub::LaunchShell, request, &shell, "ann").error_code(), PERMISSION_DENIED);
  request.add_experiment_ids(experiment);
  api::LaunchTensorboardResponse tensorboard;
  const grpc::Status status = Call(&Stub::LaunchTensorboard, request, &tensorboard, "ann");
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// The agent gets the tokens with which the programs of the task act.
TEST_F(TaskLaunchTest, LetsProgramsActAsOwnerUntilTheTaskEnds) {
  FakeAgent agent(master_, "a1", 1);
  ASSERT_TRUE(agent.Next().has_registered());
  api::LaunchCommandRequest request;
  request.set_config_yaml("entrypoint: [x]");
  api::LaunchCommandResponse response;
  ASSERT_TRUE(Call(&Stub::LaunchCommand, request, &response).ok());
  const wire::TaskSpec task = agent.Next().start().task();
  EXPECT_EQ(task.env().at("DET_TASK_TYPE"), "COMMAND");
  EXPECT_EQ(task.env().at("DET_USER"), "admin");
  agent.Started(task.allocation_id());
  agent.AwaitAck();
  api::GetMeResponse me;
  ASSERT_TRUE(
      Call(&api::AuthService::Stub::GetMe, api::GetMeRequest(), &me, task.user_token()).ok());
  EXPECT_EQ(me.user().username(), "admin");
  agent.Exited(task.allocation_id(), 0);
  agent.AwaitAck();
  EXPECT_EQ(Call(&api::AuthService::Stub::GetMe, api::GetMeRequest(), &me, task.user_token())
                .error_code(),
            UNAUTHENTICATED);
}

}  // namespace
}  // namespace det::tests
