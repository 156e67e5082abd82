// Commands for the job queue, agents and pools, against a scripted master.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cli/commands/time_text.h"
#include "cli/testing/fake_server.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kPools[] =
    R"({"resourcePools":[{"name":"default","schedulerType":"SCHEDULER_TYPE_PRIORITY",
    "defaultComputePool":true,"numAgents":2,"slotsAvailable":8,"slotsUsed":4,"source":"file",
    "stats":{"queuedCount":1,"scheduledCount":1}}]})";
constexpr char kFairPools[] =
    R"({"resourcePools":[{"name":"fair","schedulerType":"SCHEDULER_TYPE_FAIR_SHARE"}]})";
constexpr char kJobs[] =
    R"({"jobs":[{"summary":{"state":"STATE_SCHEDULED","jobsAhead":0},"jobId":"exp-3",
    "type":"TYPE_EXPERIMENT","submissionTime":"2026-11-21T09:00:00Z","username":"ann",
    "resourcePool":"default","priority":42,"weight":1,"name":"first","requestedSlots":4,
    "allocatedSlots":4},{"summary":{"state":"STATE_QUEUED","jobsAhead":1},"jobId":"exp-7",
    "type":"TYPE_EXPERIMENT","submissionTime":"2026-11-21T09:00:00Z","username":"bob",
    "resourcePool":"default","priority":50,"weight":2,"name":"second, \"big\"",
    "requestedSlots":8,"reason":"needs 8 slots; 4 of 8 are free"}]})";

TEST(JobListTest, ShowsQueueOfEachPool) {
  const DetResult result = RunDet("job list", {kPools, kJobs});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.out, HasSubstr("#  ID"));
  EXPECT_THAT(result.out, HasSubstr("PRIORITY"));
  EXPECT_THAT(result.out, HasSubstr("4/4"));
  EXPECT_THAT(result.out, HasSubstr("◔ QUEUED"));
  EXPECT_THAT(result.out, HasSubstr("needs 8 slots; 4 of 8 are free"));
  EXPECT_THAT(result.requests[1],
              HasSubstr("/api/v1/job-queues?limit=1000000&resourcePool=default"));
}

TEST(JobListTest, ShowsWeights_ForFairSharePool) {
  const DetResult result = RunDet("job list -p fair", {kFairPools, R"({"jobs":[]})"});
  EXPECT_EQ(result.err, "no jobs in fair\n");
  const DetResult csv = RunDet("job list -p fair --csv", {kFairPools, R"({"jobs":[]})"});
  EXPECT_THAT(csv.out, HasSubstr("WEIGHT"));
  EXPECT_THAT(csv.out, Not(HasSubstr("PRIORITY")));
}

TEST(JobListTest, CsvIsCompleteAndExact) {
  const DetResult result = RunDet("job list --csv", {kPools, kJobs});
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n');
  EXPECT_EQ(lines[0], "#,ID,TYPE,JOB NAME,PRIORITY,SUBMITTED,SLOTS,STATE,USER,POOL,WAIT REASON");
  EXPECT_EQ(lines[1],
            "0,exp-3,experiment,first,42,2026-11-21T09:00:00Z,4/4,SCHEDULED,ann,default,");
  EXPECT_EQ(lines[2],
            "1,exp-7,experiment,\"second, \"\"big\"\"\",50,2026-11-21T09:00:00Z,0/8,QUEUED,bob,"
            "default,needs 8 slots; 4 of 8 are free");
}

TEST(JobListTest, JsonHasJobsOfAllPools) {
  const DetResult result = RunDet("job list --json", {kPools, kJobs});
  EXPECT_THAT(result.out, HasSubstr("\"jobId\": \"exp-7\""));
  EXPECT_THAT(result.out, HasSubstr("\"total\": 2"));
}

TEST(JobListTest, PrintsPagesAndReversesQueue) {
  const DetResult last = RunDet("job list --reverse --limit 1 --csv", {kPools, kJobs});
  EXPECT_THAT(last.out, HasSubstr("exp-7"));
  EXPECT_THAT(last.out, Not(HasSubstr("exp-3")));
  EXPECT_EQ(last.err, "1 of 2 jobs; use --limit and --offset for more\n");
  const DetResult first = RunDet("job list --limit 1 --offset 1 --json", {kPools, kJobs});
  EXPECT_THAT(first.out, HasSubstr("exp-7"));
  EXPECT_THAT(first.out, HasSubstr("\"endIndex\": 2"));
  const DetResult all = RunDet("job list --pages all --offset 5", {kPools, kJobs});
  EXPECT_EQ(all.err, "no rows at this --offset; the list has 2 jobs\n");
}

