#include "master/proxy/task_proxy.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/fake_event_loop.h"
#include "base/thread_pool.h"
#include "gtest/gtest.h"
#include "master/auth/authenticator.h"
#include "master/auth/tokens.h"
#include "master/engine/engine.h"
#include "master/engine/testing/null_sink.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"

namespace det::proxy {
namespace {

using model::TaskDefinition;
using model::TaskKind;

constexpr char kTask[] = "11111111-2222-3333-4444-555555555555";

// Replies with an error that names the port: connects to nothing.
class FakeDialer final : public TaskDialer {
 public:
  void Dial(const model::AgentId& agent, int port, Interface, Reply reply) override {
    reply(absl::UnavailableError(absl::StrCat(agent.value(), " ", port)));
  }
};

// An engine with one agent, and users: admin; ann, who may view workspace 1; eve, who may view
// workspace 2.
class TaskProxyTest : public testing::Test {
 protected:
  TaskProxyTest() {
    AddUser("admin", 0, /*admin=*/true);
    const model::UserId admin(1);
    EXPECT_EQ(store_.workspaces().AddWorkspace({.name = "other", .owner = admin})->id, 2);
    AddUser("ann", 1);
    AddUser("eve", 2);
    Restart();
    cluster::AgentRegistered agent;
    agent.agent.id = model::AgentId("agent-0");
    agent.agent.address = "10.0.0.1";
    agent.agent.resource_pool = "default";
    for (int i = 0; i < 4; ++i) agent.agent.slots.push_back({.id = i});
    Submit(agent);
  }
  ~TaskProxyTest() override {
    Settle();
    proxy_.reset();
    engine_.reset();
  }

  // Creates the engine again from the store, as after a restart of the master.
  void Restart() {
    proxy_.reset();
    engine_.reset();
    engine_ = std::make_unique<engine::Engine>(
        cluster::Settings{.cluster_id = "test"}, &store_, &loop_,
        engine::Sinks{&sink_, &sink_, &sink_}, [](const absl::Status& status) { FAIL() << status; },
        &commits_);
    ASSERT_TRUE(engine_->Start().ok());
    Settle();
    proxy_ = std::make_unique<TaskProxy>(TaskProxy::Parts{.engine = engine_.get(),
                                                          .store = &store_,
                                                          .authenticator = &authenticator_,
                                                          .pool = &pool_,
                                                          .dialer = &dialer_,
                                                          .activity = &activity_,
                                                          .clock = &clock_});
  }

  void AddUser(const std::string& name, int32_t workspace, bool admin = false) {
    const auto user = store_.users().AddUser({.username = name, .admin = admin});
    ASSERT_TRUE(user.ok()) << user.status();
    store::SessionRecord session{.user = user->id};
    session.token_hash = auth::HashToken(name);
    ASSERT_TRUE(store_.access().PutSession(session).ok());
    if (workspace == 0) return;
    ASSERT_TRUE(store_.access().AddRole({user->id, workspace, model::Role::kViewer}).ok());
  }

  void Settle() {
    while (!loop_.IsIdle() || !commits_.IsIdle()) {
      loop_.RunUntilIdle();
      commits_.RunUntilIdle();
    }
  }
  void Submit(cluster::Event event) {
    absl::Status status = absl::UnknownError("no reply");
    engine_->Submit(std::move(event), [&](const absl::StatusOr<engine::Applied>& applied) {
      status = applied.status();
    });
    Settle();
    ASSERT_TRUE(status.ok()) << status;
  }

  // Creates a task of this kind, with one slot, and starts its program.
  void Create(TaskKind kind, TaskDefinition definition) {
    experiment::Task task = store::MakeTask(kTask);
    task.kind = kind;
    definition.argv = {"true"};
    task.definition = std::make_shared<const TaskDefinition>(std::move(definition));
    Submit(cluster::CreateTask{task});
    Settle();
  }
  void Start(const std::string& allocation) {
    Submit(cluster::LocalTaskStarted{model::AllocationId(allocation), model::AgentId("agent-0")});
  }
  void CreateNotebook() {
    TaskDefinition definition;
    definition.service = TaskDefinition::Service::kHttp;
    definition.details = model::Value::Object{{"token", "jupyters"}, {"access_token", "access"}};
    definition.proxy_ports = {{.proxy_port = 9000}};
    Create(TaskKind::kNotebook, std::move(definition));
    Start(absl::StrCat(kTask, ".1"));
    Submit(cluster::TaskReady{model::AllocationId(absl::StrCat(kTask, ".1")), 8888});
  }
  void CreateCommand(model::ProxyPortConfig port) {
    TaskDefinition definition;
    definition.proxy_ports = {port};
    Create(TaskKind::kCommand, std::move(definition));
    Start(absl::StrCat(kTask, ".1"));
  }

