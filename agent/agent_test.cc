// Tests of the whole agent, with real processes and a fake master.
#include "agent/agent.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/driver/process_driver.h"
#include "agent/fake_master.h"
#include "agent/keeper/process_table.h"
#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

bool Exists(const std::string& path) { return std::filesystem::exists(path); }

class AgentTest : public testing::Test {
 protected:
  void SetUp() override { dir_.emplace(*base::TempDir::Create("det-agent")); }
  void TearDown() override {
    agent_.reset();
    (void)KillProcesses({.marker = GetTaskMarker(work_dir(), AllocationId())}, absl::Seconds(10));
  }

  std::string work_dir() const { return dir_->path() + "/agent"; }

  AgentOptions Options() const {
    return {.master = master_.url(),
            .id = "a1",
            .slots = 2,
            .work_dir = work_dir(),
            .keeper = "agent/resolute-keeper"};
  }

  void StartAgent(const AgentOptions& options) {
    auto agent = Agent::Start(options, [this](absl::Status status) {
      std::lock_guard lock(mutex_);
      ended_ = std::move(status);
      changed_.notify_all();
    });
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
  }
  void StartAgent() {
    StartAgent(Options());
    ASSERT_TRUE(master_.WaitForRegistration());
  }

  absl::Status WaitForEnd() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(30), [&] { return ended_.has_value(); })) {
      return absl::DeadlineExceededError("the agent did not end");
    }
    return *ended_;
  }

  bool WaitForLine(const std::string& text) {
    return master_.WaitUntil([&](const FakeMaster::Received& received) {
      for (const auto& line : received.lines) {
        if (line.text() == text) return true;
      }
      return false;
    });
  }

  FakeMaster master_;
  std::optional<base::TempDir> dir_;
  std::unique_ptr<Agent> agent_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::Status> ended_;
};

TEST_F(AgentTest, RegistersSlots) {
  StartAgent();
  const v1::Register registration = master_.received().registrations.at(0);
  EXPECT_EQ(registration.agent_id(), "a1");
  EXPECT_EQ(registration.resource_pool(), "default");
  EXPECT_EQ(registration.address(), "127.0.0.1");
  EXPECT_EQ(registration.slots_size(), 2);
  EXPECT_EQ(registration.slots(1).id(), 1);
  EXPECT_EQ(registration.slots(1).type(), v1::Device::CPU);
  EXPECT_EQ(registration.running_size(), 0);
  EXPECT_NE(registration.incarnation(), "");
}

TEST_F(AgentTest, SendsLinesBeforeExitReport) {
  StartAgent();
  master_.StartTask("1.1.0", {"sh", "-c",
                              "echo \"[rank=1] hello\"; echo 'ERROR: bad' >&2; "
                              "echo $DET_ALLOCATION_ID $DET_SLOT_IDS $DET_CLUSTER_ID; exit 3"});
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->exit_code(), 3);
  EXPECT_EQ(exit->signal(), 0);
  const FakeMaster::Received received = master_.received();
  ASSERT_NE(received.Start("1.1.0"), nullptr);
  EXPECT_GT(received.Start("1.1.0")->started().pid(), 0);
  EXPECT_EQ(received.lines_at_exit, 3u) << absl::StrJoin(received.Texts(), "|");
  std::map<std::string, v1::LogLine> lines;
  std::vector<int64_t> sequences;
  for (const v1::LogLine& line : received.lines) {
    lines[line.text()] = line;
    sequences.push_back(line.sequence());
  }
  EXPECT_EQ(sequences, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_TRUE(lines["hello"].has_rank());
  EXPECT_EQ(lines["hello"].rank(), 1);
  EXPECT_EQ(lines["hello"].stdtype(), "stdout");
  EXPECT_FALSE(lines["ERROR: bad"].has_rank());
  EXPECT_EQ(lines["ERROR: bad"].level(), 5);
  EXPECT_EQ(lines["ERROR: bad"].stdtype(), "stderr");
  EXPECT_TRUE(lines.contains("1.1.0 [0] cluster"));
  EXPECT_FALSE(Exists(work_dir() + "/tasks/1.1.0/work"));
}

