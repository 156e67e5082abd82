#include "agent/driver/driver_contract.h"

namespace det::agent {

// Instantiated by each implementation's test; a program without one is told so.
TEST_P(DriverContract, TellsStartOutputAndExitInOrder) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->SaysHelloAndExits3()));
  ASSERT_TRUE(UntilExited(a_));
  EXPECT_EQ(Get(a_).calls, (std::vector<std::string>{"started", "output", "exited"}));
  EXPECT_EQ(Get(a_).exit, (TaskExit{.exit_code = 3}));
  ASSERT_EQ(Get(a_).lines.size(), 1u);
  EXPECT_EQ(Get(a_).lines[0].text, "hello");
  EXPECT_EQ(Get(a_).lines[0].stdtype, "stdout");
  EXPECT_GT(Get(a_).pid, 0);
}

TEST_P(DriverContract, AFailedStartIsAnExitWithAReason) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->CannotStart()));
  ASSERT_TRUE(UntilExited(a_));
  EXPECT_EQ(Get(a_).calls, std::vector<std::string>{"exited"});
  EXPECT_TRUE(Get(a_).exit.start_failed);
  EXPECT_FALSE(Get(a_).exit.message.empty());
}

TEST_P(DriverContract, Terminates) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->RunsForEver()));
  ASSERT_TRUE(UntilStarted(a_));
  harness_->driver().Signal(a_, StopSignal::kTerminate);
  ASSERT_TRUE(UntilExited(a_));
  EXPECT_EQ(Get(a_).exit.exit_code, 143);
  EXPECT_EQ(Get(a_).exit.signal, 15);
}

TEST_P(DriverContract, KillsWhatIgnoresTermination) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->IgnoresTermination()));
  ASSERT_TRUE(harness_->Until(a_, [](const Record& record) { return !record.lines.empty(); }));
  harness_->driver().Signal(a_, StopSignal::kTerminate);
  harness_->driver().Signal(a_, StopSignal::kKill);
  ASSERT_TRUE(UntilExited(a_));
  EXPECT_EQ(Get(a_).exit.exit_code, 137);
  EXPECT_EQ(Get(a_).exit.signal, 9);
}

TEST_P(DriverContract, StopsATaskThatHasJustBeenOrdered) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->RunsForEver()));
  harness_->driver().Signal(a_, StopSignal::kKill);
  ASSERT_TRUE(UntilExited(a_));
  EXPECT_EQ(Get(a_).exit.exit_code, 137);
  EXPECT_FALSE(Get(a_).exit.start_failed);
}

TEST_P(DriverContract, ASignalToNobodyIsNothing) {
  harness_->driver().Signal(a_, StopSignal::kKill);
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->SaysHelloAndExits3()));
  ASSERT_TRUE(UntilExited(a_));
  harness_->driver().Signal(a_, StopSignal::kKill);
  EXPECT_EQ(Get(a_).exit.exit_code, 3);
}

TEST_P(DriverContract, TasksDoNotTouchEachOther) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->RunsForEver()));
  harness_->driver().Start(harness_->Spec("1.2.0", harness_->RunsForEver()));
  ASSERT_TRUE(UntilStarted(a_));
  ASSERT_TRUE(UntilStarted(b_));
  harness_->driver().Signal(a_, StopSignal::kKill);
  ASSERT_TRUE(UntilExited(a_));
  EXPECT_FALSE(Get(b_).exited());
}

TEST_P(DriverContract, ItsEndEndsAllTasks) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->RunsForEver()));
  harness_->driver().Start(harness_->Spec("1.2.0", harness_->IgnoresTermination()));
  ASSERT_TRUE(UntilStarted(a_));
  ASSERT_TRUE(UntilStarted(b_));
  harness_->DestroyDriver();
  EXPECT_TRUE(Get(a_).exited());
  EXPECT_TRUE(Get(b_).exited());
}

}  // namespace det::agent
