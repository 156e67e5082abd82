// Commands for roles, audit, the cluster message and usage: requests and output.
#include <string>

#include "cli/arguments.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AdminCommandsTest : public ::testing::Test {
 protected:
  CleanEnvironment environment_;
};

constexpr char kBob[] = R"({"user":{"id":3,"username":"bob","active":true}})";
constexpr char kWorkspaces[] = R"({"workspaces":[{"id":2,"name":"vision"}]})";

TEST_F(AdminCommandsTest, AssignsAndRemovesRoles) {
  const DetResult given = RunDet("rbac assign-role Editor --username-to-assign bob -w vision",
                                 {kBob, kWorkspaces, "{}"});
  ASSERT_TRUE(given.code.ok()) << given.code.status();
  EXPECT_THAT(given.requests[2], HasSubstr("POST /api/v1/roles/add-assignments "));
  EXPECT_THAT(given.requests[2], HasSubstr(R"("userId":3)"));
  EXPECT_THAT(given.requests[2], HasSubstr(R"("name":"Editor")"));
  EXPECT_THAT(given.requests[2], HasSubstr(R"("scopeWorkspaceId":2)"));
  EXPECT_EQ(given.out, "bob is now Editor in workspace vision\n");

  const DetResult taken =
      RunDet("rbac unassign-role Viewer --username-to-assign bob", {kBob, "{}"});
  EXPECT_THAT(taken.requests[1], HasSubstr("POST /api/v1/roles/remove-assignments "));
  EXPECT_THAT(taken.requests[1], HasSubstr(R"("scopeCluster":true)"));
  EXPECT_THAT(taken.requests[1], Not(HasSubstr("scopeWorkspaceId")));
  EXPECT_EQ(taken.out, "bob is no longer Viewer for the cluster\n");
  EXPECT_TRUE(IsUsageError(RunDet("rbac assign-role Editor", {}).code.status()));
}

constexpr char kOps[] = R"({"groups":[{"group":{"groupId":8,"name":"ops"},"numMembers":2}],
    "pagination":{"total":1}})";

TEST_F(AdminCommandsTest, AssignsAndListsRolesOfGroups) {
  const DetResult given =
      RunDet("rbac assign-role Editor -g ops -w vision", {kOps, kWorkspaces, "{}"});
  ASSERT_TRUE(given.code.ok()) << given.code.status();
  EXPECT_THAT(given.requests[0], HasSubstr(R"("name":"ops")"));
  EXPECT_THAT(given.requests[2], HasSubstr(R"("groupRoleAssignments":[{"groupId":8)"));
  EXPECT_EQ(given.out, "user group ops is now Editor in workspace vision\n");
  const DetResult taken = RunDet("rbac unassign-role Viewer -u bob", {kBob, "{}"});
  EXPECT_THAT(taken.requests[1], HasSubstr(R"("userId":3)"));
  EXPECT_TRUE(IsUsageError(RunDet("rbac assign-role Editor -u bob -g ops", {}).code.status()));

  const char* held =
      R"({"roles":[{"roleId":5,"name":"Editor"}],
      "assignments":[{"roleId":5,"scopeWorkspaceIds":[2],"scopeCluster":true}]})";
  const DetResult result = RunDet("rbac list-groups-roles ops --csv", {kOps, held, kWorkspaces});
  EXPECT_THAT(result.requests[1], HasSubstr("GET /api/v1/roles/search/by-group/8"));
  EXPECT_EQ(result.out, "SCOPE,ROLE\n(the cluster),Editor\nvision,Editor\n");
}

