// Tests of the program: its flags, its reaction to signals, and restarts after a kill.
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/driver/process_driver.h"
#include "agent/fake_master.h"
#include "agent/keeper/keeper_folder.h"
#include "agent/keeper/process_table.h"
#include "base/file.h"
#include "base/subprocess.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

class MainTest : public testing::Test {
 protected:
  void SetUp() override { dir_.emplace(*base::TempDir::Create("det-agent")); }
  void TearDown() override {
    if (pid_ > 0) {
      (void)base::KillGroup(pid_, SIGKILL);
      (void)base::WaitForExit(pid_);
    }
    (void)KillProcesses({.marker = GetTaskMarker(work_dir(), AllocationId())}, absl::Seconds(10));
  }

  std::string work_dir() const { return dir_->path() + "/agent"; }
  std::string errors() const { return base::ReadFile(dir_->path() + "/stderr").value_or(""); }

  void Run(std::vector<std::string> flags) {
    // Without --config-file, the agent would read /etc/determined/agent.yaml.
    std::vector<std::string> argv = {"agent/resolute-agent"};
    if (std::find(flags.begin(), flags.end(), "--config-file") == flags.end()) {
      argv.insert(argv.end(), {"--config-file", "/dev/null"});
    }
    argv.insert(argv.end(), flags.begin(), flags.end());
    absl::StatusOr<base::ChildProcess> child =
        base::Spawn({.argv = argv,
                     .out = base::Redirect::File(dir_->path() + "/stdout"),
                     .err = base::Redirect::File(dir_->path() + "/stderr")});
    ASSERT_TRUE(child.ok()) << child.status();
    pid_ = child->pid;
  }
  void RunAgent(size_t registration, const std::vector<std::string>& more = {}) {
    std::vector<std::string> flags = {"--master", master_.url(), "--id",       "a1",
                                      "--slots",  "2",           "--work-dir", work_dir()};
    flags.insert(flags.end(), more.begin(), more.end());
    Run(flags);
    ASSERT_TRUE(master_.WaitForRegistration(registration));
  }
  base::ProcessExit Wait() { return *base::WaitForExit(std::exchange(pid_, -1)); }

  FakeMaster master_;
  std::optional<base::TempDir> dir_;
  pid_t pid_ = -1;
};

TEST_F(MainTest, LeavesTasksRunning_OnSigterm) {
  RunAgent(1);
  master_.StartTask("1.1.0", {"sleep", "1000"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return received.Start("1.1.0"); }));
  const int task = master_.received().Start("1.1.0")->started().pid();
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(Wait(), base::ProcessExit{});
  EXPECT_EQ(master_.received().Exit("1.1.0"), nullptr);
  EXPECT_EQ(::kill(task, 0), 0);
  EXPECT_TRUE(absl::IsNotFound(base::ReadFile(work_dir() + "/agent.json").status()));
}

class StopTest : public MainTest, public testing::WithParamInterface<int> {};

TEST_P(StopTest, StopsTasks) {
  RunAgent(1, GetParam() == SIGTERM ? std::vector<std::string>{"--stop-tasks"}
                                    : std::vector<std::string>{});
  master_.StartTask("1.1.0", {"sleep", "1000"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return received.Start("1.1.0"); }));
  ::kill(pid_, GetParam());
  EXPECT_EQ(Wait(), base::ProcessExit{});
  EXPECT_NE(master_.received().Exit("1.1.0"), nullptr);
  EXPECT_TRUE(FindProcesses({.marker = GetTaskMarker(work_dir(), AllocationId())}).empty());
  EXPECT_TRUE(absl::IsNotFound(base::ReadFile(work_dir() + "/agent.json").status()));
}

INSTANTIATE_TEST_SUITE_P(Signals, StopTest, testing::Values(SIGTERM, SIGINT));

