#include "agent/core/supervisor.h"

#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>

#include "base/rng.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);
const AllocationId kA("1.1.0");
const AllocationId kB("2.2.0");
const AllocationId kC("3.3.0");

TaskSpec Spec(const AllocationId& id, std::vector<int> slots = {0, 1}) {
  TaskSpec spec;
  spec.allocation = id;
  spec.slots = std::move(slots);
  spec.argv = {"true"};
  return spec;
}

TaskSpec Part(const AllocationId& id, double fraction) {
  TaskSpec spec = Spec(id, {0});
  spec.fraction = fraction;
  return spec;
}

absl::Time At(double seconds) { return kStart + absl::Seconds(seconds); }

// Returns the actions as text, so that a test reads like a transcript.
std::string Show(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    if (!text.empty()) text += "; ";
    if (const auto* start = std::get_if<StartProcess>(&action)) {
      text += "start " + start->spec.allocation.value();
    } else if (const auto* signal = std::get_if<SignalProcess>(&action)) {
      text += (signal->signal == StopSignal::kKill ? "kill " : "terminate ") +
              signal->allocation.value();
    } else if (const auto* flush = std::get_if<FlushLogs>(&action)) {
      text += "flush " + flush->allocation.value();
    } else if (const auto* forget = std::get_if<ForgetTask>(&action)) {
      text += "forget " + forget->allocation.value();
    } else {
      const Report& report = std::get<SendReport>(action).report;
      text += "#" + std::to_string(report.sequence) + " " + report.allocation.value();
      if (const auto* exit = std::get_if<TaskExit>(&report.event)) {
        text += " exited " + std::to_string(exit->exit_code);
        if (!exit->message.empty()) text += " (" + exit->message + ")";
      } else {
        text += " started " + std::to_string(std::get<TaskStart>(report.event).pid);
      }
    }
  }
  return text;
}

struct Step {
  double at;
  Event event;
  std::string actions;
};

struct Sequence {
  std::string name;
  std::vector<Step> steps;
};

class SupervisorSequenceTest : public testing::TestWithParam<Sequence> {};

TEST_P(SupervisorSequenceTest, ReturnsExpectedActions) {
  Supervisor supervisor;
  for (size_t i = 0; i < GetParam().steps.size(); ++i) {
    const Step& step = GetParam().steps[i];
    EXPECT_EQ(Show(supervisor.Apply(step.event, At(step.at))), step.actions) << "step " << i;
  }
}

const TaskExit kOk{.exit_code = 0};
const TaskExit kKilled{.exit_code = 137, .signal = 9};

