// Commands for users, tokens, workspaces and projects: requests, output and errors.
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/arguments.h"
#include "cli/sign_in.h"
#include "cli/testing/run_det.h"
#include "cli/token_cache.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// While it exists, stdin has this text.
class StdinText {
 public:
  explicit StdinText(const std::string& text) : before_(dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
  }
  ~StdinText() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  const int before_;
};

class UserCommandsTest : public ::testing::Test {
 protected:
  CleanEnvironment environment_;
};

constexpr char kBob[] = R"({"user":{"id":3,"username":"bob","active":true}})";

TEST_F(UserCommandsTest, ListsUsers) {
  const char* users =
      R"({"users":[{"id":1,"username":"admin","admin":true,"active":true,
      "lastAuthAt":"2026-11-21T09:00:00Z"},
      {"id":3,"username":"bob","displayName":"Bob, B.","active":true,
      "agentUserGroup":{"agentUid":7,"agentGid":8,"agentUser":"u","agentGroup":"g"}}]})";
  const DetResult result = RunDet("u ls --csv", {users});
  EXPECT_THAT(result.requests[0], HasSubstr("active=true"));
  EXPECT_EQ(result.out,
            "ID,USER,DISPLAY NAME,ACTIVE,ADMIN,REMOTE,AGENT USER,LAST LOGIN\n"
            "1,admin,,yes,yes,no,,2026-11-21T09:00:00Z\n"
            "3,bob,\"Bob, B.\",yes,no,no,\"u (7), g (8)\",\n");
  EXPECT_THAT(RunDet("user list -a", {users}).requests[0], Not(HasSubstr("active")));
}

TEST_F(UserCommandsTest, ReadsPasswordFromStdinAndSendsHash) {
  const StdinText stdin_text("Abcdef12345\n");
  const DetResult result = RunDet("user create bob --admin", {kBob});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[0], HasSubstr("POST /api/v1/users "));
  EXPECT_THAT(result.requests[0], HasSubstr(HashPassword("Abcdef12345")));
  EXPECT_THAT(result.requests[0], HasSubstr(R"("isHashed":true)"));
  EXPECT_THAT(result.requests[0], HasSubstr(R"("admin":true)"));
  EXPECT_THAT(result.requests[0], Not(HasSubstr("Abcdef12345")));
  EXPECT_EQ(result.out, "created user bob\n");
}

TEST_F(UserCommandsTest, RejectsWeakOrMissingPassword) {
  EXPECT_THAT(std::string(RunDet("user create bob --password short", {}).code.status().message()),
              HasSubstr("at least 8 characters"));
  const StdinText stdin_text("");
  EXPECT_FALSE(RunDet("user create bob", {}).code.ok());
}

TEST_F(UserCommandsTest, StoresAndRemovesSession) {
  std::string url;
  {
    const StdinText stdin_text("Abcdef12345\nnot read\n");
    const DetResult result =
        RunDet("user login bob", {R"({"token":"t1","user":{"id":3,"username":"bob"}})"});
    ASSERT_TRUE(result.code.ok()) << result.code.status();
    EXPECT_THAT(result.out, HasSubstr("signed in as bob at http://127.0.0.1:"));
    EXPECT_THAT(result.out, Not(HasSubstr("t1")));
    url = result.out.substr(result.out.find("http"));
    url.pop_back();
  }
  EXPECT_EQ(FindToken(url)->user, "bob");
  EXPECT_EQ(FindToken(url)->token, "t1");
  const DetResult none = RunDet("user logout", {});
  EXPECT_THAT(none.err, HasSubstr("not signed in"));
}

TEST_F(UserCommandsTest, ChangesUserById) {
  const std::pair<const char*, const char*> kRows[] = {
      {"user activate bob", R"("active":true)"},
      {"user deactivate bob", R"("active":false)"},
      {"user rename bob bob2", R"("username":"bob2")"},
      {"user edit bob --display-name Bob", R"("displayName":"Bob")"},
      {"user edit bob --display_name Bob --admin true", R"("admin":true)"},
      {"user link-with-agent-user bob --agent-uid 1 --agent-gid 2 --agent-user u --agent-group g",
       R"("agentUid":1)"},
  };
  for (const auto& [words, body] : kRows) {
    const DetResult result = RunDet(words, {kBob, kBob});
    ASSERT_TRUE(result.code.ok()) << words << ": " << result.code.status();
    EXPECT_THAT(result.requests[0], HasSubstr("GET /api/v1/users/bob/by-username")) << words;
    EXPECT_THAT(result.requests[1], HasSubstr("PATCH /api/v1/users/3 ")) << words;
    EXPECT_THAT(result.requests[1], HasSubstr(body)) << words;
  }
}

