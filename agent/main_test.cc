// The program itself: its flags, its end by signals, and what it finds after it was killed.
#include <signal.h>
#include <stdlib.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/driver/process_driver.h"
#include "agent/driver/process_table.h"
#include "agent/fake_master.h"
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
    (void)KillProcesses({.mark = ProcessMark(work_dir(), AllocationId())}, absl::Seconds(10));
  }

  std::string work_dir() const { return dir_->path() + "/agent"; }
  std::string errors() const { return base::ReadFile(dir_->path() + "/stderr").value_or(""); }

  void Run(std::vector<std::string> flags) {
    std::vector<std::string> argv = {"agent/resolute-agent"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    absl::StatusOr<base::ChildProcess> child =
        base::Spawn({.argv = argv,
                     .out = base::Redirect::File(dir_->path() + "/stdout"),
                     .err = base::Redirect::File(dir_->path() + "/stderr")});
    ASSERT_TRUE(child.ok()) << child.status();
    pid_ = child->pid;
  }
  void RunAgent(size_t registration) {
    Run({"--master", master_.url(), "--id", "a1", "--slots", "2", "--work-dir", work_dir()});
    ASSERT_TRUE(master_.WaitForRegistration(registration));
  }
  base::ProcessExit Wait() { return *base::WaitForExit(std::exchange(pid_, -1)); }

  FakeMaster master_;
  std::optional<base::TempDir> dir_;
  pid_t pid_ = -1;
};

TEST_F(MainTest, EndsOnSigtermAndStopsItsTasks) {
  RunAgent(1);
  master_.StartTask("1.1.0", {"sleep", "1000"});
  ASSERT_TRUE(
      master_.WaitUntil([](const FakeMaster::Heard& heard) { return heard.Start("1.1.0"); }));
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(Wait(), base::ProcessExit{});
  EXPECT_NE(master_.heard().Exit("1.1.0"), nullptr);
  EXPECT_TRUE(FindProcesses({.mark = ProcessMark(work_dir(), AllocationId())}).empty());
  EXPECT_TRUE(absl::IsNotFound(base::ReadFile(work_dir() + "/agent.json").status()));
}

TEST_F(MainTest, FindsAndEndsWhatAKilledAgentLeftBehind) {
  RunAgent(1);
  // The second sleep leaves session and group, so only its mark tells.
  master_.StartTask("1.1.0", {"sh", "-c", "setsid sleep 1000 & echo ready; sleep 1000"});
  ASSERT_TRUE(
      master_.WaitUntil([](const FakeMaster::Heard& heard) { return !heard.lines.empty(); }));
  ::kill(pid_, SIGKILL);
  EXPECT_EQ(Wait().signal, SIGKILL);
  EXPECT_FALSE(FindProcesses({.mark = ProcessMark(work_dir(), AllocationId("1.1.0"))}).empty());
  RunAgent(2);
  EXPECT_TRUE(FindProcesses({.mark = ProcessMark(work_dir(), AllocationId("1.1.0"))}).empty());
  EXPECT_EQ(master_.heard().registrations[1].running_size(), 0);
  master_.StartTask("1.1.1", {"true"});
  EXPECT_TRUE(master_.WaitForExit("1.1.1").has_value());
}

TEST_F(MainTest, SaysInOneLineWhatIsWrong) {
  Run({"--master", "nonsense"});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_EQ(errors(), "resolute-agent: --master nonsense is no address; use http://host:port\n");
}

TEST_F(MainTest, TellsWhatTheMachineIs) {
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
  const v1::Register told = master_.heard().registrations[0];
  EXPECT_EQ(told.cpus(), 7.5);
  EXPECT_EQ(told.memory(), int64_t{64} << 30);
  EXPECT_EQ(told.network_switch(), "leaf-1");
  EXPECT_EQ(told.labels().at("rack"), "3");
  EXPECT_EQ(told.labels().at("note"), "a=b");
  EXPECT_EQ(told.slots(0).brand(), "NVIDIA H200");
  EXPECT_EQ(told.slots(1).island(), 0);
  EXPECT_EQ(told.slots(2).island(), 1);
}

TEST_F(MainTest, CountsCpusAndMemoryUnlessToldNotTo) {
  Run({"--master", master_.url(), "--id", "a1", "--slots", "1", "--work-dir", work_dir(), "--cpus",
       "0"});
  ASSERT_TRUE(master_.WaitForRegistration(1));
  const v1::Register told = master_.heard().registrations[0];
  EXPECT_FALSE(told.has_cpus());
  EXPECT_GT(told.memory(), 0);
}

TEST_F(MainTest, WrongLabel) {
  Run({"--master", master_.url(), "--label", "rack"});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_EQ(errors(), "resolute-agent: --label rack is no label; write it as key=value\n");
}

TEST_F(MainTest, ARefusalIsPrintedInTheMastersWords) {
  RunAgent(1);
  v1::MasterMessage refusal;
  refusal.mutable_shutdown()->set_reason("agent a1 names slot 0 twice");
  master_.Send(refusal);
  EXPECT_EQ(Wait().code, 1);
  EXPECT_NE(errors().find("resolute-agent: the master ended this agent: agent a1 names slot 0 "
                          "twice\n"),
            std::string::npos)
      << errors();
}

TEST_F(MainTest, MissingTokenFile) {
  const std::string path = dir_->path() + "/none";
  Run({"--master", master_.url(), "--token-file", path});
  EXPECT_EQ(Wait().code, 1);
  EXPECT_NE(errors().find(path), std::string::npos) << errors();
}

TEST_F(MainTest, WrongFlag) {
  Run({"--nonsense"});
  EXPECT_EQ(Wait().code, 2);
}

TEST_F(MainTest, Version) {
  Run({"--version"});
  EXPECT_EQ(Wait().code, 0);
  EXPECT_EQ(base::ReadFile(dir_->path() + "/stdout").value_or("").rfind("resolute-agent ", 0), 0u);
}

}  // namespace
}  // namespace det::agent