TEST_F(AgentTest, StopsTaskWithSigterm) {
  StartAgent();
  master_.StartTask(
      "1.1.0",
      {"sh", "-c", "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done"});
  ASSERT_TRUE(WaitForLine("ready"));
  master_.StopTask("1.1.0", 60);
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->exit_code(), 7);
  EXPECT_TRUE(WaitForLine("bye"));
}

TEST_F(AgentTest, KillsTask_WhenGracePeriodEnds) {
  StartAgent();
  master_.StartTask("1.1.0",
                    {"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"});
  ASSERT_TRUE(WaitForLine("ready"));
  master_.StopTask("1.1.0", 0.05);
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->exit_code(), 137);
  EXPECT_EQ(exit->signal(), 9);
}

TEST_F(AgentTest, ReportsSignalOfKilledTask) {
  StartAgent();
  master_.StartTask("1.1.0", {"sleep", "1000"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return received.Start("1.1.0"); }));
  ASSERT_EQ(::kill(master_.received().Start("1.1.0")->started().pid(), SIGKILL), 0);
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->exit_code(), 137);
  EXPECT_EQ(exit->signal(), 9);
  EXPECT_EQ(exit->message(), "killed by signal 9 (SIGKILL)");
}

TEST_F(AgentTest, ReportsExit_WhenStopNamesUnknownTask) {
  StartAgent();
  master_.StopTask("9.9.0", 1);
  const std::optional<v1::Exited> exit = master_.WaitForExit("9.9.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->message(), "not running here");
}

TEST_F(AgentTest, ReportsReason_WhenTaskDoesNotStart) {
  StartAgent();
  master_.StartTask("1.1.0", {"no-such-program-anywhere"});
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->start_failed());
  EXPECT_NE(exit->message().find("no-such-program-anywhere"), std::string::npos) << exit->message();
  EXPECT_EQ(master_.received().lines_at_exit, 1u);
  EXPECT_EQ(master_.received().lines.at(0).source(), "agent");

  const std::string hash(64, '0');
  master_.StartTask("1.1.1", {"true"}, hash);
  const std::optional<v1::Exited> second = master_.WaitForExit("1.1.1");
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->start_failed());
  EXPECT_EQ(second->message(), "cannot get the context: no such context");
}

TEST_F(AgentTest, ResendsUnacknowledgedReports) {
  master_.SetAutoAck(false);
  StartAgent();
  master_.StartTask("1.1.0", {"true"});
  ASSERT_TRUE(master_.WaitForExit("1.1.0").has_value());
  master_.StartTask("1.2.0", {"sleep", "1000"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return received.Start("1.2.0"); }));
  const std::vector<v1::TaskReport> first = master_.received().reports;
  ASSERT_EQ(first.size(), 3u);

  master_.DropStream();
  ASSERT_TRUE(master_.WaitForRegistration(2));
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return received.reports.size() == 6; }));
  const FakeMaster::Received received = master_.received();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(received.reports[3 + i].SerializeAsString(), first[i].SerializeAsString()) << i;
  }
  // The ended task counts as running until the master has acknowledged its exit.
  ASSERT_EQ(received.registrations[1].running_size(), 2);
  EXPECT_EQ(received.registrations[1].running(1).allocation_id(), "1.2.0");
  EXPECT_EQ(received.registrations[1].running(1).slots(0), 0);
}

TEST_F(AgentTest, KeepsIncarnationUntilProcessEnds) {
  StartAgent();
  master_.DropStream();
  ASSERT_TRUE(master_.WaitForRegistration(2));
  agent_.reset();
  StartAgent(Options());
  ASSERT_TRUE(master_.WaitForRegistration(3));
  const std::vector<v1::Register> registrations = master_.received().registrations;
  EXPECT_EQ(registrations[1].incarnation(), registrations[0].incarnation());
  EXPECT_NE(registrations[2].incarnation(), registrations[0].incarnation());
}

TEST_F(AgentTest, RetriesRegistration_WhenIdIsInUse) {
  master_.SetIdInUse(true);
  StartAgent(Options());
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return received.refusals >= 2; }));
  master_.SetIdInUse(false);
  EXPECT_TRUE(master_.WaitForRegistration());
}

TEST_F(AgentTest, Ends_WhenIdStaysInUse) {
  master_.SetIdInUse(true);
  AgentOptions options = Options();
  options.id_in_use_timeout = absl::ZeroDuration();
  StartAgent(options);
  const absl::Status end = WaitForEnd();
  EXPECT_TRUE(absl::IsAlreadyExists(end)) << end;
  EXPECT_EQ(end.message(), "agent id a1 is in use by another agent");
}