TEST_F(UserCommandsTest, ChangesOwnPassword) {
  const StdinText stdin_text("Abcdef12345\n");
  const DetResult result = RunDet("user change-password", {kBob, kBob});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[0], HasSubstr("GET /api/v1/me"));
  EXPECT_THAT(result.requests[1], HasSubstr("POST /api/v1/users/3/password"));
  EXPECT_THAT(result.requests[1], HasSubstr(HashPassword("Abcdef12345")));
}

TEST_F(UserCommandsTest, PrintsOnlyTokenOnStdout) {
  const DetResult result =
      RunDet("token create bob -e 2 -d ci --role Viewer", {kBob, R"({"token":"T","tokenId":9})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[1], HasSubstr(R"("lifespan":"48h")"));
  EXPECT_THAT(result.requests[1], HasSubstr(R"("userId":3)"));
  EXPECT_EQ(result.out, "T\n");
  EXPECT_THAT(result.err, HasSubstr("created token 9"));
  EXPECT_THAT(RunDet("token create -e -1", {R"({"token":"T"})"}).requests[0],
              HasSubstr(R"("lifespan":"-1")"));
}

TEST_F(UserCommandsTest, ListsAndRevokesTokens) {
  const char* tokens =
      R"({"tokenInfo":[{"id":1,"userId":3,"description":"ci"},{"id":2,"userId":3,"revoked":true},
      {"id":3,"userId":3,"expiry":"2020-01-01T00:00:00Z"}]})";
  const DetResult result = RunDet("tkn ls bob --show-inactive --csv", {tokens});
  EXPECT_THAT(result.requests[0], HasSubstr("username=bob"));
  EXPECT_THAT(result.requests[0], HasSubstr("showInactive=true"));
  EXPECT_THAT(result.out, HasSubstr("1,3,valid,inherited,,,never,ci\n"));
  EXPECT_THAT(result.out, HasSubstr("2,3,revoked,"));
  EXPECT_THAT(result.out, HasSubstr("3,3,expired,"));
  const DetResult revoked = RunDet("token revoke 7", {"{}"});
  EXPECT_THAT(revoked.requests[0], HasSubstr("PATCH /api/v1/tokens/7 "));
  EXPECT_THAT(revoked.requests[0], HasSubstr(R"("setRevoked":true)"));
}

TEST_F(UserCommandsTest, StoresTokenAfterVerification) {
  const StdinText stdin_text("secret\n");
  const DetResult result = RunDet("token login", {kBob});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.out, HasSubstr("signed in as bob"));
}

constexpr char kWorkspaces[] =
    R"({"workspaces":[{"id":2,"name":"vision","numProjects":1,"numExperiments":3,"username":"ann",
    "defaultComputePool":"gpu"}]})";
constexpr char kProjects[] =
    R"({"projects":[{"id":5,"name":"p1","key":"P1","workspaceId":2,"workspaceName":"vision",
    "numExperiments":3,"numActiveExperiments":1,"username":"ann","description":"first"}]})";

TEST_F(UserCommandsTest, ListsAndShowsWorkspaces) {
  const DetResult list = RunDet("w ls --csv", {kWorkspaces});
  EXPECT_THAT(list.requests[0], HasSubstr("archived=false"));
  EXPECT_EQ(list.out,
            "ID,NAME,PROJECTS,EXPERIMENTS,OWNER,COMPUTE POOL,AUX POOL\n2,vision,1,3,ann,gpu,\n");
  const DetResult shown = RunDet("workspace describe vision", {kWorkspaces});
  EXPECT_THAT(shown.requests[0], HasSubstr("nameCaseSensitive=vision"));
  EXPECT_THAT(shown.out, HasSubstr("gpu"));
  EXPECT_THAT(
      std::string(RunDet("workspace describe x", {R"({"workspaces":[]})"}).code.status().message()),
      HasSubstr("no workspace \"x\""));
}