INSTANTIATE_TEST_SUITE_P(
    All, SupervisorSequenceTest,
    testing::Values(
        Sequence{"ReportsStartAndExit",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {2, TaskExited{kA, kOk}, "flush 1.1.0"},
                  {3, LogsPosted{kA}, "#2 1.1.0 exited 0"},
                  {4, AckReports{1}, ""},
                  {4, AckReports{2}, "forget 1.1.0"},
                  {4, AckReports{2}, ""},
                  {5, StopTask{kA, absl::Seconds(1)}, "#3 1.1.0 exited 0"},
                  {5, AckReports{3}, ""},
                  {5, LogsPosted{kA}, ""}}},
        Sequence{"ReattachesToRunningTask",
                 {{0, TaskAdopted{kA, {0, 1}}, ""},
                  {0, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {1, StartTask{Spec(kA)}, "#1 1.1.0 started 42"},
                  {1, StartTask{Spec(kB, {1})}, ""},
                  {2, StopTask{kA, absl::ZeroDuration()}, "kill 1.1.0"},
                  {3, TaskExited{kA, kKilled}, "flush 1.1.0; start 2.2.0"},
                  {4, LogsPosted{kA}, "#2 1.1.0 exited 137"},
                  {5, AckReports{2}, "forget 1.1.0"}}},
        Sequence{"SharesSlot_WhenFractionsFit",
                 {{0, TaskAdopted{kA, {0}, 0.5}, ""},
                  {0, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {1, StartTask{Part(kB, 0.5)}, "start 2.2.0"},
                  {2, StartTask{Part(kC, 0.2)}, ""},
                  {3, TaskExited{kA, kOk}, "flush 1.1.0; start 3.3.0"},
                  {4, LogsPosted{kA}, "#2 1.1.0 exited 0"},
                  {5, StartTask{Spec(AllocationId("4.4.0"), {0})}, ""},
                  // This task would fit, but an earlier one waits for the whole slot.
                  {6, StartTask{Part(AllocationId("5.5.0"), 0.3)}, ""}}},
        Sequence{"ReportsExitOfReattachedTask",
                 {{0, TaskAdopted{kA, {0}}, ""},
                  {0, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {0, TaskExited{kA, kOk}, "flush 1.1.0"},
                  {1, LogsPosted{kA}, "#2 1.1.0 exited 0"},
                  {2, AckReports{2}, "forget 1.1.0"}}},
        Sequence{"ForgetsTask_WhenLogsAreStored",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, TaskExited{kA, kOk}, "flush 1.1.0"},
                  {11, Tick{}, "#1 1.1.0 exited 0"},
                  {12, AckReports{1}, ""},
                  {99, LogsPosted{kA}, "forget 1.1.0"}}},
        Sequence{"ReportsExitWithoutLogs_AfterTimeout",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {2, TaskExited{kA, kOk}, "flush 1.1.0"},
                  {11.9, Tick{}, ""},
                  {12, Tick{}, "#2 1.1.0 exited 0"},
                  {13, LogsPosted{kA}, ""}}},
        Sequence{"DoesNotStartTwice",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {0, StartTask{Spec(kA)}, ""},
                  {1, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {1, StartTask{Spec(kA)}, "#1 1.1.0 started 42"},
                  {1, AckReports{1}, ""},
                  {1, StartTask{Spec(kA)}, "#2 1.1.0 started 42"},
                  {2, TaskExited{kA, kOk}, "flush 1.1.0"},
                  {2, StartTask{Spec(kA)}, ""},
                  {3, LogsPosted{kA}, "#3 1.1.0 exited 0"},
                  {3, StartTask{Spec(kA)}, "#3 1.1.0 exited 0"},
                  {3, AckReports{3}, "forget 1.1.0"},
                  {3, StartTask{Spec(kA)}, "#4 1.1.0 exited 0"}}},
        Sequence{"ReportsFailedStart",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, TaskExited{kA, {.exit_code = 1, .message = "no", .start_failed = true}},
                   "flush 1.1.0"},
                  {1, LogsPosted{kA}, "#1 1.1.0 exited 1 (no)"}}},
        Sequence{"KillsTask_WhenGracePeriodEnds",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {2, StopTask{kA, absl::Seconds(10)}, "terminate 1.1.0"},
                  {3, StopTask{kA, absl::Seconds(20)}, ""},
                  {11.9, Tick{}, ""},
                  {12, Tick{}, "kill 1.1.0"},
                  {13, Tick{}, ""},
                  {13, StopTask{kA, absl::ZeroDuration()}, ""},
                  {14, TaskExited{kA, kKilled}, "flush 1.1.0"},
                  {14, StopTask{kA, absl::ZeroDuration()}, ""},
                  {14, LogsPosted{kA}, "#2 1.1.0 exited 137"}}},
        Sequence{"LaterStopMayShortenButNotExtendGracePeriod",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {2, StopTask{kA, absl::Seconds(60)}, "terminate 1.1.0"},
                  {3, StopTask{kA, absl::Seconds(1)}, ""},
                  {4, Tick{}, "kill 1.1.0"}}},
        Sequence{"StopsTaskThatIsStarting",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, StopTask{kA, absl::Seconds(10)}, "terminate 1.1.0"},
                  {2, TaskExited{kA, {.exit_code = 143, .signal = 15}}, "flush 1.1.0"},
                  {2, LogsPosted{kA}, "#1 1.1.0 exited 143"}}},
        Sequence{"KillsTask_WhenGracePeriodIsZero",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, StopTask{kA, absl::ZeroDuration()}, "kill 1.1.0"}}},
        Sequence{"ReportsExitOfUnknownTask",
                 {{0, StopTask{kA, absl::Seconds(1)}, "#1 1.1.0 exited 1 (not running here)"},
                  {0, StopTask{kA, absl::Seconds(1)}, "#1 1.1.0 exited 1 (not running here)"},
                  {0, AckReports{1}, ""},
                  {0, StopTask{kA, absl::Seconds(1)}, "#2 1.1.0 exited 1 (not running here)"}}},
        Sequence{"IgnoresLateEventsOfUnknownTasks",
                 {{0, TaskStarted{kA, 1}, ""},
                  {0, TaskExited{kA, kOk}, ""},
                  {0, LogsPosted{kA}, ""},
                  {0, AckReports{7}, ""},
                  {0, Tick{}, ""}}},
        Sequence{"WaitsForSlotsOfStoppingTask",
                 {{0, StartTask{Spec(kA, {0, 1})}, "start 1.1.0"},
                  {1, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {2, StopTask{kA, absl::Seconds(5)}, "terminate 1.1.0"},
                  {2, StartTask{Spec(kB, {1, 2})}, ""},
                  {2, StartTask{Spec(kB, {1, 2})}, ""},
                  {7, Tick{}, "kill 1.1.0"},
                  {8, TaskExited{kA, kKilled}, "flush 1.1.0; start 2.2.0"},
                  {8, LogsPosted{kA}, "#2 1.1.0 exited 137"},
                  {9, TaskStarted{kB, 43}, "#3 2.2.0 started 43"}}},
        Sequence{"WaitsForSlotsOfStartingTask",
                 {{0, StartTask{Spec(kA, {0})}, "start 1.1.0"},
                  {0, StartTask{Spec(kB, {0})}, ""},
                  {1, StopTask{kA, absl::ZeroDuration()}, "kill 1.1.0"},
                  {2, TaskExited{kA, kKilled}, "flush 1.1.0; start 2.2.0"}}},
        Sequence{"DoesNotWaitForOtherSlots",
                 {{0, StartTask{Spec(kA, {0})}, "start 1.1.0"},
                  {0, StartTask{Spec(kB, {1})}, "start 2.2.0"},
                  {0, StartTask{Spec(kC, {})}, "start 3.3.0"}}},
        Sequence{"StartsWaitingTasksInOrder",
                 {{0, StartTask{Spec(kA, {0})}, "start 1.1.0"},
                  {0, StartTask{Spec(kB, {0, 1})}, ""},
                  {0, StartTask{Spec(kC, {1})}, ""},
                  {1, TaskExited{kA, kOk}, "flush 1.1.0; start 2.2.0"},
                  {2, TaskExited{kB, kOk}, "flush 2.2.0; start 3.3.0"}}},
        Sequence{"StopsWaitingTaskAtOnce",
                 {{0, StartTask{Spec(kA, {0})}, "start 1.1.0"},
                  {0, StartTask{Spec(kB, {0, 1})}, ""},
                  {0, StartTask{Spec(kC, {1})}, ""},
                  {1, StopTask{kB, absl::Seconds(9)},
                   "#1 2.2.0 exited 1 (stopped before it started); start 3.3.0"},
                  {2, StartTask{Spec(kB, {0, 1})}, "#1 2.2.0 exited 1 (stopped before it started)"},
                  {3, TaskExited{kA, kOk}, "flush 1.1.0"}}},
        Sequence{"StopAllEndsWaitingTasks",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {0, StartTask{Spec(kB)}, ""},
                  {1, StopAll{absl::Seconds(5)},
                   "#1 2.2.0 exited 1 (stopped before it started); terminate 1.1.0"},
                  {2, TaskExited{kA, kOk}, "flush 1.1.0"}}},
        Sequence{"StopAllStopsTasksAndRejectsNewOnes",
                 {{0, StartTask{Spec(kA)}, "start 1.1.0"},
                  {1, TaskStarted{kA, 42}, "#1 1.1.0 started 42"},
                  {2, StopAll{absl::Seconds(5)}, "terminate 1.1.0"},
                  {3, StartTask{Spec(kB)}, "#2 2.2.0 exited 1 (the agent is stopping)"},
                  {3, StopAll{absl::ZeroDuration()}, "kill 1.1.0"}}}),
    [](const testing::TestParamInfo<Sequence>& info) { return info.param.name; });