TEST_F(AgentTest, ContinuesTasks_WhenMasterRestarts) {
  StartAgent();
  master_.StartTask("1.1.0",
                    {"sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two"});
  ASSERT_TRUE(WaitForLine("one"));
  master_.Stop();
  ASSERT_TRUE(base::WriteFileAtomically(work_dir() + "/tasks/1.1.0/work/go", "").ok());
  master_.Start();
  ASSERT_TRUE(master_.WaitForRegistration(2));
  ASSERT_EQ(master_.received().registrations[1].running_size(), 1);
  EXPECT_TRUE(WaitForLine("two"));
  ASSERT_TRUE(master_.WaitForExit("1.1.0").has_value());
  EXPECT_EQ(master_.WaitForExit("1.1.0")->exit_code(), 0);
}

// Lines that the master does not accept remain on disk, and are delivered when it accepts them
// again.
TEST_F(AgentTest, DeliversLinesFromDisk_WhenMasterAcceptsThemAgain) {
  master_.SetAcceptLogs(false);
  StartAgent();
  master_.StartTask("1.1.0", {"sh", "-c", "seq 1 60000"});
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value()) << "the exit is reported without waiting for the lines";
  master_.SetAcceptLogs(true);
  ASSERT_TRUE(WaitForLine("60000"));
  const std::vector<std::string> texts = master_.received().Texts();
  ASSERT_EQ(texts.size(), 60000u);
  for (size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(texts[i], absl::StrCat(i + 1));
}

TEST_F(AgentTest, NextAgentReattachesToTasks) {
  StartAgent();
  master_.StartTask("1.1.0",
                    {"sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two"});
  ASSERT_TRUE(WaitForLine("one"));
  agent_->Stop(/*stop_tasks=*/false);
  EXPECT_TRUE(WaitForEnd().ok());
  agent_.reset();
  EXPECT_EQ(master_.received().Exit("1.1.0"), nullptr);
  ended_.reset();

  StartAgent(Options());
  ASSERT_TRUE(master_.WaitForRegistration(2));
  const v1::Register again = master_.received().registrations[1];
  ASSERT_EQ(again.running_size(), 1);
  EXPECT_EQ(again.running(0).allocation_id(), "1.1.0");
  EXPECT_EQ(again.running(0).slots(0), 0);
  ASSERT_TRUE(base::WriteFileAtomically(work_dir() + "/tasks/1.1.0/work/go", "").ok());
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->exit_code(), 0);
  EXPECT_EQ(master_.received().Texts(), (std::vector<std::string>{"one", "two"}));
}

// The agent returns after the master has given up its tasks and started them elsewhere.
TEST_F(AgentTest, KillsReattachedTask_WhenMasterStopsIt) {
  StartAgent();
  master_.StartTask("1.1.0",
                    {"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"});
  ASSERT_TRUE(WaitForLine("ready"));
  agent_.reset();
  StartAgent(Options());
  ASSERT_TRUE(master_.WaitForRegistration(2));
  master_.StopTask("1.1.0", 0);
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->signal(), SIGKILL);
  EXPECT_TRUE(FindProcesses({.marker = GetTaskMarker(work_dir(), AllocationId())}).empty());
}

TEST_F(AgentTest, NextAgentReportsUnacknowledgedExit) {
  master_.SetAutoAck(false);
  StartAgent();
  master_.StartTask("1.1.0", {"sh", "-c", "echo one; exit 4"});
  ASSERT_TRUE(master_.WaitForExit("1.1.0").has_value());
  agent_.reset();
  const size_t before = master_.received().reports.size();
  master_.SetAutoAck(true);
  StartAgent(Options());
  ASSERT_TRUE(master_.WaitUntil(
      [&](const FakeMaster::Received& received) { return received.reports.size() == before + 2; }));
  const v1::TaskReport again = master_.received().reports.back();
  EXPECT_EQ(again.exited().exit_code(), 4);
  EXPECT_EQ(again.sequence(), 2) << "each agent process has its own sequence";
  EXPECT_EQ(master_.received().Texts(), std::vector<std::string>{"one"});
  // Once the exit is acknowledged, nothing of the task is left.
  ASSERT_TRUE(master_.WaitForRegistration(2));
  agent_->Stop(/*stop_tasks=*/true);
  EXPECT_TRUE(WaitForEnd().ok());
  EXPECT_FALSE(Exists(work_dir() + "/tasks/1.1.0"));
}