TEST_F(AdminCommandsTest, ManagesUserGroups) {
  const char* group =
      R"({"group":{"groupId":8,"name":"ops","users":[
      {"id":3,"username":"bob","active":true},{"id":4,"username":"ann","admin":true}]}})";
  const DetResult created = RunDet("user-group create ops --add-user bob", {kBob, group});
  EXPECT_THAT(created.requests[1], HasSubstr(R"("addUsers":[3])"));
  EXPECT_EQ(created.out, "created user group ops (ID 8)\n");

  const DetResult list = RunDet("user-group list --csv --groups-user-belongs-to bob", {kBob, kOps});
  EXPECT_THAT(list.requests[1], HasSubstr(R"("userId":3)"));
  EXPECT_THAT(list.requests[1], HasSubstr(R"("limit":500)"));
  EXPECT_EQ(list.out, "ID,GROUP,MEMBERS\n8,ops,2\n");

  EXPECT_THAT(RunDet("user-group describe ops", {kOps, group}).out, HasSubstr("bob"));

  const DetResult added = RunDet("user-group add-user ops bob", {kBob, kOps, group});
  EXPECT_THAT(added.requests[2], HasSubstr("PUT /api/v1/groups/8 "));
  EXPECT_THAT(added.requests[2], HasSubstr(R"("addUsers":[3])"));
  EXPECT_EQ(added.out, "added bob to user group ops\n");
  const DetResult removed = RunDet("user-group remove-user ops bob,bob", {kBob, kBob, kOps, group});
  EXPECT_THAT(removed.requests[3], HasSubstr(R"("removeUsers":[3,3])"));
  const DetResult renamed = RunDet("user-group change-name ops operators", {kOps, group});
  EXPECT_THAT(renamed.requests[1], HasSubstr(R"("name":"operators")"));

  const DetResult deleted = RunDet("user-group delete ops --yes", {kOps, "{}"});
  EXPECT_THAT(deleted.requests[1], HasSubstr("DELETE /api/v1/groups/8"));
  EXPECT_EQ(deleted.out, "deleted user group ops\n");
  EXPECT_TRUE(
      absl::IsNotFound(RunDet("user-group describe none", {R"({"groups":[]})"}).code.status()));
}

TEST_F(AdminCommandsTest, ShowsAndSetsMasterConfig) {
  const DetResult config = RunDet("master config", {R"({"config":{"port":8080}})"});
  EXPECT_EQ(config.out, "{\n  \"port\": 8080\n}\n");
  const DetResult set = RunDet("master config set --log.level warning --log.color=off", {"{}"});
  ASSERT_TRUE(set.code.ok()) << set.code.status();
  EXPECT_THAT(set.requests[0], HasSubstr("PATCH /api/v1/master/config "));
  EXPECT_THAT(set.requests[0], HasSubstr(R"("level":"LOG_LEVEL_WARNING")"));
  EXPECT_THAT(set.requests[0], HasSubstr(R"("paths":["log.level","log.color"])"));
  EXPECT_EQ(set.out, "set log.level warning, log.color off until the master restarts\n");
  EXPECT_TRUE(IsUsageError(RunDet("master config set", {}).code.status()));
  EXPECT_THAT(std::string(RunDet("master config set --log.level loud", {}).code.status().message()),
              HasSubstr("expected trace, debug, info, warning, error or critical"));
  const DetResult logs =
      RunDet("master logs --tail 2",
             {"{\"result\":{\"logEntry\":{\"id\":7,\"message\":\"began\",\"level\":"
              "\"LOG_LEVEL_INFO\",\"timestamp\":\"2026-11-21T09:00:00Z\"}}}\n"});
  ASSERT_TRUE(logs.code.ok()) << logs.code.status();
  EXPECT_THAT(logs.requests[0], HasSubstr("GET /api/v1/master/logs?offset=-2"));
  EXPECT_THAT(logs.out, HasSubstr("  INFO  began\n"));
}

TEST_F(AdminCommandsTest, SetsLogRetention) {
  const DetResult trial = RunDet("trial set log-retention 7 --days 3", {"{}"});
  ASSERT_TRUE(trial.code.ok()) << trial.code.status();
  EXPECT_THAT(trial.requests[0], HasSubstr("PUT /api/v1/trials/7/retain_logs "));
  EXPECT_THAT(trial.requests[0], HasSubstr(R"("numDays":3)"));
  EXPECT_EQ(trial.out, "the logs of trial 7 are kept for 3 days\n");
  const DetResult all = RunDet("experiment set log-retention 7 --forever", {"{}"});
  EXPECT_THAT(all.requests[0], HasSubstr("PUT /api/v1/experiments/7/retain_logs "));
  EXPECT_EQ(all.out, "the logs of experiment 7 are kept forever\n");
  EXPECT_TRUE(IsUsageError(RunDet("trial set log-retention 7", {}).code.status()));
  EXPECT_TRUE(IsUsageError(RunDet("trial set log-retention 7 --days -2", {}).code.status()));
  // Existing scripts write it so.
  const DetResult forever = RunDet("trial set log-retention 7 --days -1", {"{}"});
  ASSERT_TRUE(forever.code.ok()) << forever.code.status();
  EXPECT_THAT(forever.requests[0], HasSubstr(R"("numDays":-1)"));
  EXPECT_EQ(forever.out, "the logs of trial 7 are kept forever\n");
}

