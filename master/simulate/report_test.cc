#include "master/simulate/report.h"

#include <optional>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/model/value.h"
#include "master/simulate/table.h"

namespace det::simulate {
namespace {

using ::testing::HasSubstr;

TEST(Table, AlignsColumns) {
  EXPECT_EQ(
      Table({{"NAME"}, {"N", true}, {"WHY"}}, {{"é", "7", ""}, {"long name", "12", "x"}}, false),
      "NAME        N  WHY\n"
      "é           7\n"
      "long name  12  x\n");
}

TEST(Table, FormatsSpans) {
  EXPECT_EQ(Span(absl::ZeroDuration()), "0 s");
  EXPECT_EQ(Span(absl::Seconds(99)), "99 s");
  EXPECT_EQ(Span(absl::Seconds(100)), "2 min");
  EXPECT_EQ(Span(absl::Minutes(125)), "2 h 05 min");
  EXPECT_EQ(Span(absl::Hours(52)), "2 d 04 h");
}

scheduler::Gang MakeGang(const std::string& id, int slots) {
  scheduler::Gang gang;
  gang.id = model::AllocationId(id);
  gang.slots = slots;
  return gang;
}

TEST(PlanText, HasRowForEachDecision) {
  scheduler::Snapshot snapshot;
  snapshot.gangs = {MakeGang("1.1", 5), MakeGang("2.1", 1), MakeGang("3.1", 8)};
  snapshot.gangs[1].fraction = 0.5;
  snapshot.gangs[1].running_on = {{model::AgentId("b"), {7}}};
  scheduler::Scheduled scheduled;
  scheduled.plan.assign = {
      {snapshot.gangs[0].id, {{model::AgentId("a"), {2, 0, 1, 5}}, {model::AgentId("b"), {0}}}}};
  scheduled.plan.preempt = {{snapshot.gangs[1].id, snapshot.gangs[2].id, "3.1 needs it"}};
  scheduled.waiting[snapshot.gangs[2].id] = {scheduler::WaitReason::Kind::kAwaitingPreemption,
                                             "waits for 2.1 to release slots", std::nullopt};
  EXPECT_EQ(PlanText(snapshot, scheduled, false),
            "DECISION  GANG  SLOTS  WHERE                WHY\n"
            "start     1.1       5  a 0-2,5, b 0         fits: all 5 slots on 2 agents\n"
            "preempt   2.1     0.5  b 7                  3.1 needs it\n"
            "wait      3.1       8  AWAITING_PREEMPTION  waits for 2.1 to release slots\n");
  EXPECT_THAT(PlanJson(scheduled), HasSubstr("\"1.1\": \"fits: all 5 slots on 2 agents\""));
}

TEST(PlanText, ReportsEmptyPlan) {
  EXPECT_EQ(PlanText({}, {}, false), "No gang waits, and nothing changes.\n");
}

TEST(Figures, ReportWhyJobsDidNotComplete) {
  const Workload workload = {{.arrival = absl::Seconds(0), .length = absl::Seconds(9)},
                             {.arrival = absl::Seconds(1), .length = absl::Seconds(9)}};
  Simulation simulation;
  simulation.jobs = {{.why = "too large"}, {.why = "too large"}};
  const Figures figures = MakeFigures(workload, Options(), simulation);
  EXPECT_THAT(FiguresText(figures, simulation, false),
              HasSubstr("2 jobs not completed: too large"));
  const auto json = model::Value::FromJson(FiguresJson(figures, simulation));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*(*json->Find("not_completed")->AsList())[0].Find("jobs")->AsInt(), 2);
  EXPECT_EQ(
      JobsCsv(workload, simulation),
      "arrival,slots,length,user,priority,first_wait,waited,ended,preemptions,lost,completed\n"
      "0,1,9,user,42,,,,0,0,false\n1,1,9,user,42,,,,0,0,false\n");
}

}  // namespace
}  // namespace det::simulate
