#include "agent/driver/driver_contract.h"

#include <gmock/gmock.h>

namespace det::agent {

// The test of each implementation instantiates this suite.
TEST_P(DriverContract, ReportsStartOutputAndExitInOrder) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->PrintHelloAndExit3()));
  ASSERT_TRUE(WaitUntilExited(a_));
  EXPECT_EQ(Get(a_).calls, (std::vector<std::string>{"started", "output", "exited"}));
  EXPECT_EQ(Get(a_).exit, (TaskExit{.exit_code = 3}));
  ASSERT_EQ(Get(a_).lines.size(), 1u);
  EXPECT_EQ(Get(a_).lines[0].text, "hello");
  EXPECT_EQ(Get(a_).lines[0].stdtype, "stdout");
  EXPECT_GT(Get(a_).pid, 0);
}

TEST_P(DriverContract, ReportsExitWithReason_WhenStartFails) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->CannotStart()));
  ASSERT_TRUE(WaitUntilExited(a_));
  EXPECT_EQ(Get(a_).calls, std::vector<std::string>{"exited"});
  EXPECT_TRUE(Get(a_).exit.start_failed);
  EXPECT_FALSE(Get(a_).exit.message.empty());
}

TEST_P(DriverContract, TerminatesTask) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->RunForever()));
  ASSERT_TRUE(WaitUntilStarted(a_));
  harness_->driver().Signal(a_, StopSignal::kTerminate);
  ASSERT_TRUE(WaitUntilExited(a_));
  EXPECT_EQ(Get(a_).exit.exit_code, 143);
  EXPECT_EQ(Get(a_).exit.signal, 15);
}

TEST_P(DriverContract, KillsTaskThatIgnoresTermination) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->PrintHelloAndIgnoreSigterm()));
  ASSERT_TRUE(WaitUntilOutput(a_));
  harness_->driver().Signal(a_, StopSignal::kTerminate);
  harness_->driver().Signal(a_, StopSignal::kKill);
  ASSERT_TRUE(WaitUntilExited(a_));
  EXPECT_EQ(Get(a_).exit.exit_code, 137);
  EXPECT_EQ(Get(a_).exit.signal, 9);
}

TEST_P(DriverContract, StopsTaskThatIsStarting) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->RunForever()));
  harness_->driver().Signal(a_, StopSignal::kKill);
  ASSERT_TRUE(WaitUntilExited(a_));
  EXPECT_EQ(Get(a_).exit.exit_code, 137);
  EXPECT_FALSE(Get(a_).exit.start_failed);
}

TEST_P(DriverContract, IgnoresSignal_WhenTaskIsNotRunning) {
  harness_->driver().Signal(a_, StopSignal::kKill);
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->PrintHelloAndExit3()));
  ASSERT_TRUE(WaitUntilExited(a_));
  harness_->driver().Signal(a_, StopSignal::kKill);
  EXPECT_EQ(Get(a_).exit.exit_code, 3);
}

TEST_P(DriverContract, SignalsOnlyTheNamedTask) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->RunForever()));
  harness_->driver().Start(harness_->Spec("1.2.0", harness_->RunForever()));
  ASSERT_TRUE(WaitUntilStarted(a_));
  ASSERT_TRUE(WaitUntilStarted(b_));
  harness_->driver().Signal(a_, StopSignal::kKill);
  ASSERT_TRUE(WaitUntilExited(a_));
  EXPECT_FALSE(Get(b_).exited());
}

TEST_P(DriverContract, ReportsEndOfOutputOnce) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->PrintHelloAndExit3()));
  ASSERT_TRUE(harness_->WaitUntil(a_, [](const Record& record) { return record.output_ended; }));
  EXPECT_TRUE(Get(a_).exited());
  EXPECT_EQ(Get(a_).lines.at(0).sequence, 1);
}

TEST_P(DriverContract, NextDriverReattachesToTasks) {
  TaskSpec spec = harness_->Spec("1.1.0", harness_->PrintHelloAndIgnoreSigterm());
  spec.slots = {2, 3};
  harness_->driver().Start(spec);
  harness_->driver().Start(harness_->Spec("1.2.0", harness_->RunForever()));
  ASSERT_TRUE(WaitUntilOutput(a_));
  ASSERT_TRUE(WaitUntilStarted(b_));
  const Record before = Get(a_);

  const std::vector<RunningTask> expected = {{a_, {2, 3}}, {b_, {}}};
  EXPECT_THAT(Restart(), testing::UnorderedElementsAreArray(expected));
  ASSERT_TRUE(WaitUntilStarted(a_));
  ASSERT_TRUE(WaitUntilOutput(a_));
  EXPECT_EQ(Get(a_).pid, before.pid);
  EXPECT_EQ(Get(a_).lines.at(0), before.lines.at(0))
      << "lines that are delivered again are the same";

  harness_->driver().Signal(a_, StopSignal::kKill);
  harness_->driver().Signal(b_, StopSignal::kTerminate);
  ASSERT_TRUE(WaitUntilExited(a_));
  ASSERT_TRUE(WaitUntilExited(b_));
  EXPECT_EQ(Get(a_).exit.exit_code, 137);
  EXPECT_EQ(Get(b_).exit.exit_code, 143);
}

TEST_P(DriverContract, DoesNotRepeatDeliveredLines) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->PrintHelloAndIgnoreSigterm()));
  ASSERT_TRUE(WaitUntilOutput(a_));
  harness_->driver().Delivered(a_, 1);
  ASSERT_EQ(Restart().size(), 1u);
  harness_->driver().Signal(a_, StopSignal::kKill);
  ASSERT_TRUE(WaitUntilExited(a_));
  EXPECT_EQ(Get(a_).calls, (std::vector<std::string>{"started", "exited"}));
}

TEST_P(DriverContract, RepeatsExitUntilTaskIsForgotten) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->PrintHelloAndExit3()));
  const auto ended = [](const Record& record) { return record.output_ended; };
  ASSERT_TRUE(harness_->WaitUntil(a_, ended));
  ASSERT_EQ(Restart().size(), 1u);
  ASSERT_TRUE(harness_->WaitUntil(a_, ended));
  EXPECT_EQ(Get(a_).calls, (std::vector<std::string>{"started", "output", "exited"}));
  EXPECT_EQ(Get(a_).exit, (TaskExit{.exit_code = 3}));
  harness_->driver().Forget(a_);
  EXPECT_TRUE(Restart().empty());
}

}  // namespace det::agent