TEST(SupervisorTest, ReturnsNextDeadline) {
  Supervisor supervisor;
  EXPECT_EQ(supervisor.NextDeadline(), absl::InfiniteFuture());
  supervisor.Apply(StartTask{Spec(kA)}, At(0));
  EXPECT_EQ(supervisor.NextDeadline(), absl::InfiniteFuture());
  supervisor.Apply(StopTask{kA, absl::Seconds(5)}, At(1));
  EXPECT_EQ(supervisor.NextDeadline(), At(6));
  supervisor.Apply(TaskExited{kA, kOk}, At(2));
  EXPECT_EQ(supervisor.NextDeadline(), At(2) + Supervisor::kLogTimeout);
  EXPECT_FALSE(supervisor.IsIdle());
  supervisor.Apply(LogsPosted{kA}, At(3));
  EXPECT_EQ(supervisor.NextDeadline(), absl::InfiniteFuture());
  EXPECT_TRUE(supervisor.IsIdle());
}

TEST(SupervisorTest, CountsWaitingTasksAsRunning) {
  Supervisor supervisor;
  supervisor.Apply(StartTask{Spec(kA, {0})}, At(0));
  supervisor.Apply(StartTask{Spec(kB, {0})}, At(0));
  const std::vector<RunningTask> running = {{kA, {0}}, {kB, {0}}};
  EXPECT_EQ(supervisor.GetRunningTasks(), running);
  EXPECT_EQ(supervisor.NextDeadline(), absl::InfiniteFuture());
  EXPECT_FALSE(supervisor.IsIdle());
}

