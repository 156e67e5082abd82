#include "agent/driver/driver_contract.h"

#include <gmock/gmock.h>

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
  ASSERT_TRUE(UntilOutput(a_));
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

TEST_P(DriverContract, OutputEndsOnce) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->SaysHelloAndExits3()));
  ASSERT_TRUE(harness_->Until(a_, [](const Record& record) { return record.output_ended; }));
  EXPECT_TRUE(Get(a_).exited());
  EXPECT_EQ(Get(a_).lines.at(0).sequence, 1);
}

TEST_P(DriverContract, TasksOutliveTheDriver) {
  TaskSpec spec = harness_->Spec("1.1.0", harness_->IgnoresTermination());
  spec.slots = {2, 3};
  harness_->driver().Start(spec);
  harness_->driver().Start(harness_->Spec("1.2.0", harness_->RunsForEver()));
  ASSERT_TRUE(UntilOutput(a_));
  ASSERT_TRUE(UntilStarted(b_));
  const Record before = Get(a_);

  const std::vector<RunningTask> expected = {{a_, {2, 3}}, {b_, {}}};
  EXPECT_THAT(Restart(), testing::UnorderedElementsAreArray(expected));
  ASSERT_TRUE(UntilStarted(a_));
  ASSERT_TRUE(UntilOutput(a_));
  EXPECT_EQ(Get(a_).pid, before.pid);
  EXPECT_EQ(Get(a_).lines.at(0), before.lines.at(0)) << "what is told again is the same";

  harness_->driver().Signal(a_, StopSignal::kKill);
  harness_->driver().Signal(b_, StopSignal::kTerminate);
  ASSERT_TRUE(UntilExited(a_));
  ASSERT_TRUE(UntilExited(b_));
  EXPECT_EQ(Get(a_).exit.exit_code, 137);
  EXPECT_EQ(Get(b_).exit.exit_code, 143);
}

TEST_P(DriverContract, LinesThatWereDeliveredAreNotToldAgain) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->IgnoresTermination()));
  ASSERT_TRUE(UntilOutput(a_));
  harness_->driver().Delivered(a_, 1);
  ASSERT_EQ(Restart().size(), 1u);
  harness_->driver().Signal(a_, StopSignal::kKill);
  ASSERT_TRUE(UntilExited(a_));
  EXPECT_EQ(Get(a_).calls, (std::vector<std::string>{"started", "exited"}));
}

TEST_P(DriverContract, AnEndIsToldAgainUntilItIsForgotten) {
  harness_->driver().Start(harness_->Spec("1.1.0", harness_->SaysHelloAndExits3()));
  const auto ended = [](const Record& record) { return record.output_ended; };
  ASSERT_TRUE(harness_->Until(a_, ended));
  ASSERT_EQ(Restart().size(), 1u);
  ASSERT_TRUE(harness_->Until(a_, ended));
  EXPECT_EQ(Get(a_).calls, (std::vector<std::string>{"started", "output", "exited"}));
  EXPECT_EQ(Get(a_).exit, (TaskExit{.exit_code = 3}));
  harness_->driver().Forget(a_);
  EXPECT_TRUE(Restart().empty());
}

}  // namespace det::agent
