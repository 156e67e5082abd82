// Tests of the context on the cluster, with a master in the test's process.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/certificate_authority.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/cluster_metrics.h"
#include "trial_api/cpp/core/cluster_preemption.h"
#include "trial_api/cpp/core/context.h"
#include "trial_api/cpp/core/exchange.h"
#include "trial_api/cpp/core/fake_master.h"
#include "trial_api/cpp/core/gloo_communicator.h"
#include "trial_api/cpp/core/testing.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::core {
namespace {

using Reports = std::vector<std::string>;

class ClusterTest : public testing::Test {
 protected:
  std::shared_ptr<TrialClient> Client() {
    return std::make_shared<TrialClient>(master_.ClientOptions());
  }
  std::unique_ptr<Metrics> MakeMetrics() {
    ReportQueue::Options options;
    options.outbox.dir = dir_.path() + "/outbox";
    options.response_timeout = std::chrono::minutes(1);
    return MakeClusterMetrics(std::make_shared<ReportQueue>(Client(), options));
  }

  const base::TempDir dir_ = *base::TempDir::Create();

  FakeMaster master_;
};

TEST_F(ClusterTest, SendsMetricsInOrder) {
  {
    const auto metrics = MakeMetrics();
    for (int step = 1; step <= 250; ++step) metrics->ReportTraining(step, {{"loss", 0.5}});
    metrics->Report("system", 250, {{"memory", 3}});
    EXPECT_FALSE(metrics->ReportValidation(250, {{"accuracy", 0.75}}));
    metrics->ReportProgress(0.5);
    metrics->Flush();
    master_.SetBestSoFar(true);
    EXPECT_TRUE(metrics->ReportValidation(251, {{"accuracy", 0.8}}));
  }
  const Reports reports = master_.Reports();
  ASSERT_EQ(reports.size(), 254u);
  for (int step = 1; step <= 250; ++step) {
    EXPECT_EQ(reports[step - 1], "metrics training " + std::to_string(step) + " loss=0.5");
  }
  EXPECT_EQ(reports[250], "metrics system 250 memory=3");
  EXPECT_EQ(reports[251], "metrics validation 250 accuracy=0.75");
  EXPECT_EQ(reports[252], "progress 0.5");
  EXPECT_EQ(reports[253], "metrics validation 251 accuracy=0.8");
}

TEST_F(ClusterTest, DoesNotWaitForMaster_WhenReporting) {
  master_.BlockMetrics(true);
  const auto metrics = MakeMetrics();
  for (int step = 1; step <= 1'000; ++step) metrics->ReportTraining(step, {{"loss", 1}});
  EXPECT_TRUE(master_.Reports().empty());
  master_.BlockMetrics(false);
  metrics->Flush();
  EXPECT_EQ(master_.Reports().size(), 1'000u);
}

TEST_F(ClusterTest, RetriesCalls_WhenMasterIsUnavailable) {
  master_.FailCalls(3);
  const auto metrics = MakeMetrics();
  metrics->ReportTraining(1, {{"loss", 1}});
  EXPECT_TRUE(metrics->ReportValidation(1, {{"loss", 2}}))
      << "without a response it counts as the best";
  metrics->Flush();
  EXPECT_EQ(master_.Reports(),
            (Reports{"metrics training 1 loss=1", "metrics validation 1 loss=2"}));
}

TEST_F(ClusterTest, ThrowsUnreachable_AfterTimeout) {
  master_.FailCalls(1'000'000);
  TrialClient::Options options = master_.ClientOptions();
  options.retry_timeout = std::chrono::milliseconds(0);
  TrialClient client(options);
  EXPECT_THROW(client.AckPreemption(), Unreachable);
}

TEST_F(ClusterTest, ThrowsError_WhenMasterRejectsReports) {
  master_.RejectReports("trial 1 has ended");
  const auto metrics = MakeMetrics();
  metrics->ReportTraining(1, {{"loss", 1}});
  try {
    metrics->ReportValidation(1, {{"loss", 1}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("trial 1 has ended"), std::string::npos) << e.what();
  }
  EXPECT_THROW(metrics->ReportTraining(2, {{"loss", 1}}), Error);
}

TEST_F(ClusterTest, ThrowsAtOnce_WhenTokenIsWrong) {
  TrialClient::Options options = master_.ClientOptions();
  options.token = "other";
  EXPECT_THROW(TrialClient(options).AckPreemption(), Error);
}

TEST_F(ClusterTest, ReceivesAndAcknowledgesPreemption) {
  const auto preemption = MakeClusterPreemption(Client(), nullptr);
  EXPECT_FALSE(preemption->Requested());
  master_.Preempt("a job of higher priority");
  while (!preemption->Requested()) std::this_thread::yield();
  preemption->Acknowledge();
  EXPECT_EQ(master_.Reports(), Reports{"ack"});
}

TEST_F(ClusterTest, WatchDeliversRendezvousAndEnd) {
  master_.SendRendezvous({{"agent", "10.0.0.1", 2}});
  std::promise<std::vector<Node>> nodes;
  std::promise<std::string> end;
  TrialClient::Listener listener;
  listener.on_rendezvous = [&](const std::vector<Node>& received) { nodes.set_value(received); };
  listener.on_end = [&](const std::string& why) { end.set_value(why); };
  const auto client = Client();
  const auto watch = client->WatchAllocation(listener);
  const std::vector<Node> received = nodes.get_future().get();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].address, "10.0.0.1");
  EXPECT_EQ(received[0].slots, 2);
  master_.EndAllocation();
  EXPECT_EQ(end.get_future().get(), "the allocation has ended");
}

TEST_F(ClusterTest, RanksConnectThroughMaster) {
  std::vector<std::thread> threads;
  std::vector<float> sums(3);
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const auto exchange = MakeMasterExchange(Client());
      const auto communicator = ConnectGloo(OneMachine(rank, 3), "127.0.0.1", *exchange);
      sums[rank] = static_cast<float>(rank + 1);
      communicator->AllReduceSum(&sums[rank], 1, DType::kFloat32);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, (std::vector<float>{6, 6, 6}));
}

// Sets environment variables for the duration of a test.
class Environment {
 public:
  explicit Environment(std::map<std::string, std::string> variables)
      : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }

 private:
  const std::map<std::string, std::string> variables_;
};

TEST_F(ClusterTest, ContextReportsToMaster) {
  const base::TempDir dir = *base::TempDir::Create();
  ASSERT_TRUE(base::MakeDirs(dir.path() + "/info").ok());
  ASSERT_TRUE(base::WriteFileAtomically(dir.path() + "/info/trial.json",
                                        R"({"experiment_id": 3, "trial_id": 1, "trial_run_id": 0,
      "trial_seed": 812, "hparams": {"lr": 0.5}, "config": {"data": {"x": 1}, "scheduling_unit": 5},
      "latest_checkpoint": "c0", "warm_start": true, "steps_completed": 0, "validate_at": [3, 9],
      "checkpoint_dir": ")" + dir.path() + "/store\"}")
                  .ok());
  auto variables = master_.Environment();
  variables["DET_RUN_DIR"] = dir.path();
  variables["DET_CLUSTER_ID"] = "c1";
  const Environment environment(variables);
  const std::unique_ptr<Context> context = Context::FromEnvironment({});
  EXPECT_TRUE(context->on_cluster());
  EXPECT_EQ(context->experiment_id(), 3);
  EXPECT_EQ(context->trial_id(), 1);
  EXPECT_EQ(context->seed(), 812u);
  EXPECT_EQ(context->hparams().Get<double>("lr"), 0.5);
  EXPECT_EQ(context->training().reporting_period, 5);
  EXPECT_EQ(context->data_json(), R"({"x":1})");
  EXPECT_EQ(context->training().validate_at, (std::vector<int64_t>{3, 9}));
  EXPECT_EQ(context->checkpoints().Latest(), "c0");
  EXPECT_TRUE(context->warm_start());
  const auto write = [](const std::string& to) {
    EXPECT_TRUE(base::WriteFileAtomically(to + "/model.pt", "abc").ok());
  };
  const std::string uuid = context->checkpoints().Save(8, "{}", write);
  context->metrics().ReportTraining(8, {{"loss", 0.5}});
  context->metrics().Flush();
  context->tensorboard().Finish();
  const std::string events = dir.path() + "/store/c1/tensorboard/experiment/3/trial/1";
  ASSERT_FALSE(std::filesystem::is_empty(events));
  const std::string file = std::filesystem::directory_iterator(events)->path();
  EXPECT_NE(base::ReadFile(file)->find("Determined/loss"), std::string::npos);
  context->ReportInvalidHp("lr is too large");
  context->ReportFailure("boom");
  const Reports reports = master_.Reports();
  ASSERT_EQ(reports.size(), 4u);
  EXPECT_EQ(reports[0].rfind("checkpoint " + uuid + " 8 manifest.json=", 0), 0u) << reports[0];
  EXPECT_NE(reports[0].find(" metadata.json=21 model.pt=3"), std::string::npos) << reports[0];
  EXPECT_EQ(reports[1], "metrics training 8 loss=0.5");
  EXPECT_EQ(reports[2], "early_exit INVALID_HP lr is too large");
  EXPECT_EQ(reports[3], "early_exit FAILED rank 0 failed: boom");

  EXPECT_EQ(*base::ReadFile(context->checkpoints().Open(uuid) + "/model.pt"), "abc");
}

TEST_F(ClusterTest, ConnectsWithTls) {
  const absl::Time from = absl::Now() - absl::Hours(1);
  const absl::Time until = absl::Now() + absl::Hours(1);
  const auto authority = *base::MakeCertificateAuthority("test", from, until);
  const auto own = *base::SignCertificate(
      authority, {.name = "m", .hosts = {"resolute"}, .from = from, .until = until});
  master_.Stop();
  master_.ServeTls(own.certificate, own.key);
  master_.Start();
  const base::TempDir dir = *base::TempDir::Create();
  ASSERT_TRUE(base::WriteFileAtomically(dir.path() + "/ca.crt", authority.certificate).ok());
  auto variables = master_.Environment();
  variables["DET_MASTERS"] = "https://127.0.0.1:" + variables["DET_MASTER_PORT"];
  variables["DET_MASTER_CERT_FILE"] = dir.path() + "/ca.crt";
  variables["DET_MASTER_CERT_NAME"] = "resolute";
  variables["DET_MASTER_PATIENCE"] = "0";
  {
    const Environment environment(variables);
    TrialClient(ClientOptionsFromEnvironment()).AckPreemption();
    EXPECT_EQ(master_.Reports(), Reports{"ack"});
  }
  variables["DET_MASTER_CERT_NAME"] = "another";
  {
    const Environment environment(variables);
    EXPECT_THROW(TrialClient(ClientOptionsFromEnvironment()).AckPreemption(), Unreachable);
  }
  for (const char* file : {"noverify", "/no/such/file"}) {
    variables["DET_MASTER_CERT_FILE"] = file;
    const Environment environment(variables);
    EXPECT_THROW(ClientOptionsFromEnvironment(), Error) << file;
  }
}

}  // namespace
}  // namespace det::core