TEST_F(UserCommandsTest, ChangesWorkspaces) {
  const DetResult created = RunDet(
      "workspace create vision --default-compute-pool gpu "
      "--checkpoint-storage-config {\"type\":\"shared_fs\"}",
      {R"({"workspace":{"id":2}})"});
  ASSERT_TRUE(created.code.ok()) << created.code.status();
  EXPECT_THAT(created.requests[0], HasSubstr(R"("name":"vision")"));
  EXPECT_THAT(created.requests[0], HasSubstr(R"("type":"shared_fs")"));
  EXPECT_EQ(created.out, "created workspace vision (id 2)\n");
  const DetResult edited = RunDet("workspace edit vision --name sight", {kWorkspaces, "{}"});
  EXPECT_THAT(edited.requests[1], HasSubstr("PATCH /api/v1/workspaces/2 "));
  EXPECT_THAT(edited.requests[1], HasSubstr(R"("name":"sight")"));
  EXPECT_THAT(RunDet("workspace archive vision", {kWorkspaces, "{}"}).requests[1],
              HasSubstr("POST /api/v1/workspaces/2/archive"));
  EXPECT_THAT(
      std::string(RunDet("workspace delete vision --yes", {kWorkspaces}).code.status().message()),
      HasSubstr("vision has 3 experiments in 1 project; delete or move them first"));
  const DetResult deleted =
      RunDet("workspace delete vision --yes",
             {R"({"workspaces":[{"id":2,"name":"vision"}]})", R"({"completed":false})"});
  EXPECT_EQ(deleted.out, "deleting workspace vision\n");
  const DetResult members =
      RunDet("workspace list-members vision --csv",
             {kWorkspaces, R"({"usersAssignedDirectly":[{"id":5,"username":"ann"}],
          "groups":[{"groupId":8,"name":"ops"}],"assignments":
          [{"role":{"roleId":3,"name":"Editor"},"userRoleAssignments":[{"userId":5}],
            "groupRoleAssignments":[{"groupId":8}]}]})"});
  EXPECT_EQ(members.out, "USER/GROUP NAME,USER/GROUP,ROLE NAME\nops,G,Editor\nann,U,Editor\n");
  EXPECT_THAT(RunDet("workspace list-pools vision --csv",
                     {kWorkspaces, R"({"resourcePools":["gpu","cpu"]})"})
                  .out,
              HasSubstr("gpu\ncpu\n"));
}

TEST_F(UserCommandsTest, ReportsUsageErrorsBeforeCallingMaster) {
  const std::pair<const char*, const char*> kRows[] = {
      {"user edit bob", "user edit needs one of"},
      {"user edit bob --admin maybe", "expected true or false"},
      {"user login", "missing USER"},
      {"user link-with-agent-user bob --agent-uid 1", "missing --agent-gid"},
      {"token create -e 0", "at least 1, or -1"},
      {"token edit 3", "needs --description"},
      {"workspace edit w", "nothing to change"},
      {"workspace create w --checkpoint-storage-config {", "expected JSON"},
      {"project edit w p", "needs one of --new-name"},
  };
  for (const auto& [words, error] : kRows) {
    const DetResult result = RunDet(words, {});
    EXPECT_TRUE(IsUsageError(result.code.status())) << words;
    EXPECT_THAT(std::string(result.code.status().message()), HasSubstr(error)) << words;
  }
}