TEST(JobListTest, AcceptsOptionsOfOtherClients) {
  const DetResult table =
      RunDet("job ls --resource-pool fair --table", {kFairPools, R"({"jobs":[]})"});
  EXPECT_EQ(table.err, "no jobs in fair\n");
  const DetResult yaml = RunDet("job list --yaml", {kPools, kJobs});
  EXPECT_THAT(yaml.out, HasSubstr("jobs:\n  - allocatedSlots: 4\n"));
}

TEST(JobUpdateTest, SendsAllChangesInOneRequest) {
  const DetResult result = RunDet("job update 7 -p 10 --ahead-of exp-3", {"{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  ASSERT_EQ(result.requests.size(), 1u);
  EXPECT_THAT(result.requests[0], HasSubstr("POST /api/v1/job-queues"));
  EXPECT_THAT(result.requests[0], HasSubstr(R"("priority":10)"));
  EXPECT_THAT(result.requests[0], HasSubstr(R"("aheadOf":"exp-3")"));
  EXPECT_EQ(result.out, "updated job 7: priority 10\nupdated job 7: ahead-of exp-3\n");
}

TEST(JobUpdateTest, SendsBatchInOneRequest) {
  const DetResult result =
      RunDet("job update-batch 7.priority=10 exp-3.weight=0.5 8.resource_pool=gpu", {"{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  for (const char* part :
       {R"("jobId":"7")", R"("jobId":"exp-3")", R"("weight":0.5)", R"("resourcePool":"gpu")"}) {
    EXPECT_THAT(result.requests[0], HasSubstr(part));
  }
}

TEST(JobUpdateTest, ReportsUsageErrorsBeforeCallingMaster) {
  const std::pair<const char*, const char*> kRows[] = {
      {"job update 7", "nothing to change; give at least one of --priority, --weight"},
      {"job update 7 -p ten", "priority: expected an integer from 1 to 99, found \"ten\""},
      {"job update-batch 7", "expected JOB.PROPERTY=VALUE such as 7.priority=10"},
      {"job update-batch 7.size=3",
       "\"size\" is not a property of a job; expected one of: priority"},
      {"experiment set max-slots 7 0", "expected a number of slots, or none"},
      {"quota set planet x --max-slots 3", "expected user or workspace, found \"planet\""},
      {"quota set user x", "needs --max-slots, --slot-hours, or both"},
      {"agent disable", "agent disable needs either AGENT or --all"},
      {"agent disable a --all", "agent disable needs either AGENT or --all"},
      {"agent maintenance a --from now", "needs --from and --to"},
      {"agent maintenance a --from now --to +0h", "is not after --from"},
      {"resource-pool set gpu", "nothing to set; settings: description, policy"},
      {"resource-pool create gpu polcy=fifo", "unknown setting \"polcy\"; did you mean policy?"},
      {"resource-pool create gpu backfill=maybe", "expected true or false, found \"maybe\""},
  };
  for (const auto& [words, error] : kRows) {
    const DetResult result = RunDet(words, {});
    EXPECT_TRUE(IsUsageError(result.code.status())) << words;
    EXPECT_THAT(std::string(result.code.status().message()), HasSubstr(error)) << words;
  }
}

TEST(ExperimentSetTest, UpdatesJobQueue) {
  EXPECT_THAT(RunDet("experiment set max-slots 7 4", {"{}"}).requests[0],
              HasSubstr(R"("maxSlots":4)"));
  EXPECT_THAT(RunDet("experiment set max-slots 7 none", {"{}"}).requests[0],
              HasSubstr(R"("maxSlots":0)"));
  EXPECT_THAT(RunDet("experiment set weight 7 2.5", {"{}"}).requests[0],
              HasSubstr(R"("weight":2.5)"));
}

TEST(JobExplainTest, PrintsReasonsAndEstimates) {
  const std::string soon =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now() + absl::Minutes(90), absl::UTCTimeZone());
  const DetResult result =
      RunDet("job explain 7",
             {absl::StrCat(
                 R"({"job":{"jobId":"exp-7","name":"second","resourcePool":"default","priority":50,
          "weight":1,"requestedSlots":8,"summary":{"jobsAhead":1}},"waiting":[
          {"trialId":12,"kind":"NO_CAPACITY","reason":"needs 4 slots; 2 of 8 are free",
           "waitsFor":["3.4.1"],"estimatedStart":")",
                 soon, R"(","estimateBasis":"by the max_run_time of 3.4.1"},
          {"trialId":13,"reason":"its experiment holds 4 of max_slots 4"},
          {"trialId":14,"reason":"its experiment holds 4 of max_slots 4"}]})")});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.out, HasSubstr("Job exp-7 (second): pool default, uses 0 of 8 slots, priority "
                                    "50, 1 job ahead.\n"));
  EXPECT_THAT(result.out, HasSubstr("Trial 12 is waiting: needs 4 slots; 2 of 8 are free.\n"));
  EXPECT_THAT(result.out, HasSubstr("Waits for the end or preemption of: 3.4.1.\n"));
  EXPECT_THAT(result.out, HasSubstr("by the max_run_time of 3.4.1.\n"));
  EXPECT_THAT(result.out,
              HasSubstr("Trials 13, 14 are waiting: its experiment holds 4 of max_slots 4.\n"));
  EXPECT_THAT(result.out, HasSubstr("Estimated start: unknown.\n"));
}

