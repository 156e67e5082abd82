#include "trial_api/cpp/launch/children.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/launch/rank_environment.h"

namespace det::launch {
namespace {

Child Shell(const std::string& script, const std::string& prefix = "") {
  Child child;
  child.argv = {"/bin/sh", "-c", script};
  child.env = CurrentEnvironment();
  child.line_prefix = prefix;
  return child;
}

class ChildrenTest : public testing::Test {
 protected:
  Signals signals_;
};

TEST_F(ChildrenTest, CopiesOutputWithPrefixes) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Outcome outcome =
      RunChildren({Shell("echo a; printf b", "[0] "), Shell("echo c >&2", "[1] ")}, signals_);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[0] a\n[0] b\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[1] c\n");
  EXPECT_FALSE(outcome.failed.has_value());
}

TEST_F(ChildrenTest, StopsOthers_WhenOneFails) {
  const Outcome outcome =
      RunChildren({Shell("exec sleep 600"), Shell("exit 3"), Shell("exec sleep 600")}, signals_);
  EXPECT_EQ(outcome.failed, 1u);
  EXPECT_EQ(outcome.exit, (base::ProcessExit{3, 0}));
}

TEST_F(ChildrenTest, ReportsKilledProcessAsCause) {
  const Outcome outcome = RunChildren({Shell("exec sleep 600"), Shell("kill -9 $$")}, signals_);
  EXPECT_EQ(outcome.failed, 1u);
  EXPECT_EQ(outcome.exit.signal, SIGKILL);
}

// The first process is reaped before the second one ends.
TEST_F(ChildrenTest, ReportsFailureBeforePeerGone) {
  const base::TempDir dir = *base::TempDir::Create("det-children");
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Outcome outcome = RunChildren(
      {Shell("echo $$ > " + fifo + "; exit " + std::to_string(kPeerGoneExit)),
       Shell("read pid < " + fifo + "; while kill -0 $pid 2>/dev/null; do :; done; exit 3")},
      signals_);
  EXPECT_EQ(outcome.failed, 1u);
  EXPECT_EQ(outcome.exit, (base::ProcessExit{3, 0}));
}

TEST_F(ChildrenTest, ReportsFirstProcess_WhenAllLostPeers) {
  const Outcome outcome = RunChildren(
      {Shell("exec sleep 600"), Shell("exit " + std::to_string(kPeerGoneExit))}, signals_);
  EXPECT_EQ(outcome.failed, 1u);
  EXPECT_EQ(outcome.exit, (base::ProcessExit{kPeerGoneExit, 0}));
}

TEST_F(ChildrenTest, KillsProcessThatIgnoresSigterm) {
  const Outcome outcome =
      RunChildren({Shell("trap '' TERM; while true; do sleep 0.01; done"), Shell("exit 1")},
                  signals_, std::chrono::milliseconds(20));
  EXPECT_EQ(outcome.failed, 1u);
}

TEST_F(ChildrenTest, DoesNotWaitForGrandchildWithOpenPipes) {
  testing::internal::CaptureStdout();
  RunChildren({Shell("sleep 600 & echo $!")}, signals_);
  const pid_t grandchild = std::stoi(testing::internal::GetCapturedStdout());
  EXPECT_EQ(::kill(grandchild, SIGKILL), 0);
}

TEST_F(ChildrenTest, ForwardsStopSignal) {
  Child child = Shell("trap 'exit 0' TERM; echo ready >&2; while true; do sleep 0.01; done");
  child.stderr_listener = [](std::string_view) { ::kill(::getpid(), SIGTERM); };
  const Outcome outcome = RunChildren({child}, signals_);
  EXPECT_EQ(outcome.stop_signal, SIGTERM);
  EXPECT_FALSE(outcome.failed.has_value());
}

TEST_F(ChildrenTest, NamesMissingProgram) {
  Child child = Shell("");
  child.argv = {"/no/such/program"};
  try {
    RunChildren({Shell("exec sleep 600"), child}, signals_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("/no/such/program"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace det::launch