TEST_F(AdminCommandsTest, ListsRoles) {
  const char* summary =
      R"({"roles":[{"roleId":5,"name":"Editor","permissions":[{}]},{"roleId":4,"name":"Viewer"}],
      "assignments":[{"roleId":5,"scopeWorkspaceIds":[2,9]},{"roleId":4,"scopeCluster":true}]})";
  EXPECT_EQ(RunDet("rbac my-permissions --csv", {summary, kWorkspaces}).out,
            "SCOPE,ROLE,PERMISSIONS\nvision,Editor,1\nworkspace 9,Editor,1\n"
            "(the cluster),Viewer,0\n");
  const char* roles =
      R"({"roles":[{"roleId":5,"name":"Editor","scopeTypeMask":{"workspace":true},
      "permissions":[{"name":"view project","scopeTypeMask":{"workspace":true}}]}]})";
  EXPECT_EQ(RunDet("rbac list-roles --csv", {roles}).out,
            "ID,ROLE,WORKSPACE SCOPE,PERMISSIONS\n5,Editor,yes,1\n");
  EXPECT_EQ(RunDet("rbac describe-role Editor --csv", {roles}).out,
            "PERMISSION,WORKSPACE SCOPE\nview project,yes\n");
  EXPECT_TRUE(absl::IsNotFound(RunDet("rbac describe-role King", {roles}).code.status()));
  const char* held =
      R"({"roles":[{"role":{"name":"Editor"},"userRoleAssignments":[
      {"userId":3,"roleAssignment":{"scopeWorkspaceId":2}}],"groupRoleAssignments":[
      {"groupId":5,"roleAssignment":{"scopeWorkspaceId":2}}]}]})";
  const char* groups = R"({"groups":[{"group":{"groupId":5,"name":"crew"},"numMembers":1}]})";
  const DetResult result =
      RunDet("rbac list-users-roles bob --csv", {kBob, held, kWorkspaces, groups});
  EXPECT_THAT(result.requests[1], HasSubstr("GET /api/v1/roles/search/by-user/3"));
  EXPECT_THAT(result.requests[3], HasSubstr("/api/v1/groups"));
  EXPECT_EQ(result.out, "SCOPE,ROLE,THROUGH\nvision,Editor,\nvision,Editor,group crew\n");
}

TEST_F(AdminCommandsTest, ReadsAuditPageByPage) {
  const char* first =
      R"({"records":[{"id":"9","at":"2026-11-21T09:00:00Z","caller":"ann","peer":"10.0.0.1",
      "method":"det.api.v1.UserService.PostUser","target":"","requestId":"r","code":"OK"}],
      "nextBeforeId":"9"})";
  const char* last = R"({"records":[{"id":"8","caller":"ann"}]})";
  const DetResult result =
      RunDet("master audit --by ann --method UserService. --since 2026-11-20T00:00:00Z -n 5 --csv",
             {first, last});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  for (const char* part :
       {"/api/v1/master/audit?", "username=ann", "method=UserService.", "limit=5", "since=2026"}) {
    EXPECT_THAT(result.requests[0], HasSubstr(part));
  }
  EXPECT_THAT(result.requests[1], HasSubstr("beforeId=9"));
  EXPECT_THAT(result.requests[1], HasSubstr("limit=4"));
  EXPECT_THAT(result.out,
              HasSubstr("TIME,USER,ADDRESS,METHOD,TARGET,CODE,REQUEST ID\n"
                        "2026-11-21T09:00:00Z,ann,10.0.0.1,UserService.PostUser,,OK,r\n"));
  EXPECT_THAT(RunDet("master audit --json", {last}).out, HasSubstr(R"("id": "8")"));
  EXPECT_TRUE(IsUsageError(RunDet("master audit --since yesterday", {}).code.status()));
}

TEST_F(AdminCommandsTest, SetsShowsAndClearsClusterMessage) {
  const DetResult set = RunDet("master cluster-message set down~at~noon -d 2h", {"{}"});
  ASSERT_TRUE(set.code.ok()) << set.code.status();
  EXPECT_THAT(set.requests[0], HasSubstr("PUT /api/v1/master/cluster_message "));
  EXPECT_THAT(set.requests[0], HasSubstr(R"("message":"down at noon")"));
  EXPECT_THAT(set.requests[0], HasSubstr(R"("duration":"2h")"));
  EXPECT_THAT(RunDet("master cluster-message get",
                     {R"({"clusterMessage":{"message":"m","startTime":"2026-11-21T09:00:00Z"}})"})
                  .out,
              HasSubstr("cleared"));
  EXPECT_EQ(RunDet("master cluster-message get", {"{}"}).out, "no cluster message\n");
  EXPECT_THAT(RunDet("master cluster-message clear", {"{}"}).requests[0],
              HasSubstr("DELETE /api/v1/master/cluster_message"));
}