constexpr char kAgents[] =
    R"({"agents":[{"id":"a1","connected":true,"enabled":true,"resourcePools":["default"],
    "slots":{"0":{"id":"0","enabled":true,"device":{"type":"TYPE_CUDA","brand":"H200"},
      "container":{"id":"1.1.0","parent":"1.1"},
      "containers":[{"id":"1.1.0","parent":"1.1"},{"id":"2.2.0","parent":"2.2"}]},
      "1":{"id":"1","quarantined":true,"reason":"Xid 79 in 3 tasks in a row"}},
    "containers":{"1.1.0":{}},
    "maintenance":[{"begin":"2036-01-01T04:00:00Z","end":"2036-01-01T06:00:00Z","note":"disks"}]},
    {"id":"a2","connected":true,"draining":true},{"id":"a3","connected":false}]})";

TEST(AgentListTest, ShowsAgentStates) {
  const DetResult result = RunDet("agent list --csv", {kAgents});
  EXPECT_THAT(result.out, HasSubstr("a1,connected,2,1,1,default,"));
  EXPECT_THAT(result.out, HasSubstr("a2,draining,0,0,0"));
  EXPECT_THAT(result.out, HasSubstr("a3,\"disabled, disconnected\""));
  EXPECT_THAT(result.out, HasSubstr("(disks)"));
}

TEST(SlotListTest, ShowsReasonOfUnusableSlot) {
  const DetResult result = RunDet("slot list", {kAgents});
  EXPECT_THAT(result.out, HasSubstr("✕ quarantined"));
  EXPECT_THAT(result.out, HasSubstr("Xid 79 in 3 tasks in a row"));
  EXPECT_THAT(result.out, HasSubstr("1.1.0,2.2.0"));
}

TEST(AgentDisableTest, DisablesEachAgent_WithAll) {
  const DetResult result =
      RunDet("agent disable --all --drain",
             {R"({"agents":[{"id":"a1"},{"id":"a2"}]})",
              R"({"agent":{"id":"a1","draining":true,"containers":{"1.1.0":{}}}})",
              R"({"agent":{"id":"a2","draining":true}})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[1], HasSubstr("POST /api/v1/agents/a1/disable"));
  EXPECT_THAT(result.requests[2], HasSubstr(R"("drain":true)"));
  EXPECT_EQ(result.out, "draining agent a1; 1 task can finish\ndraining agent a2\n");
}

TEST(AgentMaintenanceTest, AddsToExistingWindows) {
  const DetResult result =
      RunDet("agent maintenance a1 --from 2036-02-01T04:00Z --to +2h --note new~disks",
             {R"({"agent":{"id":"a1","maintenance":[{"begin":"2036-01-01T04:00:00Z",
        "end":"2036-01-01T06:00:00Z","note":"old"}]}})",
              R"({"agent":{"id":"a1"}})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[1], HasSubstr("PUT /api/v1/agents/a1/maintenance"));
  EXPECT_THAT(result.requests[1], HasSubstr("2036-01-01T04:00:00Z"));
  EXPECT_THAT(result.requests[1], HasSubstr("2036-02-01T06:00:00Z"));
  EXPECT_THAT(result.requests[1], HasSubstr("new disks"));
  EXPECT_EQ(result.out, "no maintenance windows for agent a1\n");
}

