// Tests of the report queue with a master that is unavailable, returns, loses responses and rejects
// reports.
#include "trial_api/cpp/core/report_queue.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/checkpoints.h"
#include "trial_api/cpp/core/cluster_preemption.h"
#include "trial_api/cpp/core/fake_master.h"
#include "trial_api/cpp/core/single_communicator.h"

namespace det::core {
namespace {

namespace fs = std::filesystem;
using Reports = std::vector<std::string>;

MetricReport Training(int64_t steps) {
  return {"training", steps, {{"loss", 0.5}}, std::chrono::system_clock::now()};
}
MetricReport Validation(int64_t steps) {
  return {"validation", steps, {{"error", 2}}, std::chrono::system_clock::now()};
}
std::string TrainingText(int64_t steps) {
  return "metrics training " + std::to_string(steps) + " loss=0.5";
}

class ReportQueueTest : public testing::Test {
 protected:
  std::unique_ptr<ReportQueue> Make(int run = 0) {
    TrialClient::Options client = master_.ClientOptions();
    client.trial_run_id = run;
    options_.outbox.dir = dir_.path() + "/outbox/test-trial-1/" + std::to_string(run);
    return std::make_unique<ReportQueue>(std::make_shared<TrialClient>(client), options_);
  }
  std::string Outbox(int run) const {
    return dir_.path() + "/outbox/test-trial-1/" + std::to_string(run);
  }