TEST_F(AdminCommandsTest, PrintsUsageAsCsv) {
  const DetResult raw =
      RunDet("resources raw 2026-11-20 2026-11-21",
             {R"({"resourceEntries":[{"experimentId":7,"kind":"training","username":"ann",
                       "labels":["a","b"],"slots":2,"startTime":"2026-11-20T09:00:00Z",
                       "seconds":1234567.5}]})"});
  EXPECT_THAT(raw.requests[0], HasSubstr("timestampAfter=2026-11-20"));
  EXPECT_EQ(raw.out,
            "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\n"
            "7,training,ann,\"a,b\",2,2026-11-20T09:00:00Z,,1234567.5\n");
  const DetResult runs =
      RunDet("resources allocations 2026-11-20 2026-11-21",
             {R"({"resourceEntries":[{"allocationId":"7.9.0","experimentId":7,"username":"ann",
          "workspaceName":"vision","resourcePool":"gpu","slots":2,"seconds":1800,
          "startTime":"2026-11-20T09:00:00Z","endTime":"2026-11-20T09:30:00Z"}]})"});
  EXPECT_EQ(runs.out,
            "allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,"
            "end_time,imagepulling_time,slot_hours,resource_pool\n"
            "7.9.0,TRIAL,ann,vision,7,2,2026-11-20T09:00:00Z,2026-11-20T09:30:00Z,,1,gpu\n");
  const DetResult sums = RunDet("res aggregated 2026-11-01 2026-11-30 --monthly",
                                {R"({"resourceEntries":[{"periodStart":"2026-11","seconds":10,
                        "byUsername":{"ben":4,"ann":6}}]})"});
  EXPECT_THAT(sums.requests[0], HasSubstr("period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"));
  EXPECT_EQ(sums.out,
            "aggregation_type,aggregation_key,date,seconds\ntotal,total,2026-11,10\n"
            "username,ann,2026-11,6\nusername,ben,2026-11,4\n");
}

TEST_F(AdminCommandsTest, AcceptsMonthsInMonthlyUsage) {
  const DetResult result = RunDet("resources aggregated 2026-11 2027-02 --monthly", {"{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[0], HasSubstr("startDate=2026-11-01&endDate=2027-02-28"));
  EXPECT_EQ(*RunDet("resources aggregated 2026-11 2026-11 --monthly", {"{}"}).code, 0);
  EXPECT_TRUE(IsUsageError(RunDet("resources aggregated 2026-11 2027-02", {}).code.status()));
}

TEST_F(AdminCommandsTest, SortsListsByName) {
  const DetResult result =
      RunDet("workspace list --sort-by name --order-by desc", {R"({"workspaces":[]})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[0], HasSubstr("sortBy=SORT_BY_NAME"));
  EXPECT_THAT(result.requests[0], HasSubstr("orderBy=ORDER_BY_DESC"));
  EXPECT_TRUE(IsUsageError(RunDet("workspace list --sort-by size", {}).code.status()));
}

TEST_F(AdminCommandsTest, NamesInvalidTimeArguments) {
  for (const char* wrong : {"resources raw 2026-11-20 foo", "resources allocations 2026-11-20 foo",
                            "resources aggregated 2026-11-20 foo"}) {
    const DetResult result = RunDet(wrong, {});
    EXPECT_TRUE(IsUsageError(result.code.status())) << wrong;
    EXPECT_THAT(std::string(result.code.status().message()),
                HasSubstr("END: expected a time such as 2026-11-21"))
        << wrong;
    EXPECT_THAT(std::string(result.code.status().message()), HasSubstr("found \"foo\""));
    EXPECT_THAT(result.requests, IsEmpty());
  }
  EXPECT_THAT(std::string(RunDet("resources raw foo 2026-11-20", {}).code.status().message()),
              HasSubstr("START: expected"));
  EXPECT_THAT(
      std::string(RunDet("resources raw 2026-11-20 2026-11-20", {}).code.status().message()),
      HasSubstr("END: expected a time after 2026-11-20"));
  EXPECT_EQ(*RunDet("resources aggregated 2026-11-20 2026-11-20", {"{}"}).code, 0) << "one day";
}

}  // namespace
}  // namespace det::cli