  absl::StatusOr<OpenedService> Open(const std::string& service, ServiceCredentials credentials) {
    std::promise<absl::StatusOr<OpenedService>> opened;
    proxy_->Open(service, std::move(credentials), [&](absl::StatusOr<OpenedService> result) {
      opened.set_value(std::move(result));
    });
    Settle();
    return opened.get_future().get();
  }
  absl::StatusCode GetCode(const std::string& service, ServiceCredentials credentials) {
    return Open(service, std::move(credentials)).status().code();
  }
  static ServiceCredentials As(const std::string& user) {
    return {.authorization = "Bearer " + user};
  }
  // Where the service leads: "<agent> <port>".
  static std::string GetPlace(const OpenedService& service) {
    std::string place;
    service.dial([&](const absl::StatusOr<base::Fd>& connection) {
      place = std::string(connection.status().message());
    });
    return place;
  }

  base::FakeEventLoop loop_;
  base::FakeEventLoop commits_;
  base::FakeClock clock_;
  store::FakeStore store_;
  engine::NullSink sink_;
  auth::Authenticator authenticator_{&store_, &clock_, auth::AllocationTokens("secret")};
  base::ThreadPool pool_{1};
  FakeDialer dialer_;
  Activity activity_{&clock_};
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<TaskProxy> proxy_;
};

using enum absl::StatusCode;

TEST_F(TaskProxyTest, LeadsToTheServiceOfANotebook_AlsoAfterARestart) {
  CreateNotebook();
  for (int i = 0; i < 2; ++i) {
    const auto opened = Open(kTask, As("ann"));
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(GetPlace(*opened), "agent-0 8888");
    EXPECT_FALSE(opened->is_tcp);
    EXPECT_EQ(opened->access_token, "access");
    ASSERT_EQ(opened->headers.size(), 1U);
    EXPECT_EQ(opened->headers[0].second, "token jupyters");
    Restart();
  }
}

TEST_F(TaskProxyTest, GivesTheTokenOfJupyterlabToNoOtherProgram) {
  CreateNotebook();
  const auto opened = Open(absl::StrCat(kTask, ":9000"), {.access_token = "access"});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(GetPlace(*opened), "agent-0 9000");
  EXPECT_TRUE(opened->headers.empty());
}

TEST_F(TaskProxyTest, LeadsToThePortsOfACommand) {
  CreateCommand({.proxy_port = 8000, .proxy_tcp = true});
  const auto opened = Open(absl::StrCat(kTask, ":8000"), As("ann"));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(GetPlace(*opened), "agent-0 8000");
  EXPECT_TRUE(opened->is_tcp);
  EXPECT_EQ(GetCode(kTask, As("ann")), kNotFound);
  EXPECT_EQ(GetCode(absl::StrCat(kTask, ":8001"), As("ann")), kNotFound);
  EXPECT_EQ(GetCode(absl::StrCat(kTask, ":x"), As("ann")), kNotFound);
}

TEST_F(TaskProxyTest, NamesThePortAfterTheTask_WhenItIsTheDefault) {
  CreateCommand({.proxy_port = 8000, .default_service_id = true});
  EXPECT_EQ(GetCode(kTask, As("ann")), kOk);
  EXPECT_EQ(GetCode(absl::StrCat(kTask, ":8000"), As("ann")), kOk);
}

TEST_F(TaskProxyTest, LeadsToThePortsOfATrial) {
  cluster::CreateExperiment create;
  auto config = std::make_shared<model::ExperimentConfig>(*store::MakeConfig("e"));
  config->environment.proxy_ports = {{.proxy_port = 6000}};
  create.config = config;
  create.owner = model::UserId(1);
  Submit(create);
  const auto opened = Open("1.1:6000", As("ann"));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(GetPlace(*opened), "agent-0 6000");
  EXPECT_EQ(GetCode("1.1:6001", As("ann")), kNotFound);
  EXPECT_EQ(GetCode("2.1:6000", As("ann")), kNotFound);
  EXPECT_EQ(GetCode("1.1-1:6000", As("ann")), kNotFound);
  EXPECT_EQ(GetCode("1.1:6000", As("eve")), kNotFound);
  EXPECT_EQ(GetCode("1.1:6000", {}), kUnauthenticated);
}

TEST_F(TaskProxyTest, AcceptsTheCredentialsOfUsersWhoMayViewTheTask) {
  CreateNotebook();
  EXPECT_EQ(GetCode(kTask, As("ann")), kOk);
  EXPECT_EQ(GetCode(kTask, As("admin")), kOk);
  EXPECT_EQ(GetCode(kTask, {.session_cookie = "Bearer ann"}), kOk);
  EXPECT_EQ(GetCode(kTask, As("eve")), kNotFound);
  EXPECT_EQ(GetCode(kTask, {.session_cookie = "Bearer eve"}), kNotFound);
  EXPECT_EQ(GetCode(kTask, As("expired")), kUnauthenticated);
  EXPECT_EQ(GetCode(kTask, {}), kUnauthenticated);
  // The header decides alone.
  EXPECT_EQ(GetCode(kTask, {.authorization = "Bearer expired", .session_cookie = "Bearer ann"}),
            kUnauthenticated);
  // A task may not use another with its own token.
  const std::string token =
      authenticator_.allocation_tokens().Make(model::AllocationId(absl::StrCat(kTask, ".1")));
  EXPECT_EQ(GetCode(kTask, As(token)), kUnauthenticated);
}

TEST_F(TaskProxyTest, AcceptsTheAccessTokenOfTheTask) {
  CreateNotebook();
  EXPECT_EQ(GetCode(kTask, {.access_token = "access"}), kOk);
  EXPECT_EQ(GetCode(kTask, {.access_cookie = "access"}), kOk);
  EXPECT_EQ(GetCode(kTask, {.access_token = "wrong"}), kPermissionDenied);
  EXPECT_EQ(GetCode(kTask, {.authorization = "Bearer ann", .access_token = "wrong"}),
            kPermissionDenied);
  EXPECT_EQ(GetCode(kTask, {.access_cookie = "wrong"}), kUnauthenticated);
  // JupyterLab's pages send the token of its server beside the cookies, which alone opens nothing.
  EXPECT_EQ(GetCode(kTask, {.access_token = "jupyters"}), kUnauthenticated);
  EXPECT_EQ(GetCode(kTask, {.access_token = "jupyters", .access_cookie = "access"}), kOk);
  EXPECT_EQ(GetCode(kTask, {.access_token = "jupyters", .session_cookie = "Bearer ann"}), kOk);
}

TEST_F(TaskProxyTest, IgnoresAccessTokens_WhenTheTaskHasNone) {
  CreateCommand({.proxy_port = 8000});
  const std::string service = absl::StrCat(kTask, ":8000");
  EXPECT_EQ(GetCode(service, {.access_token = "of the program"}), kUnauthenticated);
  EXPECT_EQ(GetCode(service, {.authorization = "Bearer ann", .access_token = "x"}), kOk);
  EXPECT_EQ(GetCode(service, {.access_cookie = ""}), kUnauthenticated);
}

TEST_F(TaskProxyTest, IgnoresCookiesOfCrossSiteRequests) {
  CreateNotebook();
  EXPECT_EQ(GetCode(kTask, {.session_cookie = "Bearer ann", .cross_site = true}),
            kPermissionDenied);
  EXPECT_EQ(GetCode(kTask, {.access_cookie = "access", .cross_site = true}), kPermissionDenied);
  // These are not sent by the browser on its own.
  EXPECT_EQ(GetCode(kTask, {.access_token = "access", .cross_site = true}), kOk);
  EXPECT_EQ(GetCode(kTask, {.authorization = "Bearer ann", .cross_site = true}), kOk);
}

TEST_F(TaskProxyTest, NeedsNoCredentialsForUnauthenticatedPorts) {
  CreateCommand({.proxy_port = 8000, .unauthenticated = true});
  EXPECT_EQ(GetCode(absl::StrCat(kTask, ":8000"), {}), kOk);
  EXPECT_EQ(GetCode(absl::StrCat(kTask, ":8000"), {.cross_site = true}), kOk);
}

TEST_F(TaskProxyTest, LeavesTheAuthenticationOfShellsToSsh) {
  TaskDefinition definition;
  definition.service = TaskDefinition::Service::kTcp;
  Create(TaskKind::kShell, std::move(definition));
  Start(absl::StrCat(kTask, ".1"));
  EXPECT_EQ(GetCode(kTask, {}), kUnavailable);
  Submit(cluster::TaskReady{model::AllocationId(absl::StrCat(kTask, ".1")), 2222});
  const auto opened = Open(kTask, {});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->is_tcp);
}

TEST_F(TaskProxyTest, OpensTerminalsOfAShell_ForThoseWhoMayChangeIt) {
  TaskDefinition definition;
  definition.service = TaskDefinition::Service::kTcp;
  Create(TaskKind::kShell, std::move(definition));
  Start(absl::StrCat(kTask, ".1"));
  Submit(cluster::TaskReady{model::AllocationId(absl::StrCat(kTask, ".1")), 2222});
  const std::string terminal = absl::StrCat(kTask, ":terminal");
  EXPECT_EQ(GetCode(terminal, {}), kUnauthenticated);
  EXPECT_EQ(GetCode(terminal, As("ann")), kNotFound) << "a viewer";
  EXPECT_EQ(GetCode(terminal, As("admin")), kOk);
  const auto opened = Open(terminal, As("admin"));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->is_tcp);
}

