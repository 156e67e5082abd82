#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/experiment/allocation.h"
#include "master/core/experiment/state_machines_text.h"
#include "master/core/experiment/trial.h"

namespace det::experiment {
namespace {

using model::AgentId;
using model::AllocationState;
using model::ExitReason;
using model::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1000);

Allocation Running() {
  Allocation a;
  a.id = model::AllocationId("1.1.0");
  a.slots = 2;
  Assign(a, {{AgentId("a"), {0}}, {AgentId("b"), {1}}}, kNow);
  OnLocalTaskStarted(a, AgentId("a"));
  OnLocalTaskStarted(a, AgentId("b"));
  return a;
}

TEST(StateMachinesTest, GeneratesCommittedPage) {
  const auto page = base::ReadFile("docs/state_machines.md");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, StateMachinesText())
      << "run: bazel run //tools:state_machines_doc > docs/state_machines.md";
}

TEST(AllocationTest, RunsWhenAllLocalTasksStarted) {
  Allocation a;
  EXPECT_TRUE(Assign(a, {{AgentId("a"), {0}}, {AgentId("b"), {0}}}, kNow).start_local_tasks);
  EXPECT_FALSE(OnLocalTaskStarted(a, AgentId("a")).announce);
  EXPECT_EQ(a.state, AllocationState::kAssigned);
  EXPECT_TRUE(OnLocalTaskStarted(a, AgentId("b")).announce);
  EXPECT_EQ(a.state, AllocationState::kRunning);
  EXPECT_FALSE(OnLocalTaskStarted(a, AgentId("b")).announce) << "repeated";
}

TEST(AllocationTest, ReportsFirstFailure) {
  Allocation a = Running();
  const auto actions = OnLocalTaskExited(a, AgentId("b"), {.signal = 11, .message = ""}, kNow);
  EXPECT_THAT(actions.stop, ElementsAre(AgentId("a")));
  EXPECT_TRUE(
      OnLocalTaskExited(a, AgentId("a"), {.exit_code = 143, .message = ""}, kNow).terminated);
  EXPECT_EQ(a.exit_reason, ExitReason::kFailed);
  EXPECT_THAT(a.exit_message, HasSubstr("on b was killed by signal 11 (SIGSEGV)"));
}

TEST(AllocationTest, PrefersReportedMessageToExitCode) {
  Allocation a = Running();
  a.reported_message = "rank 1 failed: killed by SIGKILL";
  OnLocalTaskExited(a, AgentId("a"), {.exit_code = 137, .message = ""}, kNow);
  OnLocalTaskExited(a, AgentId("b"), {.exit_code = 143, .message = ""}, kNow);
  EXPECT_EQ(a.exit_reason, ExitReason::kFailed);
  EXPECT_EQ(a.exit_message, "rank 1 failed: killed by SIGKILL");
  EXPECT_EQ(a.exit_code, 137);
}

struct ExitCase {
  const char* name;
  bool preempt;
  bool ack;
  int code;
  ExitReason want;
};

TEST(AllocationTest, ReportsPreemptionOnlyWhenAcknowledged) {
  for (const ExitCase& c :
       {ExitCase{"finished", false, false, 0, ExitReason::kFinished},
        ExitCase{"finished meanwhile", true, false, 0, ExitReason::kFinished},
        ExitCase{"preempted", true, true, 0, ExitReason::kPreempted},
        ExitCase{"preempted, non-zero", true, true, 1, ExitReason::kPreempted},
        ExitCase{"failed before the acknowledgement", true, false, 1, ExitReason::kFailed},
        ExitCase{"failed", false, false, 1, ExitReason::kFailed}}) {
    Allocation a = Running();
    if (c.preempt) Preempt(a, "pause", absl::Seconds(10), kNow);
    if (c.ack) {
      EXPECT_TRUE(AckPreemption(a));
    }
    OnLocalTaskExited(a, AgentId("a"), {.exit_code = c.code, .message = ""}, kNow);
    OnLocalTaskExited(a, AgentId("b"), {.exit_code = 0, .message = ""}, kNow);
    EXPECT_EQ(a.state, AllocationState::kTerminated) << c.name;
    EXPECT_EQ(a.exit_reason, c.want) << c.name;
  }
}

TEST(AllocationTest, ReportsLostNode_WhenMachineRestarted) {
  Allocation a = Running();
  OnLocalTaskExited(
      a, AgentId("a"),
      {.exit_code = 137, .signal = 9, .message = "the machine restarted", .system_failure = true},
      kNow);
  OnLocalTaskExited(a, AgentId("b"), {.exit_code = 143, .message = ""}, kNow);
  EXPECT_EQ(a.exit_reason, ExitReason::kNodeLost);
  EXPECT_EQ(a.exit_message, "the machine restarted (on a)");
}

