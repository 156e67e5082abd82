// The road of a request through the whole master, without its database and its port: services,
// engine, cluster and agent hub on a store in memory, with an agent and a trial played by the test.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "det/agent/v1/agent.grpc.pb.h"
#include "det/api/v1/agent.grpc.pb.h"
#include "det/api/v1/auth.grpc.pb.h"
#include "det/api/v1/checkpoint.grpc.pb.h"
#include "det/api/v1/experiment.grpc.pb.h"
#include "det/api/v1/master.grpc.pb.h"
#include "det/api/v1/task.grpc.pb.h"
#include "det/api/v1/trial.grpc.pb.h"
#include "det/trial/v1/trial.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/agents/agent_hub.h"
#include "master/auth/passwords.h"
#include "master/service/services.h"
#include "master/store/fake_store.h"
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace det::master {
namespace {

namespace api = det::api::v1;
namespace wire = det::agent::v1;
namespace trial = det::trial::v1;

constexpr char kConfig[] = R"(
name: road
entrypoint: "true"
searcher: {name: single, metric: loss, smaller_is_better: true, max_length: {batches: 10}}
max_restarts: 0
)";

// The master's inside, as master.cc builds it.
class World {
 public:
  explicit World(std::shared_ptr<store::FakeDatabase> database,
                 absl::Duration patience = absl::Hours(1))
      : store_(std::move(database)) {
    auto admin = store_.PutUser({.username = "admin",
                                 .password_hash = *auth::HashPassword("pw"),
                                 .admin = true,
                                 .active = true});
    user_ = admin->id;
    Session("user", store::SessionRecord::Kind::kUser);
    Session("agent", store::SessionRecord::Kind::kAgent);
    hub_ = std::make_unique<agents::AgentHub>(
        agents::HubOptions{.cluster_id = "c", .version = "1", .patience = patience},
        agents::HubDeps{
            .store = &store_,
            .authenticator = &authenticator_,
            .pool = pool_.get(),
            .loop = loop_.get(),
            .logs_arrived = [this](const model::TaskId& task) { watch_.LogsArrived(task); }});
    engine_ = std::make_unique<engine::Engine>(
        cluster::Settings{.cluster_id = "c"}, &store_, loop_.get(),
        engine::Sinks{.agents = hub_.get(), .trials = &allocations_, .experiments = &watch_},
        [](const absl::Status& status) { FAIL() << status; });
    hub_->SetEngine(engine_.get());
    edge_.engine = engine_.get();
    edge_.store = &store_;
    edge_.authenticator = &authenticator_;
    edge_.pool = pool_.get();
    edge_.loop = loop_.get();
    edge_.clock = &clock_;
    edge_.watch = &watch_;
    edge_.facts.checkpoint_dir = "/nowhere";
    EXPECT_TRUE(engine_->Start().ok());
    services_.push_back(service::MakeMasterService(edge_));
    services_.push_back(service::MakeAuthService(edge_));
    services_.push_back(service::MakeExperimentService(edge_));
    services_.push_back(service::MakeTrialService(edge_));
    services_.push_back(service::MakeCheckpointService(edge_));
    services_.push_back(service::MakeAgentService(edge_));
    services_.push_back(service::MakeTaskService(edge_));
    services_.push_back(service::MakeTrialRuntimeService(edge_, allocations_, gather_));
    grpc::ServerBuilder builder;
    for (const auto& one : services_) builder.RegisterService(one.get());
    builder.RegisterService(hub_->service());
    server_ = builder.BuildAndStart();
    channel_ = server_->InProcessChannel({});
    hub_->ExpectAgents();
  }
  ~World() {
    hub_->Stop();
    server_->Shutdown(std::chrono::system_clock::now());
    engine_->Stop();
    pool_->Stop();
    loop_->Stop();
  }

  void Session(const std::string& token, store::SessionRecord::Kind kind) {
    EXPECT_TRUE(
        store_.PutSession({.token_hash = auth::HashToken(token), .kind = kind, .user = user_})
            .ok());
  }
  std::shared_ptr<grpc::Channel> channel() { return channel_; }
  store::FakeStore& store() { return store_; }
  std::string TokenOf(const std::string& allocation) {
    return authenticator_.allocation_tokens().Make(model::AllocationId(allocation));
  }

 private:
  store::FakeStore store_;
  base::RealClock clock_;
  auth::Authenticator authenticator_{&store_, &clock_, auth::AllocationTokens("secret")};
  std::unique_ptr<base::EventLoop> loop_ = base::MakeAsioEventLoop("cluster");
  std::unique_ptr<base::ThreadPool> pool_ = std::make_unique<base::ThreadPool>(4);
  model::UserId user_;
  service::Edge edge_;
  service::ExperimentWatch watch_;
  service::AllGather gather_;
  service::AllocationWatch allocations_{
      [this](const model::AllocationId& id) { gather_.Close(id); }};
  std::unique_ptr<agents::AgentHub> hub_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// A context that says who is calling.
struct As : grpc::ClientContext {
  explicit As(const std::string& token) {
    if (!token.empty()) AddMetadata("authorization", "Bearer " + token);
  }
};

// An agent that does what the test says.
class Agent {
 public:
  Agent(World& world, const std::string& id, int slots, const std::string& token = "agent",
        const std::string& incarnation = "one")
      : context_(token),
        id_(id),
        stub_(wire::AgentHub::NewStub(world.channel())),
        stream_(stub_->Connect(&context_)) {
    wire::AgentMessage message;
    message.mutable_register_()->set_agent_id(id);
    message.mutable_register_()->set_incarnation(incarnation);
    message.mutable_register_()->set_address("10.0.0.1");
    for (int i = 0; i < slots; ++i) message.mutable_register_()->add_slots()->set_id(i);
    stream_->Write(message);
  }
  ~Agent() {
    context_.TryCancel();
    if (!ended_) (void)End();
  }

  // The next order that is no acknowledgement.
  wire::MasterMessage Next() {
    wire::MasterMessage message;
    while (stream_->Read(&message)) {
      if (!message.has_ack()) return message;
    }
    return {};
  }
  grpc::Status End() {
    ended_ = true;
    wire::MasterMessage rest;
    while (stream_->Read(&rest)) {
    }
    return stream_->Finish();
  }
  void Started(const std::string& allocation) {
    wire::AgentMessage message;
    message.mutable_report()->set_sequence(++sequence_);
    message.mutable_report()->set_allocation_id(allocation);
    message.mutable_report()->mutable_started()->set_pid(1);
    stream_->Write(message);
  }
  void Exited(const std::string& allocation, int code, int signal = 0) {
    wire::AgentMessage message;
    message.mutable_report()->set_sequence(++sequence_);
    message.mutable_report()->set_allocation_id(allocation);
    message.mutable_report()->mutable_exited()->set_exit_code(code);
    message.mutable_report()->mutable_exited()->set_signal(signal);
    stream_->Write(message);
  }
  // Waits until the master has committed all reports.
  void AwaitAck() {
    wire::MasterMessage message;
    while (stream_->Read(&message)) {
      if (message.ack().sequence() == sequence_) return;
    }
    FAIL() << "the stream ended";
  }
  void Log(const std::string& allocation, int64_t sequence, const std::string& text) {
    As context("agent");
    wire::PostLogsRequest request;
    request.set_agent_id(id_);
    request.set_allocation_id(allocation);
    auto* line = request.add_lines();
    line->set_sequence(sequence);
    line->set_text(text);
    line->set_rank(0);
    wire::PostLogsResponse response;
    ASSERT_TRUE(stub_->PostLogs(&context, request, &response).ok());
  }
  wire::AgentHub::Stub& stub() { return *stub_; }

 private:
  As context_;
  const std::string id_;
  std::unique_ptr<wire::AgentHub::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::AgentMessage, wire::MasterMessage>> stream_;
  int64_t sequence_ = 0;
  bool ended_ = false;
};

class RoadTest : public testing::Test {
 protected:
  static api::CreateExperimentRequest Request(const std::string& config = kConfig) {
    api::CreateExperimentRequest request;
    request.set_config(config);
    request.set_activate(true);
    return request;
  }
  grpc::Status Create(const api::CreateExperimentRequest& request,
                      api::CreateExperimentResponse* response) {
    As context("user");
    return experiments_->CreateExperiment(&context, request, response);
  }
  int Create() {
    api::CreateExperimentResponse response;
    const grpc::Status status = Create(Request(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment().id();
  }
  // An experiment on slots of `agent`, its task started; returns the allocation.
  std::string Run(Agent& agent, int* experiment = nullptr) {
    EXPECT_TRUE(agent.Next().has_registered());
    const int id = Create();
    if (experiment != nullptr) *experiment = id;
    const wire::MasterMessage start = agent.Next();
    const std::string allocation = start.start().task().allocation_id();
    token_ = start.start().task().session_token();
    agent.Started(allocation);
    agent.AwaitAck();
    return allocation;
  }
  api::Experiment Get(int id) {
    As context("user");
    api::GetExperimentRequest request;
    request.set_experiment_id(id);
    api::GetExperimentResponse response;
    const grpc::Status status = experiments_->GetExperiment(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment();
  }
  api::Trial GetTrial(int id) {
    As context("user");
    api::GetTrialRequest request;
    request.set_trial_id(id);
    api::GetTrialResponse response;
    const grpc::Status status = trials_->GetTrial(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.trial();
  }
  // Waits for the end by the stream that people use.
  api::Experiment Await(int id) {
    As context("user");
    api::WatchExperimentRequest request;
    request.set_experiment_id(id);
    const auto stream = experiments_->WatchExperiment(&context, request);
    api::WatchExperimentResponse response;
    while (stream->Read(&response)) {
    }
    EXPECT_TRUE(stream->Finish().ok());
    return response.experiment();
  }
  grpc::Status Kill(int id) {
    As context("user");
    api::KillExperimentRequest request;
    request.set_id(id);
    api::KillExperimentResponse response;
    return experiments_->KillExperiment(&context, request, &response);
  }

  World world_{store::MakeFakeDatabase()};
  std::unique_ptr<api::ExperimentService::Stub> experiments_ =
      api::ExperimentService::NewStub(world_.channel());
  std::unique_ptr<api::TrialService::Stub> trials_ = api::TrialService::NewStub(world_.channel());
  std::unique_ptr<trial::TrialRuntime::Stub> runtime_ =
      trial::TrialRuntime::NewStub(world_.channel());
  std::string token_;
};

TEST_F(RoadTest, FromCreateToCompletedWithLogs) {
  Agent agent(world_, "a1", 2);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_RUNNING);
  EXPECT_EQ(Get(id).num_trials(), 1);
  ASSERT_EQ(Get(id).trial_ids_size(), 1);
  const int trial_id = Get(id).trial_ids(0);

  As context("user");
  api::TrialLogsRequest request;
  request.set_trial_id(trial_id);
  request.set_follow(true);
  const auto logs = trials_->TrialLogs(&context, request);
  agent.Log(allocation, 1, "hello");
  agent.Log(allocation, 1, "hello");  // again: the answer was lost
  api::TrialLogsResponse line;
  while (logs->Read(&line) && line.log() != "hello") {
  }
  EXPECT_EQ(line.message(), "[rank=0] hello");
  agent.Log(allocation, 2, "bye");
  agent.Exited(allocation, 0);
  int byes = 0;
  while (logs->Read(&line)) byes += line.log() == "bye" || line.log() == "hello";
  EXPECT_EQ(byes, 1);
  EXPECT_TRUE(logs->Finish().ok());

  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_COMPLETED);
  const api::Trial trial = GetTrial(trial_id);
  EXPECT_EQ(trial.state(), api::Trial::STATE_COMPLETED);
  ASSERT_EQ(trial.runs_size(), 1);
  EXPECT_EQ(trial.runs(0).agent_ids(0), "a1");
  EXPECT_EQ(trial.runs(0).exit_code(), 0);
}

TEST_F(RoadTest, AQueuedExperimentSaysWhatItWaitsFor) {
  const int id = Create();
  const api::Experiment experiment = Get(id);
  EXPECT_EQ(experiment.state(), api::Experiment::STATE_QUEUED);
  EXPECT_NE(experiment.state_reason(), "");
}

TEST_F(RoadTest, BadInputIsRefusedAndNothingStored) {
  api::CreateExperimentResponse response;
  grpc::Status status = Create(Request("name: [\n"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  auto request = Request(
      "entrypoint: net.cc:Net\nsearcher: {name: single, metric: loss, "
      "max_length: {batches: 1}}\n");
  request.set_config_path("const.yaml");
  status = Create(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "const.yaml:1: entrypoint: net.cc is not in the context directory");
  auto* file = request.add_model_definition();
  file->set_path("net.cc");
  file->set_type(48);
  request.set_validate_only(true);
  status = Create(request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(world_.store().ListExperiments({})->total, 0);
}

TEST_F(RoadTest, ARequestIdTooLongForItsIndexIsRefused) {
  auto request = Request();
  request.set_request_id(std::string(27'000, 'r'));
  api::CreateExperimentResponse response;
  EXPECT_EQ(Create(request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(world_.store().ListExperiments({})->total, 0);
}

TEST_F(RoadTest, ARequestIdMakesOneExperiment) {
  auto request = Request();
  request.set_request_id("r1");
  api::CreateExperimentResponse first, second;
  ASSERT_TRUE(Create(request, &first).ok());
  ASSERT_TRUE(Create(request, &second).ok());
  EXPECT_EQ(first.experiment().id(), second.experiment().id());
  ASSERT_TRUE(Kill(first.experiment().id()).ok());
  EXPECT_EQ(Await(first.experiment().id()).state(), api::Experiment::STATE_CANCELED);
  ASSERT_TRUE(Create(request, &second).ok());
  EXPECT_EQ(first.experiment().id(), second.experiment().id());
}

TEST_F(RoadTest, KillStopsTheTaskAndMayBeSaidTwice) {
  Agent agent(world_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  ASSERT_TRUE(Kill(id).ok());
  const wire::MasterMessage stop = agent.Next();
  EXPECT_EQ(stop.stop().allocation_id(), allocation);
  EXPECT_TRUE(Kill(id).ok());
  agent.Exited(allocation, 137, 9);
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_CANCELED);
  EXPECT_TRUE(Kill(id).ok());
  As context("user");
  api::PauseExperimentRequest pause;
  pause.set_id(id);
  api::PauseExperimentResponse response;
  const grpc::Status status = experiments_->PauseExperiment(&context, pause, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("is CANCELED; only ACTIVE"), std::string::npos)
      << status.error_message();
  EXPECT_EQ(Kill(999).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(RoadTest, AFailureSaysWhy) {
  Agent agent(world_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  agent.Exited(allocation, 3);
  const api::Experiment experiment = Await(id);
  EXPECT_EQ(experiment.state(), api::Experiment::STATE_ERROR);
  EXPECT_NE(experiment.state_reason(), "");
  EXPECT_EQ(GetTrial(experiment.trial_ids(0)).runs(0).exit_code(), 3);
}

TEST_F(RoadTest, ATrialReportsAndPeopleReadIt) {
  Agent agent(world_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  const int trial_id = Get(id).trial_ids(0);
  trial::ReportMetricsRequest request;
  request.set_allocation_id(allocation);
  request.set_trial_id(trial_id);
  for (const char* group : {"training", "validation"}) {
    auto* report = request.add_reports();
    report->set_group(group);
    report->set_steps_completed(5);
    (*report->mutable_metrics()->mutable_fields())["loss"].set_number_value(0.25);
  }
  trial::ReportMetricsResponse response;
  for (int i = 0; i < 2; ++i) {
    As context(token_);
    const grpc::Status status = runtime_->ReportMetrics(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.best_so_far());
  }
  {
    As context(token_);
    trial::ReportCheckpointRequest checkpoint;
    checkpoint.set_allocation_id(allocation);
    checkpoint.set_trial_id(trial_id);
    checkpoint.set_uuid("0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60");
    checkpoint.set_steps_completed(5);
    (*checkpoint.mutable_resources())["model.pt"] = 7;
    trial::ReportCheckpointResponse none;
    ASSERT_TRUE(runtime_->ReportCheckpoint(&context, checkpoint, &none).ok());
  }
  EXPECT_EQ(Get(id).best_trial_searcher_metric(), 0.25);
  EXPECT_EQ(Get(id).checkpoint_count(), 1);
  const api::Trial shown = GetTrial(trial_id);
  EXPECT_EQ(shown.latest_checkpoint_uuid(), "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60");
  EXPECT_EQ(shown.best_validation().total_batches(), 5);

  As context("user");
  api::GetMetricsRequest ask;
  ask.add_trial_ids(trial_id);
  const auto stream = trials_->GetMetrics(&context, ask);
  api::GetMetricsResponse metrics;
  ASSERT_TRUE(stream->Read(&metrics));
  EXPECT_EQ(metrics.metrics_size(), 2);  // each once
  (void)stream->Finish();

  // Not with another's token, and not after the end.
  As wrong(world_.TokenOf("1.99.0"));
  EXPECT_EQ(runtime_->ReportMetrics(&wrong, request, &response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  agent.Exited(allocation, 0);
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_COMPLETED);
  As late(token_);
  EXPECT_EQ(runtime_->ReportMetrics(&late, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(RoadTest, AWatcherHearsTheRendezvousAlsoWhenItComesLateAndThePreemption) {
  Agent agent(world_, "a1", 1);
  int id = 0;
  const std::string allocation = Run(agent, &id);
  As context(token_);
  trial::WatchAllocationRequest request;
  request.set_allocation_id(allocation);
  const auto stream = runtime_->WatchAllocation(&context, request);
  trial::AllocationUpdate update;
  ASSERT_TRUE(stream->Read(&update));
  ASSERT_EQ(update.rendezvous().nodes_size(), 1);
  EXPECT_EQ(update.rendezvous().nodes(0).address(), "10.0.0.1");
  {
    As user("user");
    api::PauseExperimentRequest pause;
    pause.set_id(id);
    api::PauseExperimentResponse none;
    ASSERT_TRUE(experiments_->PauseExperiment(&user, pause, &none).ok());
  }
  while (stream->Read(&update) && !update.has_preemption()) {
  }
  EXPECT_TRUE(update.has_preemption());
  {
    As task(token_);
    trial::AckPreemptionRequest ack;
    ack.set_allocation_id(allocation);
    trial::AckPreemptionResponse none;
    ASSERT_TRUE(runtime_->AckPreemption(&task, ack, &none).ok());
  }
  agent.Exited(allocation, 0);
  while (stream->Read(&update)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_PAUSED);
}

TEST_F(RoadTest, RanksGather) {
  Agent agent(world_, "a1", 1);
  const std::string allocation = Run(agent);
  const auto join = [&](int rank, trial::AllGatherResponse* response) {
    As context(token_);
    trial::AllGatherRequest request;
    request.set_allocation_id(allocation);
    request.set_key("k");
    request.set_rank(rank);
    request.set_num_peers(2);
    request.set_data(std::string(1, static_cast<char>('a' + rank)));
    return runtime_->AllGather(&context, request, response);
  };
  trial::AllGatherResponse first, second;
  std::thread other([&] { EXPECT_TRUE(join(1, &second).ok()); });
  EXPECT_TRUE(join(0, &first).ok());
  other.join();
  ASSERT_EQ(first.data_size(), 2);
  EXPECT_EQ(first.data(1), "b");
  EXPECT_EQ(second.data(0), "a");
}

TEST_F(RoadTest, AgentsAreRefusedWithoutTheirTokenAndReplacedByThemselves) {
  Agent stranger(world_, "a0", 1, "nonsense");
  EXPECT_EQ(stranger.End().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  Agent first(world_, "a1", 1);
  EXPECT_TRUE(first.Next().has_registered());
  Agent again(world_, "a1", 1);
  EXPECT_TRUE(again.Next().has_registered());
  EXPECT_EQ(first.End().error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(RoadTest, AnAgentsIdIsItsOwnWhileItsStreamLives) {
  auto first = std::make_unique<Agent>(world_, "a1", 1);
  const std::string allocation = Run(*first);
  Agent other(world_, "a1", 1, "agent", "two");
  const grpc::Status refused = other.End();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_NE(refused.error_message().find("agent id a1 is in use"), std::string::npos)
      << refused.error_message();
  // The first one has noticed nothing.
  first->Started(allocation);
  first->AwaitAck();
  // Once it is gone another may take its place; when its end is seen is not for the agent to know.
  first.reset();
  bool registered = false;
  while (!registered) {
    Agent successor(world_, "a1", 1, "agent", "two");
    registered = successor.Next().has_registered();
    if (!registered) {
      EXPECT_EQ(successor.End().error_code(), grpc::StatusCode::ALREADY_EXISTS);
    }
  }
}

TEST_F(RoadTest, IdsThatComeOverTheWireHaveABound) {
  Agent longest(world_, std::string(255, 'a'), 1);
  EXPECT_TRUE(longest.Next().has_registered());
  for (const std::string& id :
       {std::string(256, 'a'), std::string("a\nb"), std::string("a\0b", 3)}) {
    Agent agent(world_, id, 1);
    EXPECT_TRUE(agent.Next().has_shutdown());
    const grpc::Status end = agent.End();
    EXPECT_EQ(end.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(end.error_message().find("agent id of"), std::string::npos) << end.error_message();
    As context("agent");
    wire::PostLogsRequest logs;
    logs.set_agent_id("a1");
    logs.set_allocation_id(id);
    logs.add_lines()->set_sequence(1);
    wire::PostLogsResponse none;
    EXPECT_EQ(agent.stub().PostLogs(&context, logs, &none).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
    logs.set_allocation_id("1.1.0");
    logs.set_agent_id(id);
    As again("agent");
    EXPECT_EQ(agent.stub().PostLogs(&again, logs, &none).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  longest.Exited(std::string(256, '1'), 0);
  EXPECT_EQ(longest.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RoadTest, AnAgentGetsTheContext) {
  auto request = Request();
  auto* file = request.add_model_definition();
  file->set_path("data.bin");
  file->set_type(48);
  std::string content(3 << 20, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761u >> 7);
  file->set_content(content);
  Agent agent(world_, "a1", 1);
  EXPECT_TRUE(agent.Next().has_registered());
  api::CreateExperimentResponse response;
  ASSERT_TRUE(Create(request, &response).ok());
  const std::string hash = agent.Next().start().task().context_hash();
  As context("agent");
  wire::GetContextRequest ask;
  ask.set_hash(hash);
  const auto stream = agent.stub().GetContext(&context, ask);
  wire::GetContextResponse chunk;
  std::string tgz;
  while (stream->Read(&chunk)) tgz += chunk.chunk();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(auth::Sha256Hex(tgz), hash);
}

TEST(PatienceTest, AnAgentThatStaysAwayLosesItsTasks) {
  World world(store::MakeFakeDatabase(), absl::ZeroDuration());
  const auto experiments = api::ExperimentService::NewStub(world.channel());
  auto agent = std::make_unique<Agent>(world, "a1", 1);
  EXPECT_TRUE(agent->Next().has_registered());
  As context("user");
  api::CreateExperimentRequest request;
  request.set_config(std::string(kConfig));
  request.set_activate(true);
  api::CreateExperimentResponse response;
  ASSERT_TRUE(experiments->CreateExperiment(&context, request, &response).ok());
  const std::string allocation = agent->Next().start().task().allocation_id();
  agent.reset();
  // The next run waits for an agent, which comes under another name.
  Agent second(world, "a2", 1);
  EXPECT_TRUE(second.Next().has_registered());
  const std::string next = second.Next().start().task().allocation_id();
  EXPECT_NE(next, "");
  EXPECT_NE(next, allocation);
}

// Every method of every service, called by every kind of caller.
TEST(PermissionsTest, HoldAtTheServices) {
  World world(store::MakeFakeDatabase());
  grpc::GenericStub stub(world.channel());
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  const std::vector<std::pair<auth::PrincipalKind, std::string>> callers = {
      {auth::PrincipalKind::kNobody, ""},
      {auth::PrincipalKind::kUser, "user"},
      {auth::PrincipalKind::kAgent, "agent"},
      {auth::PrincipalKind::kAllocation, world.TokenOf("1.1.0")}};
  int calls = 0;
  for (const char* name :
       {"det.api.v1.MasterService", "det.api.v1.AuthService", "det.api.v1.ExperimentService",
        "det.api.v1.TrialService", "det.api.v1.CheckpointService", "det.api.v1.AgentService",
        "det.api.v1.TaskService", "det.trial.v1.TrialRuntime", "det.agent.v1.AgentHub"}) {
    const auto* service = pool->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      for (const auto& [kind, token] : callers) {
        world.Session("user", store::SessionRecord::Kind::kUser);  // Logout ends it
        As context(token);
        grpc::CompletionQueue queue;
        const auto call = stub.PrepareCall(
            &context, "/" + service->full_name() + "/" + service->method(i)->name(), &queue);
        void* tag = nullptr;
        bool ok = false;
        const auto wait = [&] { queue.Next(&tag, &ok); };
        call->StartCall(nullptr);
        wait();
        // Each request has what its method looks at first.
        trial::WatchAllocationRequest own;
        if (service->name() == "TrialRuntime") own.set_allocation_id("1.1.0");
        const grpc::Slice slice(own.SerializeAsString());
        if (!service->method(i)->client_streaming()) {
          call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
        } else {
          call->WritesDone(nullptr);
        }
        wait();
        grpc::ByteBuffer answer;
        do {
          call->Read(&answer, nullptr);
          wait();
        } while (ok);
        grpc::Status status;
        call->Finish(&status, nullptr);
        wait();
        const bool allowed = auth::Authorize(service->method(i)->full_name(), kind).ok();
        const bool refused = status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
                             (status.error_code() == grpc::StatusCode::UNAUTHENTICATED &&
                              service->method(i)->name() != "Login");
        EXPECT_EQ(refused, !allowed) << service->method(i)->full_name() << " by "
                                     << static_cast<int>(kind) << ": " << status.error_message();
        ++calls;
      }
    }
  }
  EXPECT_GT(calls, 100);
}

TEST(LoginTest, WithThePasswordUntilLogout) {
  World world(store::MakeFakeDatabase());
  const auto auth = api::AuthService::NewStub(world.channel());
  const auto login = [&](const std::string& user, const std::string& password,
                         api::LoginResponse* response) {
    grpc::ClientContext context;
    api::LoginRequest request;
    request.set_username(user);
    request.set_password(password);
    return auth->Login(&context, request, response).error_code();
  };
  api::LoginResponse response;
  EXPECT_EQ(login("admin", "wrong", &response), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(login("nobody", "pw", &response), grpc::StatusCode::UNAUTHENTICATED);
  ASSERT_EQ(login("admin", "pw", &response), grpc::StatusCode::OK);
  const auto me = [&] {
    As context(response.token());
    api::GetMeResponse user;
    const grpc::Status status = auth->GetMe(&context, {}, &user);
    if (status.ok()) {
      EXPECT_EQ(user.user().username(), "admin");
    }
    return status.error_code();
  };
  EXPECT_EQ(me(), grpc::StatusCode::OK);
  As context(response.token());
  api::LogoutResponse none;
  EXPECT_TRUE(auth->Logout(&context, {}, &none).ok());
  EXPECT_EQ(me(), grpc::StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace det::master