TEST_F(TaskProxyTest, RequiresTheArtifactsThatATensorboardShows) {
  cluster::CreateExperiment create;
  create.config = store::MakeConfig("shown");
  create.owner = model::UserId(1);
  create.workspace = 2;
  create.project = store_.projects()
                       .AddProject({.workspace = 2, .name = "shown", .owner = model::UserId(1)})
                       ->id;
  Submit(create);
  TaskDefinition definition;
  definition.service = TaskDefinition::Service::kHttp;
  definition.details = model::Value::Object{{"experiment_ids", model::Value::List{1}}};
  Create(TaskKind::kTensorboard, std::move(definition));
  Start(absl::StrCat(kTask, ".1"));
  Submit(cluster::TaskReady{model::AllocationId(absl::StrCat(kTask, ".1")), 6006});
  EXPECT_EQ(GetCode(kTask, As("ann")), kNotFound);
  EXPECT_EQ(GetCode(kTask, As("eve")), kNotFound);
  EXPECT_EQ(GetCode(kTask, As("admin")), kOk);
}

// The output of a program may arrive before its agent's report that it has started.
TEST_F(TaskProxyTest, ConnectsBeforeTheAgentReportsTheStart) {
  TaskDefinition definition;
  definition.proxy_ports = {{.proxy_port = 8000}};
  Create(TaskKind::kCommand, std::move(definition));
  EXPECT_EQ(GetCode(absl::StrCat(kTask, ":8000"), As("ann")), kOk);
}