TEST(AllocationTest, Stops_WhateverExitCode) {
  Allocation a = Running();
  EXPECT_THAT(Stop(a, absl::Seconds(1), kNow).stop, ElementsAre(AgentId("a"), AgentId("b")));
  EXPECT_TRUE(Stop(a, absl::Seconds(1), kNow).stop.empty()) << "twice";
  OnLocalTaskExited(a, AgentId("a"), {.exit_code = 143, .message = ""}, kNow);
  OnLocalTaskExited(a, AgentId("b"), {.exit_code = 0, .message = ""}, kNow);
  EXPECT_EQ(a.exit_reason, ExitReason::kStopped);
}

Trial InState(TrialState state) {
  Trial trial;
  trial.state = state;
  return trial;
}

struct EndCase {
  const char* name;
  std::optional<TrialState> end_as;
  ExitReason reason;
  int restarts;
  TrialState want;
  bool new_attempt;
};

TEST(TrialTest, MovesToNextStateAfterRun) {
  const EndCase cases[] = {
      {"finished", {}, ExitReason::kFinished, 0, TrialState::kCompleted, false},
      {"failed", {}, ExitReason::kFailed, 0, TrialState::kQueued, true},
      {"failed too often", {}, ExitReason::kFailed, 2, TrialState::kError, false},
      {"node lost is free", {}, ExitReason::kNodeLost, 2, TrialState::kQueued, true},
      {"preempted is free", {}, ExitReason::kPreempted, 2, TrialState::kQueued, true},
      {"invalid code", {}, ExitReason::kInvalidCode, 0, TrialState::kError, false},
      {"invalid hp", {}, ExitReason::kInvalidHp, 0, TrialState::kError, false},
      {"paused", TrialState::kPaused, ExitReason::kPreempted, 0, TrialState::kPaused, false},
      {"paused, failed", TrialState::kPaused, ExitReason::kFailed, 0, TrialState::kPaused, false},
      {"paused, done", TrialState::kPaused, ExitReason::kFinished, 0, TrialState::kCompleted,
       false},
      {"activated again", TrialState::kQueued, ExitReason::kPreempted, 0, TrialState::kQueued,
       true},
      {"canceled", TrialState::kCanceled, ExitReason::kPreempted, 0, TrialState::kCanceled, false},
      {"canceled, failed", TrialState::kCanceled, ExitReason::kFailed, 0, TrialState::kCanceled,
       false},
      {"seen enough", TrialState::kCompleted, ExitReason::kPreempted, 0, TrialState::kCompleted,
       false},
      {"seen enough, killed", TrialState::kCompleted, ExitReason::kStopped, 0,
       TrialState::kCompleted, false},
  };
  for (const EndCase& c : cases) {
    Trial trial = InState(c.end_as ? TrialState::kStopping : TrialState::kRunning);
    trial.end_as = c.end_as;
    trial.restarts = c.restarts;
    const TrialActions actions = OnAttemptEnded(trial, c.reason, "why", 2, kNow);
    EXPECT_EQ(trial.state, c.want) << c.name;
    EXPECT_EQ(actions.new_attempt, c.new_attempt) << c.name;
    EXPECT_EQ(actions.ended, model::IsTerminal(c.want)) << c.name;
    if (c.new_attempt || c.want == TrialState::kPaused) {
      EXPECT_EQ(trial.run_id, 1) << c.name;
    }
  }
}

TEST(TrialTest, HasTaskForEachContinuation) {
  Trial trial = InState(TrialState::kCompleted);
  trial.task = model::TaskId("3.7");
  trial.run_id = 1;
  EXPECT_TRUE(Continue(trial).new_attempt);
  EXPECT_FALSE(Continue(trial).changed) << "it has not ended";
  trial.run_id = 4;  // after two restarts
  trial.state = TrialState::kError;
  Continue(trial);
  EXPECT_THAT(trial.continued_runs, ::testing::ElementsAre(2, 5));
  const auto task_of = [&](int run) { return GetTask(trial, GetTaskNumber(trial, run)).value(); };
  EXPECT_EQ(task_of(1), "3.7");
  EXPECT_EQ(task_of(2), "3.7-1");
  EXPECT_EQ(task_of(4), "3.7-1");
  EXPECT_EQ(task_of(5), "3.7-2");
}

TEST(TrialTest, ResumesHeldTrialOnlyBySearcher) {
  Trial trial = InState(TrialState::kRunning);
  EXPECT_EQ(Hold(trial, kNow).release, TrialActions::Release::kPreempt);
  EXPECT_FALSE(Hold(trial, kNow).changed) << "twice";
  OnAttemptEnded(trial, ExitReason::kPreempted, "", 2, kNow);
  EXPECT_EQ(trial.state, TrialState::kPaused);
  EXPECT_TRUE(trial.held);
  EXPECT_FALSE(Pause(trial, kNow).changed);
  EXPECT_FALSE(Activate(trial).changed);
  EXPECT_TRUE(Resume(trial, true).new_attempt);
  EXPECT_EQ(trial.state, TrialState::kQueued);
  EXPECT_FALSE(trial.held);
  EXPECT_FALSE(Resume(trial, true).changed) << "twice";
}