// The agent is killed several times while a task writes: every line arrives exactly once, and so
// does the exit.
TEST_F(MainTest, TaskOutlivesAgent) {
  RunAgent(1);
  // Writes lines until the file exists, so that there are lines before, during and after each
  // restart.
  master_.StartTask("1.1.0", {"sh", "-c",
                              "i=0; while [ ! -e go ]; do i=$((i+1)); echo $i; done; "
                              "echo last $i; exit 3"});
  size_t lines = 0;
  for (size_t life = 1; life <= 3; ++life) {
    ASSERT_TRUE(master_.WaitUntil([&](const FakeMaster::Received& received) {
      return received.lines.size() > lines + 100 && received.Start("1.1.0") != nullptr;
    }));
    lines = master_.received().lines.size();
    ::kill(pid_, SIGKILL);
    EXPECT_EQ(Wait().signal, SIGKILL);
    RunAgent(life + 1);
    ASSERT_EQ(master_.received().registrations[life].running_size(), 1);
    EXPECT_EQ(master_.received().registrations[life].running(0).slots(0), 0);
  }
  ASSERT_TRUE(base::WriteFileAtomically(work_dir() + "/tasks/1.1.0/work/go", "").ok());
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->exit_code(), 3);

  // A real master drops lines whose numbers it has stored already.
  std::map<int64_t, std::string> texts;
  for (const v1::LogLine& line : master_.received().lines) {
    const auto [known, fresh] = texts.emplace(line.sequence(), line.text());
    EXPECT_EQ(known->second, line.text()) << "one number for two lines";
  }
  const int64_t count = static_cast<int64_t>(texts.size());
  for (int64_t i = 1; i < count; ++i) ASSERT_EQ(texts[i], absl::StrCat(i));
  EXPECT_EQ(texts[count], absl::StrCat("last ", count - 1));
  std::set<int> pids;
  for (const v1::TaskReport& report : master_.received().reports) {
    if (report.has_started()) pids.insert(report.started().pid());
  }
  EXPECT_EQ(pids.size(), 1u);
}

TEST_F(MainTest, ReportsExit_WhenTaskEndedWhileAgentWasDown) {
  RunAgent(1);
  master_.StartTask("1.1.0",
                    {"sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; echo bye; exit 5"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return received.Start("1.1.0"); }));
  ::kill(pid_, SIGKILL);
  (void)Wait();
  const KeeperFolder keep(work_dir() + "/tasks/1.1.0/keep");
  const base::Fd keeper(static_cast<int>(::syscall(SYS_pidfd_open, keep.GetKeeperPid(), 0)));
  ASSERT_TRUE(keeper.valid());
  ASSERT_TRUE(base::WriteFileAtomically(work_dir() + "/tasks/1.1.0/work/go", "").ok());
  pollfd ended = {.fd = keeper.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&ended, 1, 30'000), 1);
  RunAgent(2);
  EXPECT_EQ(master_.received().registrations[1].running_size(), 1);
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->exit_code(), 5);
  EXPECT_EQ(master_.received().Texts(), std::vector<std::string>{"bye"});
}

TEST_F(MainTest, ReportsKilledKeeper) {
  RunAgent(1);
  master_.StartTask("1.1.0", {"sh", "-c", "setsid sleep 1000 & echo ready; wait"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return !received.lines.empty(); }));
  ::kill(KeeperFolder(work_dir() + "/tasks/1.1.0/keep").GetKeeperPid(), SIGKILL);
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_NE(exit->message().find("keeper"), std::string::npos) << exit->message();
  EXPECT_FALSE(exit->system_failure());
  EXPECT_TRUE(FindProcesses({.marker = GetTaskMarker(work_dir(), AllocationId())}).empty());
}

TEST_F(MainTest, ReportsSystemFailure_WhenAgentAndKeeperEndedTogether) {
  RunAgent(1);
  master_.StartTask("1.1.0", {"sh", "-c", "echo ready; sleep 1000"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return !received.lines.empty(); }));
  ::kill(pid_, SIGKILL);
  (void)Wait();
  const pid_t keeper = KeeperFolder(work_dir() + "/tasks/1.1.0/keep").GetKeeperPid();
  const base::Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0)));
  ASSERT_TRUE(ended.valid());
  ::kill(keeper, SIGKILL);
  pollfd poll = {.fd = ended.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&poll, 1, 30'000), 1);
  RunAgent(2);
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->system_failure()) << exit->message();
}

TEST_F(MainTest, ReportsSystemFailure_WhenMachineRestarted) {
  RunAgent(1);
  master_.StartTask("1.1.0", {"sh", "-c", "echo ready; sleep 1000"});
  ASSERT_TRUE(master_.WaitUntil(
      [](const FakeMaster::Received& received) { return !received.lines.empty(); }));
  const KeeperFolder keep(work_dir() + "/tasks/1.1.0/keep");
  absl::StatusOr<Launch> launch = keep.ReadLaunch();
  ASSERT_TRUE(launch.ok()) << launch.status();
  EXPECT_EQ(launch->boot, GetBootId());
  launch->boot = "another start of the machine";
  ASSERT_TRUE(base::WriteFileAtomically(keep.File("launched"), Encode(*launch)).ok());
  ::kill(keep.GetKeeperPid(), SIGKILL);
  const std::optional<v1::Exited> exit = master_.WaitForExit("1.1.0");
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->system_failure());
  EXPECT_EQ(exit->message(), "the machine restarted");
}