TEST_F(UserCommandsTest, ListsAndChangesProjects) {
  EXPECT_THAT(RunDet("p ls vision --csv", {kWorkspaces, kProjects}).out,
              HasSubstr("5,p1,P1,3,1,,ann,first\n"));
  EXPECT_THAT(RunDet("workspace list-projects vision", {kWorkspaces, kProjects}).requests[1],
              HasSubstr("GET /api/v1/workspaces/2/projects?archived=false"));
  const DetResult created =
      RunDet("project create vision p1 --key P1", {kWorkspaces, R"({"project":{"id":5}})"});
  EXPECT_THAT(created.requests[1], HasSubstr("POST /api/v1/workspaces/2/projects "));
  EXPECT_EQ(created.out, "created project p1 (id 5)\n");
  const DetResult edited =
      RunDet("project edit vision p1 --new_name p2", {kWorkspaces, kProjects, "{}"});
  EXPECT_THAT(edited.requests[2], HasSubstr("PATCH /api/v1/projects/5 "));
  const DetResult list = RunDet("project list-experiments vision p1 --show_project",
                                {kWorkspaces, kProjects,
                                 R"({"experiments":[{"id":7,"name":"x","workspaceName":"vision",
                         "projectName":"p1"}],"pagination":{"total":1}})"});
  EXPECT_THAT(list.requests[2], HasSubstr("projectId=5"));
  EXPECT_THAT(list.out, HasSubstr("vision"));
  EXPECT_THAT(
      std::string(
          RunDet("project describe vision x", {kWorkspaces, kProjects}).code.status().message()),
      HasSubstr("workspace vision has no project \"x\""));
}

TEST_F(UserCommandsTest, MovesLabelsAndNamesExperiments) {
  const DetResult moved = RunDet("e move 7 vision p1", {kWorkspaces, kProjects, "{}"});
  EXPECT_THAT(moved.requests[2], HasSubstr("POST /api/v1/experiments/7/move "));
  EXPECT_THAT(moved.requests[2], HasSubstr(R"("destinationProjectId":5)"));
  const DetResult labelled = RunDet("e label add 7 good", {R"({"labels":["best","good"]})"});
  EXPECT_THAT(labelled.requests[0], HasSubstr("PUT /api/v1/experiments/7/labels/good"));
  EXPECT_EQ(labelled.out, "labels of experiment 7: best, good\n");
  EXPECT_EQ(RunDet("e label rm 7 good", {R"({"labels":[]})"}).out,
            "labels of experiment 7: none\n");
  const DetResult named = RunDet("e set name 7 new~name", {"{}"});
  EXPECT_THAT(named.requests[0], HasSubstr("PATCH /api/v1/experiments/7 "));
  EXPECT_THAT(named.requests[0], HasSubstr(R"("name":"new name")"));
  EXPECT_THAT(named.requests[0], Not(HasSubstr("description")));
  EXPECT_THAT(RunDet("e set description 7 d", {"{}"}).requests[0],
              HasSubstr(R"("description":"d")"));
}

TEST_F(UserCommandsTest, CurlPrintsResponseAndFailsOnError) {
  const DetResult result = RunDet("dev curl api/v1/x?a=1", {R"({"a":1})"});
  EXPECT_EQ(result.out, "{\n  \"a\": 1\n}\n");
  EXPECT_THAT(result.requests, ElementsAre("GET /api/v1/x?a=1"));
  const DetResult posted = RunDet("dev curl /api/v1/x -d {} --raw", {"{}"});
  EXPECT_THAT(posted.requests, ElementsAre("POST /api/v1/x {}"));
  EXPECT_EQ(posted.out, "{}");
  const DetResult refused = RunDet("dev curl -X delete /api/v1/x",
                                   {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"});
  EXPECT_EQ(refused.out, "{}\n");
  EXPECT_THAT(std::string(refused.code.status().message()), HasSubstr("HTTP 404"));
}

TEST_F(UserCommandsTest, CallsApiMethodsByName) {
  const DetResult list = RunDet("dev api list --csv", {});
  for (const char* method :
       {"ExperimentService.GetExperiment,GET /api/v1/experiments/{experiment_id},",
        "UserService.PostUser,POST /api/v1/users,", "TrialService.TrialLogs,"}) {
    EXPECT_THAT(list.out, HasSubstr(method));
  }
  const DetResult called =
      RunDet("dev api call getexperiment {\"experimentId\":7}", {R"({"experiment":{"id":7}})"});
  EXPECT_THAT(called.requests, ElementsAre("GET /api/v1/experiments/7"));
  EXPECT_THAT(called.out, HasSubstr("\"id\": 7"));
  EXPECT_THAT(std::string(RunDet("dev api call GetExperimnt", {}).code.status().message()),
              HasSubstr("did you mean GetExperiment?"));
  EXPECT_TRUE(IsUsageError(RunDet("dev api call GetExperiment {\"id\":7}", {}).code.status()));
}

}  // namespace
}  // namespace det::cli