TEST(TrialTest, HoldsQueuedTrialImmediately) {
  Trial trial = InState(TrialState::kQueued);
  EXPECT_EQ(Hold(trial, kNow).release, TrialActions::Release::kStop);
  EXPECT_EQ(trial.state, TrialState::kPaused);
  EXPECT_TRUE(trial.held);
}

TEST(TrialTest, ResumesHeldTrialOfPausedExperiment_WhenBothAllow) {
  Trial trial = InState(TrialState::kPaused);
  EXPECT_TRUE(Hold(trial, kNow).changed);
  EXPECT_TRUE(Resume(trial, false).changed);
  EXPECT_EQ(trial.state, TrialState::kPaused);
  EXPECT_TRUE(Activate(trial).new_attempt);
}

TEST(TrialTest, RunsAgain_WhenResumedWhileStopping) {
  Trial trial = InState(TrialState::kRunning);
  Hold(trial, kNow);
  EXPECT_TRUE(Resume(trial, true).changed);
  EXPECT_EQ(trial.end_as, TrialState::kQueued);
  EXPECT_TRUE(Hold(trial, kNow).changed) << "held again while it is still stopping";
  EXPECT_TRUE(Resume(trial, true).changed);
  EXPECT_TRUE(OnAttemptEnded(trial, ExitReason::kPreempted, "", 2, kNow).new_attempt);
}

TEST(TrialTest, WaitsForParentCheckpoint) {
  Trial child = InState(TrialState::kPaused);
  child.waits_for = model::TrialId(7);
  EXPECT_FALSE(Activate(child).changed);
  EXPECT_TRUE(Hold(child, kNow).changed);
  EXPECT_FALSE(Resume(child, true).new_attempt);
  EXPECT_TRUE(OnParentSaved(child, model::CheckpointId("c"), true).new_attempt);
  EXPECT_EQ(child.state, TrialState::kQueued);
  EXPECT_EQ(child.warm_start, model::CheckpointId("c"));
  EXPECT_FALSE(OnParentSaved(child, std::nullopt, true).changed) << "once";
}

TEST(TrialTest, EndsHeldTrial) {
  const auto held = [] {
    Trial trial = InState(TrialState::kRunning);
    Hold(trial, kNow);
    return trial;
  };
  Trial fails = held();
  OnAttemptEnded(fails, ExitReason::kFailed, "why", 2, kNow);
  EXPECT_EQ(fails.state, TrialState::kPaused);
  EXPECT_EQ(fails.restarts, 1);
  EXPECT_TRUE(fails.held);
  Trial finishes = held();
  OnAttemptEnded(finishes, ExitReason::kFinished, "", 2, kNow);
  EXPECT_EQ(finishes.state, TrialState::kCompleted);
  EXPECT_FALSE(finishes.held);
  Trial stops = held();
  EXPECT_TRUE(Finish(stops, TrialState::kCompleted, kNow).changed);
  EXPECT_FALSE(stops.held);
  EXPECT_TRUE(OnAttemptEnded(stops, ExitReason::kPreempted, "", 2, kNow).ended);
  Trial rests = held();
  OnAttemptEnded(rests, ExitReason::kPreempted, "", 2, kNow);
  Trial killed = rests;
  EXPECT_TRUE(Finish(rests, TrialState::kCompleted, kNow).ended);
  EXPECT_EQ(rests.state, TrialState::kCompleted);
  EXPECT_TRUE(Kill(killed, kNow).ended);
  EXPECT_EQ(killed.state, TrialState::kCanceled);
  EXPECT_FALSE(Hold(killed, kNow).changed);
}

TEST(TrialTest, IgnoresRepeatedRequests) {
  Trial trial = InState(TrialState::kRunning);
  EXPECT_EQ(Pause(trial, kNow).release, TrialActions::Release::kPreempt);
  EXPECT_FALSE(Pause(trial, kNow).changed);
  EXPECT_TRUE(Activate(trial).changed);
  EXPECT_TRUE(Pause(trial, kNow).changed);
  EXPECT_EQ(Kill(trial, kNow).release, TrialActions::Release::kStop);
  EXPECT_EQ(trial.end_as, TrialState::kCanceled);
  EXPECT_FALSE(Pause(trial, kNow).changed) << "no request replaces a cancel";
  for (const TrialState state :
       {TrialState::kCompleted, TrialState::kCanceled, TrialState::kError}) {
    Trial over = InState(state);
    EXPECT_FALSE(Pause(over, kNow).changed);
    EXPECT_FALSE(Activate(over).changed);
    EXPECT_FALSE(Kill(over, kNow).ended);
    EXPECT_FALSE(OnAttemptEnded(over, ExitReason::kFailed, "late", 2, kNow).new_attempt);
    EXPECT_EQ(over.state, state);
  }
}

}  // namespace
}  // namespace det::experiment