TEST(ResourcePoolTest, DistinguishesCreateAndSet) {
  const DetResult there = RunDet("resource-pool create default", {kPools});
  EXPECT_THAT(std::string(there.code.status().message()),
              HasSubstr("resource pool default exists; change it with `det resource-pool set"));
  const DetResult rejected = RunDet("resource-pool set gpu policy=fifo", {kPools});
  EXPECT_THAT(std::string(rejected.code.status().message()),
              HasSubstr("resource pool \"gpu\" not found; there are: default"));
  const DetResult created = RunDet(
      "resource-pool create gpu policy=fair_share preemption=true hold-after=90s "
      "maintenance-lead=2h",
      {kPools, R"({"resourcePool":{"name":"gpu"}})"});
  ASSERT_TRUE(created.code.ok()) << created.code.status();
  EXPECT_THAT(created.requests[1], HasSubstr("PUT /api/v1/resource-pools/gpu"));
  for (const char* part : {R"("policy":"fair_share")", R"("preemption":true)",
                           R"("holdAfterSeconds":90)", R"("maintenanceLeadSeconds":7200)"}) {
    EXPECT_THAT(created.requests[1], HasSubstr(part));
  }
  EXPECT_THAT(created.requests[1], Not(HasSubstr("backfill")));
  const DetResult wrong = RunDet("resource-pool set default maintenance-lead=soon", {kPools});
  EXPECT_THAT(std::string(wrong.code.status().message()),
              HasSubstr("maintenance_lead: expected a time such as 5m or 90s, found \"soon\""));
}

TEST(QuotaTest, KeepsOmittedLimits) {
  const char* ann = R"({"user":{"id":3,"username":"ann"}})";
  const char* before = R"({"quotas":[{"scope":"user","name":"ann","maxSlots":4}]})";
  const DetResult result = RunDet("quota set user ann --slot-hours 100", {ann, before, "{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[2], HasSubstr(R"("maxSlots":4)"));
  EXPECT_THAT(result.requests[2], HasSubstr(R"("slotHours":100)"));
  EXPECT_EQ(result.out, "set quota of user ann: 4 slots, 100 slot hours per month\n");
  const DetResult none = RunDet("quota set user ann --max-slots none", {ann, before});
  EXPECT_THAT(std::string(none.code.status().message()), HasSubstr("det quota remove user ann"));
}

TEST(QuotaTest, RejectsUnknownWorkspace) {
  const DetResult result =
      RunDet("quota set workspace visoin --max-slots 3", {R"({"workspaces":[]})"});
  EXPECT_TRUE(absl::IsNotFound(result.code.status())) << result.code.status();
}

TEST(ClusterSnapshotTest, PrintsOnlySnapshot) {
  const DetResult result =
      RunDet("cluster snapshot --pool gpu", {R"({"snapshot":{"agents":[{"id":"a"}]}})"});
  EXPECT_THAT(result.requests[0], HasSubstr("resourcePool=gpu"));
  EXPECT_EQ(result.out, "{\n  \"agents\": [\n    {\n      \"id\": \"a\"\n    }\n  ]\n}\n");
}

TEST(ParseTimeTest, ParsesTimesOfUsers) {
  const absl::Time base = absl::FromUnixSeconds(1'700'000'000);  // 2023-11-14T22:13:20Z
  EXPECT_EQ(ParseTime("--at", "now", base).value(), base);
  EXPECT_EQ(ParseTime("--at", "+90m", base).value(), base + absl::Minutes(90));
  EXPECT_EQ(ParseTime("--at", "+1d2h", base).value(), base + absl::Hours(26));
  EXPECT_EQ(ParseTime("--at", "2023-11-14T22:13:20Z", base).value(), base);
  EXPECT_EQ(ParseTime("--at", "2023-11-14 23:13:20+01:00", base).value(), base);
  const absl::Time next = ParseTime("--at", "04:00", base).value();
  EXPECT_GT(next, base);
  EXPECT_LE(next, base + absl::Hours(24));
  for (const char* wrong : {"", "soon", "+", "+2", "25:00", "2026-13-01T00:00"}) {
    EXPECT_FALSE(ParseTime("--at", wrong, base).ok()) << wrong;
  }
}

}  // namespace
}  // namespace det::cli