TEST_F(MainTest, PrintsErrorInOneLine) {
  Run({"--master", "nonsense"});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_EQ(errors(),
            "resolute-agent: --master nonsense is not an address; use http://host:port or "
            "https://host:port\n");
}

TEST_F(MainTest, RegistersDescriptionOfMachine) {
  Run({"--master",
       master_.url(),
       "--id",
       "a1",
       "--slots",
       "4",
       "--work-dir",
       work_dir(),
       "--artificial-device",
       "NVIDIA H200",
       "--artificial-islands",
       "2",
       "--cpus",
       "7.5",
       "--memory",
       "64g",
       "--switch",
       "leaf-1",
       "--label",
       "rack=3",
       "--label",
       "note=a=b"});
  ASSERT_TRUE(master_.WaitForRegistration(1));
  const v1::Register registration = master_.received().registrations[0];
  EXPECT_EQ(registration.cpus(), 7.5);
  EXPECT_EQ(registration.memory(), int64_t{64} << 30);
  EXPECT_EQ(registration.network_switch(), "leaf-1");
  EXPECT_EQ(registration.labels().at("rack"), "3");
  EXPECT_EQ(registration.labels().at("note"), "a=b");
  EXPECT_EQ(registration.slots(0).brand(), "NVIDIA H200");
  EXPECT_EQ(registration.slots(1).island(), 0);
  EXPECT_EQ(registration.slots(2).island(), 1);
}

TEST_F(MainTest, ReportsNoCpus_WhenFlagIsZero) {
  Run({"--master", master_.url(), "--id", "a1", "--slots", "1", "--work-dir", work_dir(), "--cpus",
       "0"});
  ASSERT_TRUE(master_.WaitForRegistration(1));
  const v1::Register registration = master_.received().registrations[0];
  EXPECT_FALSE(registration.has_cpus());
  EXPECT_GT(registration.memory(), 0);
}

TEST_F(MainTest, SaysHowToStartWithoutFile_WhenItCannotBeRead) {
  Run({"--master", master_.url(), "--config-file", "/nonexistent/agent.yaml"});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_NE(errors().find("/nonexistent/agent.yaml"), std::string::npos) << errors();
  EXPECT_NE(errors().find("--config-file /dev/null"), std::string::npos) << errors();
}

TEST_F(MainTest, RejectsFlagOfDeterminedWithoutValue) {
  Run({"--master-host"});
  EXPECT_EQ(Wait().code, 2);
  EXPECT_NE(errors().find("--master-host"), std::string::npos) << errors();
  Run({"--master-host", ""});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_NE(errors().find("resolute-agent: no master; set --master"), std::string::npos)
      << errors();
}

TEST_F(MainTest, RejectsInvalidLabel) {
  Run({"--master", master_.url(), "--label", "rack"});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_EQ(errors(), "resolute-agent: --label rack is not a label; use key=value\n");
}

TEST_F(MainTest, PrintsMastersReason_WhenShutDown) {
  RunAgent(1);
  v1::MasterMessage refusal;
  refusal.mutable_shutdown()->set_reason("agent a1 names slot 0 twice");
  master_.Send(refusal);
  EXPECT_EQ(Wait().code, 1);
  EXPECT_NE(errors().find("resolute-agent: the master shut down this agent: agent a1 names slot 0 "
                          "twice\n"),
            std::string::npos)
      << errors();
}

TEST_F(MainTest, RejectsTooSmallSpoolLimit) {
  Run({"--master", master_.url(), "--log-spool-limit", "1k"});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_EQ(errors(),
            "resolute-agent: --log-spool-limit must be a size of 64k or more, such as 256m\n");
}

TEST_F(MainTest, ReportsMissingTokenFile) {
  const std::string path = dir_->path() + "/none";
  Run({"--master", master_.url(), "--token-file", path});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_NE(errors().find(path), std::string::npos) << errors();
}

TEST_F(MainTest, ExitsWith2_WhenFlagIsUnknown) {
  Run({"--nonsense"});
  EXPECT_EQ(Wait().code, 2);
}

TEST_F(MainTest, PrintsVersion) {
  Run({"--version"});
  EXPECT_EQ(Wait().code, 0);
  EXPECT_EQ(base::ReadFile(dir_->path() + "/stdout").value_or("").rfind("resolute-agent ", 0), 0u);
}

}  // namespace
}  // namespace det::agent