  FakeMaster master_;
  const base::TempDir dir_ = *base::TempDir::Create();
  ReportQueue::Options options_;
};

TEST_F(ReportQueueTest, SendsEverythingOnceAndInOrder_AfterOutage) {
  options_.response_timeout = std::chrono::milliseconds(1);
  const auto queue = Make();
  queue->AddMetrics(Training(1));
  master_.WaitForReports(1);
  master_.Stop();
  Reports expected = {TrainingText(1)};
  for (int step = 2; step <= 3'000; ++step) {
    queue->AddMetrics(Training(step));
    expected.push_back(TrainingText(step));
    if (step % 1'000 != 0) continue;
    EXPECT_TRUE(queue->AddValidation(Validation(step)))
        << "without a response it counts as the best";
    expected.push_back("metrics validation " + std::to_string(step) + " error=2");
    const std::string uuid = "c-" + std::to_string(step);
    queue->AddCheckpoint({uuid, step, {{"model.pt", 3}}, "{}", std::chrono::system_clock::now()});
    expected.push_back("checkpoint " + uuid + " " + std::to_string(step) + " model.pt=3");
  }
  master_.Start();
  queue->Flush();
  EXPECT_EQ(master_.Reports(), expected);
}

TEST_F(ReportQueueTest, RepeatsReports_WhenResponsesAreLost) {
  const auto queue = Make();
  master_.LoseResponses(2);
  for (int step = 1; step <= 10; ++step) queue->AddMetrics(Training(step));
  queue->AddCheckpoint({"c", 10, {}, "{}", std::chrono::system_clock::now()});
  queue->Flush();
  Reports expected;
  for (int step = 1; step <= 10; ++step) expected.push_back(TrainingText(step));
  expected.push_back("checkpoint c 10");
  EXPECT_EQ(master_.Reports(), expected);
  EXPECT_GE(master_.Repeats(), 2);
}

TEST_F(ReportQueueTest, WaitsForSpace_WhenOutboxIsFull) {
  options_.outbox.limit = 2'000;
  options_.outbox.segment = 500;
  master_.BlockMetrics(true);
  const auto queue = Make();
  std::atomic<int> added = 0;
  std::thread training([&] {
    for (int step = 1; step <= 500; ++step) {
      queue->AddMetrics(Training(step));
      added = step;
    }
  });
  // The caller waits while the outbox is full.
  while (added == 0) std::this_thread::yield();
  master_.BlockMetrics(false);
  training.join();
  queue->Flush();
  EXPECT_EQ(master_.Reports().size(), 500u);
  EXPECT_EQ(master_.Reports().back(), TrainingText(500));
}

TEST_F(ReportQueueTest, NextRunSendsReportsOfKilledRuns) {
  master_.Stop();  // before the fork, because threads do not survive it
  const pid_t child = ::fork();
  if (child == 0) {
    auto outbox = core::Outbox::Open({.dir = Outbox(3)});
    for (int step = 1; step <= 50; ++step) outbox->Add(Encode(Training(step)));
    outbox->Add(Encode(Validation(50)));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  core::Outbox::Open({.dir = Outbox(2)})->Add(Encode(Training(1)));
  master_.Start();
  const auto queue = Make(4);
  queue->AddMetrics(Training(40));
  queue->Flush();
  const Reports reports = master_.Reports();
  ASSERT_EQ(reports.size(), 53u);
  EXPECT_EQ(reports[0], TrainingText(1) + " run=2");
  EXPECT_EQ(reports[1], TrainingText(1) + " run=3");
  EXPECT_EQ(reports[51], "metrics validation 50 error=2 run=3");
  EXPECT_EQ(reports[52], TrainingText(40) + " run=4");
  EXPECT_FALSE(fs::exists(Outbox(3)));
  EXPECT_FALSE(fs::exists(Outbox(2)));
}

TEST_F(ReportQueueTest, KeepsUnsentReportsForNextRun) {
  master_.Stop();
  Make(0)->AddMetrics(Training(1));
  EXPECT_TRUE(fs::exists(Outbox(0)));
  master_.Start();
  Make(1)->Flush();
  EXPECT_EQ(master_.WaitForReports(1), Reports{TrainingText(1)});
}

TEST_F(ReportQueueTest, DestructorDoesNotWait) {
  master_.Stop();
  core::Outbox::Open({.dir = Outbox(0)})->Add(Encode(Training(1)));
  Make(1).reset();  // while it sends the reports of another run
  const auto queue = Make(2);
  queue->AddMetrics(Training(1));
  queue->Discard();
}

TEST_F(ReportQueueTest, ReportsEndAndStopsSending_WhenRunIsOver) {
  std::promise<std::string> over;
  options_.on_over = [&](const std::string& why) { over.set_value(why); };
  master_.RejectReports("allocation 1.1.0 has ended");
  {
    const auto queue = Make();
    queue->AddMetrics(Training(1));
    EXPECT_NE(over.get_future().get().find("allocation 1.1.0 has ended"), std::string::npos);
    EXPECT_THROW(queue->Flush(), RunIsOver);
    EXPECT_THROW(queue->AddMetrics(Training(2)), RunIsOver);
  }
  EXPECT_FALSE(fs::exists(fs::path(Outbox(0)).parent_path()));
  EXPECT_EQ(master_.Reports(), Reports());
}

TEST_F(ReportQueueTest, SendsOtherReports_WhenOneOfBatchIsRejected) {
  master_.RejectStep(2);
  {
    const auto outbox = core::Outbox::Open({.dir = Outbox(0)});  // so that they are one batch
    for (int step = 1; step <= 3; ++step) outbox->Add(Encode(Training(step)));
    outbox->Add(Encode(CheckpointReport{"c", 3, {}, "{}", std::chrono::system_clock::now()}));
  }
  {
    const auto queue = Make();
    EXPECT_THROW(queue->Flush(), InvalidCall);
    EXPECT_EQ(master_.Reports(), (Reports{TrainingText(1), TrainingText(3), "checkpoint c 3"}));
    EXPECT_THROW(queue->AddMetrics(Training(4)), InvalidCall);
  }
  EXPECT_FALSE(fs::exists(Outbox(0))) << "the rejected report is not sent again";
}

TEST_F(ReportQueueTest, SendsOtherReportsOfEarlierRun_WhenOneIsRejected) {
  master_.RejectStep(2);
  {
    const auto outbox = core::Outbox::Open({.dir = Outbox(0)});
    for (int step = 1; step <= 3; ++step) outbox->Add(Encode(Training(step)));
    outbox->Add(Encode(CheckpointReport{"c", 3, {}, "{}", std::chrono::system_clock::now()}));
  }
  const auto queue = Make(1);
  queue->AddMetrics(Training(4));
  queue->Flush();
  EXPECT_EQ(master_.Reports(), (Reports{TrainingText(1), TrainingText(3), "checkpoint c 3",
                                        TrainingText(4) + " run=1"}));
  EXPECT_FALSE(fs::exists(Outbox(0)));
}

TEST_F(ReportQueueTest, ReturnsMastersResponseToValidation) {
  options_.response_timeout = std::chrono::minutes(1);
  const auto queue = Make();
  EXPECT_FALSE(queue->AddValidation(Validation(1)));
  master_.SetBestSoFar(true);
  EXPECT_TRUE(queue->AddValidation(Validation(2)));
}

TEST_F(ReportQueueTest, DoesNotWait_WhenMasterIsUnavailable) {
  options_.response_timeout = std::chrono::hours(1);
  master_.Stop();
  const auto queue = Make();
  // If any of them waited for a response, this test would exceed its time limit.
  for (int step = 1; step <= 1'000; ++step) EXPECT_TRUE(queue->AddValidation(Validation(step)));
  master_.Start();
  queue->Flush();
  EXPECT_EQ(master_.Reports().size(), 1'000u);
  EXPECT_FALSE(queue->AddValidation(Validation(1'001))) << "the master responds again";
}

TEST_F(ReportQueueTest, ReceivesPreemption_AfterOutage) {
  const auto client = std::make_shared<TrialClient>(master_.ClientOptions());
  const auto preemption = MakeClusterPreemption(client, nullptr);
  master_.Stop();
  master_.Preempt("a job of higher priority");
  EXPECT_FALSE(preemption->Requested());
  master_.Start();
  while (!preemption->Requested()) std::this_thread::yield();
}

TEST_F(ReportQueueTest, UsesAvailableMaster) {
  FakeMaster standby;
  TrialClient::Options options = master_.ClientOptions();
  options.masters.push_back(standby.ClientOptions().masters.front());
  TrialClient client(options);
  client.AckPreemption();
  master_.Stop();
  client.AckPreemption();
  EXPECT_EQ(master_.Reports(), Reports{"ack"});
  EXPECT_EQ(standby.Reports(), Reports{"ack"});
  standby.Stop();
  master_.Start();
  client.AckPreemption();
  EXPECT_EQ(master_.Reports().size(), 2u);
}

}  // namespace
}  // namespace det::core