TEST(SupervisorTest, CountsTaskAsRunningUntilExitIsAcknowledged) {
  Supervisor supervisor;
  supervisor.Apply(StartTask{Spec(kA)}, At(0));
  const std::vector<RunningTask> running = {{kA, {0, 1}}};
  EXPECT_EQ(supervisor.GetRunningTasks(), running);
  supervisor.Apply(TaskStarted{kA, 42}, At(1));
  supervisor.Apply(TaskExited{kA, kOk}, At(2));
  supervisor.Apply(LogsPosted{kA}, At(2));
  EXPECT_EQ(supervisor.GetRunningTasks(), running);
  EXPECT_EQ(supervisor.unacknowledged().size(), 2u);
  supervisor.Apply(AckReports{2}, At(3));
  EXPECT_TRUE(supervisor.GetRunningTasks().empty());
  EXPECT_TRUE(supervisor.unacknowledged().empty());
}

TEST(SupervisorTest, ForgetsOldestExit) {
  Supervisor supervisor;
  for (size_t i = 0; i <= Supervisor::kMaxRememberedExits; ++i) {
    const AllocationId id(std::to_string(i));
    supervisor.Apply(StartTask{Spec(id)}, At(0));
    supervisor.Apply(TaskExited{id, kOk}, At(0));
    supervisor.Apply(LogsPosted{id}, At(0));
  }
  supervisor.Apply(AckReports{1'000'000}, At(0));
  const auto start = [&](int i) {
    return Show(supervisor.Apply(StartTask{Spec(AllocationId(std::to_string(i)))}, At(1)));
  };
  EXPECT_EQ(start(1), "#1002 1 exited 0");
  EXPECT_EQ(start(0), "start 0");
}

// Random orders, events and lost acknowledgements: each task starts once, no report is lost or
// numbered twice, no slot has two processes, and every task that was ended is reported.
class RandomHistory {
 public:
  explicit RandomHistory(uint64_t seed) : rng_(seed) {}

  void Run() {
    for (int step = 0; step < 300; ++step) Apply(RandomEvent());
    Apply(StopAll{absl::ZeroDuration()});
    for (const AllocationId& id : std::set<AllocationId>(alive_)) Apply(TaskExited{id, kKilled});
    now_ += absl::Minutes(10);
    Apply(Tick{});
    EXPECT_TRUE(alive_.empty()) << "started after StopAll";
    EXPECT_TRUE(supervisor_.IsIdle());
    EXPECT_EQ(supervisor_.NextDeadline(), absl::InfiniteFuture());
    for (const AllocationId& id : started_) EXPECT_TRUE(exited_.contains(id)) << id;
  }