TEST_F(AgentTest, ConnectsToLeadingMaster) {
  FakeMaster other;
  AgentOptions options = Options();
  options.master = absl::StrCat(master_.url(), ",", other.url());
  master_.Stop();
  StartAgent(options);
  ASSERT_TRUE(other.WaitForRegistration());
  other.StartTask("1.1.0", {"sh", "-c", "echo $DET_MASTER $DET_MASTERS; sleep 1000"});
  ASSERT_TRUE(other.WaitUntil(
      [](const FakeMaster::Received& received) { return !received.lines.empty(); }));
  EXPECT_EQ(other.received().Texts().at(0), absl::StrCat(other.url(), " ", options.master));

  master_.Start();
  other.Stop();
  ASSERT_TRUE(master_.WaitForRegistration());
  EXPECT_EQ(master_.received().registrations[0].running_size(), 1);
  master_.StopTask("1.1.0", 0);
  ASSERT_TRUE(master_.WaitForExit("1.1.0").has_value());
  master_.StartTask("1.2.0", {"echo", "hi"});
  EXPECT_TRUE(WaitForLine("hi")) << "logs go to the leading master";
}

TEST_F(AgentTest, StopsTasks_WhenRequested) {
  StartAgent();
  master_.StartTask("1.1.0", {"sleep", "1000"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return received.Start("1.1.0"); }));
  EXPECT_EQ(*base::ReadFile(work_dir() + "/agent.json"),
            absl::StrCat("{\"pid\": ", ::getpid(), ", \"id\": \"a1\", \"registered\": true}\n"));
  agent_->Stop(/*stop_tasks=*/true);
  EXPECT_TRUE(WaitForEnd().ok());
  const FakeMaster::Received received = master_.received();
  ASSERT_NE(received.Exit("1.1.0"), nullptr);
  EXPECT_EQ(received.Exit("1.1.0")->exited().signal(), SIGTERM);
  agent_.reset();
  EXPECT_FALSE(Exists(work_dir() + "/agent.json"));
}

TEST_F(AgentTest, Ends_WhenMasterRequestsShutdown) {
  StartAgent();
  v1::MasterMessage message;
  message.mutable_shutdown()->set_reason("this pool is closed");
  master_.Send(message);
  const absl::Status end = WaitForEnd();
  EXPECT_NE(end.message().find("this pool is closed"), std::string::npos) << end;
}

TEST_F(AgentTest, SendsToken) {
  master_.RequireToken("secret");
  AgentOptions options = Options();
  options.token = "secret";
  StartAgent(options);
  ASSERT_TRUE(master_.WaitForRegistration());
  master_.StartTask("1.1.0", {"echo", "hi"});
  EXPECT_TRUE(WaitForLine("hi"));
}

TEST_F(AgentTest, Ends_WhenTokenIsRejected) {
  master_.RequireToken("secret");
  StartAgent(Options());
  const absl::Status end = WaitForEnd();
  EXPECT_TRUE(absl::IsUnauthenticated(end)) << end;
  EXPECT_NE(end.message().find("--token-file"), std::string::npos) << end;
}

TEST_F(AgentTest, RejectsInvalidOptions) {
  const auto start = [](AgentOptions options) {
    return Agent::Start(options, [](absl::Status) {}).status();
  };
  AgentOptions options = Options();
  options.master = "nonsense";
  EXPECT_TRUE(absl::IsInvalidArgument(start(options)));
  options = Options();
  options.id = "a/b";
  EXPECT_TRUE(absl::IsInvalidArgument(start(options)));
  options = Options();
  options.work_dir = "/dev/null/x";
  EXPECT_NE(start(options).message().find("--work-dir"), std::string::npos);
  options = Options();
  options.keeper = "/no/keeper";
  EXPECT_NE(start(options).message().find("/no/keeper"), std::string::npos);
  StartAgent();
  EXPECT_NE(start(Options()).message().find("another agent is using"), std::string::npos);
}

}  // namespace
}  // namespace det::agent