TEST_F(TaskProxyTest, TellsWhyThereIsNoConnection) {
  const std::string other = "22222222-2222-3333-4444-555555555555";
  TaskDefinition all;
  all.argv = {"true"};
  all.resources.slots_per_trial = 4;
  experiment::Task first = store::MakeTask(other);
  first.definition = std::make_shared<const TaskDefinition>(all);
  Submit(cluster::CreateTask{first});
  TaskDefinition definition;
  definition.service = TaskDefinition::Service::kHttp;
  Create(TaskKind::kNotebook, std::move(definition));
  EXPECT_EQ(Open(kTask, As("ann")).status().message(),
            absl::StrCat("task ", kTask, " is not running yet; try again later"));
  Submit(cluster::KillTasks{{model::TaskId(other)}, "killed"});
  Submit(cluster::LocalTaskExited{.allocation = model::AllocationId(other + ".1"),
                                  .agent = model::AgentId("agent-0")});
  EXPECT_EQ(Open(kTask, As("ann")).status().message(),
            absl::StrCat("task ", kTask, " is not ready yet; its log shows the progress"));
  EXPECT_EQ(Open("no-task", As("ann")).status().message(), "service not found: no-task");
  // Only users learn which services exist.
  EXPECT_EQ(GetCode("no-task", {}), kUnauthenticated);
  EXPECT_EQ(GetCode(kTask, {}), kUnauthenticated);
}

TEST_F(TaskProxyTest, TellsThatATaskHasEnded) {
  CreateNotebook();
  cluster::LocalTaskExited exited;
  exited.allocation = model::AllocationId(absl::StrCat(kTask, ".1"));
  exited.agent = model::AgentId("agent-0");
  Submit(exited);
  const auto opened = Open(kTask, As("ann"));
  EXPECT_EQ(opened.status().code(), kFailedPrecondition);
  EXPECT_EQ(opened.status().message(), absl::StrCat("task ", kTask, " has ended"));
  EXPECT_EQ(GetCode(kTask, As("eve")), kNotFound);
  EXPECT_EQ(GetCode(kTask, {}), kUnauthenticated);
}

TEST_F(TaskProxyTest, LimitsTheConnectionsOfATask) {
  CreateNotebook();
  std::vector<OpenedService> open;
  for (int i = 0; i < TaskProxy::kMaxConnections; ++i) {
    auto opened = Open(kTask, As("ann"));
    ASSERT_TRUE(opened.ok()) << opened.status();
    open.push_back(*std::move(opened));
  }
  EXPECT_EQ(GetCode(kTask, As("ann")), kResourceExhausted);
  open.pop_back();
  EXPECT_EQ(GetCode(kTask, As("ann")), kOk);
}

TEST_F(TaskProxyTest, RemembersTheLastAllowedRequest) {
  CreateNotebook();
  Open(kTask, As("eve")).IgnoreError();
  EXPECT_EQ(activity_.Last(model::TaskId(kTask)), std::nullopt);
  Open(kTask, As("ann")).IgnoreError();
  EXPECT_EQ(activity_.Last(model::TaskId(kTask)), clock_.Now());
}

}  // namespace
}  // namespace det::proxy