 private:
  AllocationId RandomId() { return AllocationId(std::to_string(rng_.UniformInt(0, 7))); }

  std::vector<int> RandomSlots() {
    std::vector<int> slots;
    for (int slot = 0; slot < 4; ++slot) {
      if (rng_.UniformInt(0, 2) == 0) slots.push_back(slot);
    }
    return slots;
  }

  Event RandomEvent() {
    now_ += absl::Seconds(rng_.Uniform01() * 3);
    switch (rng_.UniformInt(0, 6)) {
      case 0:
        return StartTask{Spec(RandomId(), RandomSlots())};
      case 1:
        return StopTask{RandomId(), absl::Seconds(rng_.UniformInt(0, 5))};
      case 2:
        return AckReports{rng_.UniformInt(0, last_sequence_)};
      case 3:
        return TaskStarted{RandomId(), 1};
      case 4: {
        const AllocationId id = RandomId();
        // A driver reports only tasks that it was asked to start, and each exit once.
        if (!alive_.contains(id)) return Tick{};
        return TaskExited{id, kOk};
      }
      case 5:
        return LogsPosted{RandomId()};
      default:
        return Tick{};
    }
  }

  void Apply(const Event& event) {
    if (const auto* exited = std::get_if<TaskExited>(&event)) {
      alive_.erase(exited->allocation);
      std::erase_if(users_, [&](const auto& user) { return user.second == exited->allocation; });
    }
    if (const auto* ack = std::get_if<AckReports>(&event)) acked_ = std::max(acked_, ack->sequence);
    for (const Action& action : supervisor_.Apply(event, now_)) {
      if (const auto* start = std::get_if<StartProcess>(&action)) {
        EXPECT_TRUE(started_.insert(start->spec.allocation).second) << "started twice";
        alive_.insert(start->spec.allocation);
        for (const int slot : start->spec.slots) {
          EXPECT_TRUE(users_.emplace(slot, start->spec.allocation).second) << "slot used twice";
        }
      } else if (const auto* signal = std::get_if<SignalProcess>(&action)) {
        EXPECT_TRUE(alive_.contains(signal->allocation)) << "signal to a task that has ended";
      } else if (const auto* forget = std::get_if<ForgetTask>(&action)) {
        EXPECT_TRUE(exited_.contains(forget->allocation)) << "forgotten before it was reported";
        EXPECT_FALSE(alive_.contains(forget->allocation)) << "forgotten while it runs";
        EXPECT_TRUE(forgotten_.insert(forget->allocation).second) << "forgotten twice";
      } else if (const auto* send = std::get_if<SendReport>(&action)) {
        RecordReport(send->report);
      }
    }
    int64_t expected = acked_;
    for (const Report& report : supervisor_.unacknowledged())
      EXPECT_EQ(report.sequence, ++expected);
    EXPECT_EQ(std::max(expected, acked_), std::max(last_sequence_, acked_)) << "report lost";
    EXPECT_GE(supervisor_.GetRunningTasks().size(), alive_.size());
  }

  void RecordReport(const Report& report) {
    const auto [known, fresh] = reports_.emplace(report.sequence, report);
    EXPECT_EQ(known->second, report) << "two reports with one number";
    if (fresh) {
      EXPECT_EQ(report.sequence, last_sequence_ + 1);
      last_sequence_ = report.sequence;
    }
    if (std::holds_alternative<TaskExit>(report.event)) exited_.insert(report.allocation);
  }

  base::Rng rng_;
  Supervisor supervisor_;
  absl::Time now_ = kStart;
  int64_t acked_ = 0;
  int64_t last_sequence_ = 0;
  std::set<AllocationId> started_;
  std::set<AllocationId> alive_;
  std::set<AllocationId> exited_;
  std::set<AllocationId> forgotten_;
  std::map<int, AllocationId> users_;  // of slots
  std::map<int64_t, Report> reports_;
};

TEST(SupervisorPropertyTest, KeepsInvariants_ForRandomHistories) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  for (uint64_t i = 0; i < 500; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " history " + std::to_string(i));
    RandomHistory(base::Rng(seed).Split(i).Next()).Run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace det::agent
