// The commands of users, tokens, workspaces and projects: what they send, print and refuse.
#include <stdlib.h>
#include <unistd.h>

#include <string>

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

// Stdin for a while.
class Typed {
 public:
  explicit Typed(const std::string& text) : before_(dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
  }
  ~Typed() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  const int before_;
};

class PeopleTest : public ::testing::Test {
 protected:
  Nobody nobody_;
};

constexpr char kBob[] = R"({"user":{"id":3,"username":"bob","active":true}})";

TEST_F(PeopleTest, UsersAreListed) {
  const char* users =
      R"({"users":[{"id":1,"username":"admin","admin":true,"active":true,
      "lastAuthAt":"2026-11-21T09:00:00Z"},
      {"id":3,"username":"bob","displayName":"Bob, B.","active":true,
      "agentUserGroup":{"agentUid":7,"agentGid":8,"agentUser":"u","agentGroup":"g"}}]})";
  const Said said = Det("u ls --csv", {users});
  EXPECT_THAT(said.requests[0], HasSubstr("active=true"));
  EXPECT_EQ(said.out,
            "ID,USER,DISPLAY NAME,ACTIVE,ADMIN,REMOTE,AGENT USER,LAST LOGIN\n"
            "1,admin,,yes,yes,no,,2026-11-21T09:00:00Z\n"
            "3,bob,\"Bob, B.\",yes,no,no,\"u (7), g (8)\",\n");
  EXPECT_THAT(Det("user list -a", {users}).requests[0], Not(HasSubstr("active")));
}

TEST_F(PeopleTest, ANewUsersPasswordComesFromStdinAndLeavesAsItsHash) {
  const Typed typed("Abcdef12345\n");
  const Said said = Det("user create bob --admin", {kBob});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  EXPECT_THAT(said.requests[0], HasSubstr("POST /api/v1/users "));
  EXPECT_THAT(said.requests[0], HasSubstr(ClientHash("Abcdef12345")));
  EXPECT_THAT(said.requests[0], HasSubstr(R"("isHashed":true)"));
  EXPECT_THAT(said.requests[0], HasSubstr(R"("admin":true)"));
  EXPECT_THAT(said.requests[0], Not(HasSubstr("Abcdef12345")));
  EXPECT_EQ(said.out, "created user bob\n");
}

TEST_F(PeopleTest, AWeakOrMissingPasswordIsNotSent) {
  EXPECT_THAT(std::string(Det("user create bob --password short", {}).code.status().message()),
              HasSubstr("at least 8 characters"));
  const Typed typed("");
  EXPECT_FALSE(Det("user create bob", {}).code.ok());
}

TEST_F(PeopleTest, LoginIsRememberedAndLogoutForgotten) {
  std::string url;
  {
    const Typed typed("Abcdef12345\nnot read\n");
    const Said said = Det("user login bob", {R"({"token":"t1","user":{"id":3,"username":"bob"}})"});
    ASSERT_TRUE(said.code.ok()) << said.code.status();
    EXPECT_THAT(said.out, HasSubstr("signed in as bob at http://127.0.0.1:"));
    EXPECT_THAT(said.out, Not(HasSubstr("t1")));
    url = said.out.substr(said.out.find("http"));
    url.pop_back();
  }
  EXPECT_EQ(FindToken(url)->user, "bob");
  EXPECT_EQ(FindToken(url)->token, "t1");
  const Said none = Det("user logout", {});
  EXPECT_THAT(none.err, HasSubstr("not signed in"));
}

TEST_F(PeopleTest, ChangesNameTheUserByHisNumber) {
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
    const Said said = Det(words, {kBob, kBob});
    ASSERT_TRUE(said.code.ok()) << words << ": " << said.code.status();
    EXPECT_THAT(said.requests[0], HasSubstr("GET /api/v1/users/bob/by-username")) << words;
    EXPECT_THAT(said.requests[1], HasSubstr("PATCH /api/v1/users/3 ")) << words;
    EXPECT_THAT(said.requests[1], HasSubstr(body)) << words;
  }
}

TEST_F(PeopleTest, APasswordIsChangedForOneself) {
  const Typed typed("Abcdef12345\n");
  const Said said = Det("user change-password", {kBob, kBob});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  EXPECT_THAT(said.requests[0], HasSubstr("GET /api/v1/me"));
  EXPECT_THAT(said.requests[1], HasSubstr("POST /api/v1/users/3/password"));
  EXPECT_THAT(said.requests[1], HasSubstr(ClientHash("Abcdef12345")));
}

TEST_F(PeopleTest, ATokenAloneStandsOnStdout) {
  const Said said =
      Det("token create bob -e 2 -d ci --role Viewer", {kBob, R"({"token":"T","tokenId":9})"});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  EXPECT_THAT(said.requests[1], HasSubstr(R"("lifespan":"48h")"));
  EXPECT_THAT(said.requests[1], HasSubstr(R"("userId":3)"));
  EXPECT_EQ(said.out, "T\n");
  EXPECT_THAT(said.err, HasSubstr("created token 9"));
  EXPECT_THAT(Det("token create -e -1", {R"({"token":"T"})"}).requests[0],
              HasSubstr(R"("lifespan":"-1")"));
}

TEST_F(PeopleTest, TokensAreListedAndRevoked) {
  const char* tokens =
      R"({"tokenInfo":[{"id":1,"userId":3,"description":"ci"},{"id":2,"userId":3,"revoked":true},
      {"id":3,"userId":3,"expiry":"2020-01-01T00:00:00Z"}]})";
  const Said said = Det("tkn ls bob --show-inactive --csv", {tokens});
  EXPECT_THAT(said.requests[0], HasSubstr("username=bob"));
  EXPECT_THAT(said.requests[0], HasSubstr("showInactive=true"));
  EXPECT_THAT(said.out, HasSubstr("1,3,valid,inherited,,,never,ci\n"));
  EXPECT_THAT(said.out, HasSubstr("2,3,revoked,"));
  EXPECT_THAT(said.out, HasSubstr("3,3,expired,"));
  const Said revoked = Det("token revoke 7", {"{}"});
  EXPECT_THAT(revoked.requests[0], HasSubstr("PATCH /api/v1/tokens/7 "));
  EXPECT_THAT(revoked.requests[0], HasSubstr(R"("setRevoked":true)"));
}

TEST_F(PeopleTest, ATokenIsRememberedWhenTheMasterKnowsIt) {
  const Typed typed("secret\n");
  const Said said = Det("token login", {kBob});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  EXPECT_THAT(said.out, HasSubstr("signed in as bob"));
}

constexpr char kSpaces[] =
    R"({"workspaces":[{"id":2,"name":"vision","numProjects":1,"numExperiments":3,"username":"ann",
    "defaultComputePool":"gpu"}]})";
constexpr char kProjects[] =
    R"({"projects":[{"id":5,"name":"p1","key":"P1","workspaceId":2,"workspaceName":"vision",
    "numExperiments":3,"numActiveExperiments":1,"username":"ann","description":"first"}]})";

TEST_F(PeopleTest, WorkspacesAreListedAndShown) {
  const Said list = Det("w ls --csv", {kSpaces});
  EXPECT_THAT(list.requests[0], HasSubstr("archived=false"));
  EXPECT_EQ(list.out,
            "ID,NAME,PROJECTS,EXPERIMENTS,OWNER,COMPUTE POOL,AUX POOL\n2,vision,1,3,ann,gpu,\n");
  const Said shown = Det("workspace describe vision", {kSpaces});
  EXPECT_THAT(shown.requests[0], HasSubstr("nameCaseSensitive=vision"));
  EXPECT_THAT(shown.out, HasSubstr("gpu"));
  EXPECT_THAT(
      std::string(Det("workspace describe x", {R"({"workspaces":[]})"}).code.status().message()),
      HasSubstr("no workspace \"x\""));
}

TEST_F(PeopleTest, WorkspacesAreChanged) {
  const Said made =
      Det("workspace create vision --default-compute-pool gpu "
          "--checkpoint-storage-config {\"type\":\"shared_fs\"}",
          {R"({"workspace":{"id":2}})"});
  ASSERT_TRUE(made.code.ok()) << made.code.status();
  EXPECT_THAT(made.requests[0], HasSubstr(R"("name":"vision")"));
  EXPECT_THAT(made.requests[0], HasSubstr(R"("type":"shared_fs")"));
  EXPECT_EQ(made.out, "created workspace vision (id 2)\n");
  const Said edited = Det("workspace edit vision --name sight", {kSpaces, "{}"});
  EXPECT_THAT(edited.requests[1], HasSubstr("PATCH /api/v1/workspaces/2 "));
  EXPECT_THAT(edited.requests[1], HasSubstr(R"("name":"sight")"));
  EXPECT_THAT(Det("workspace archive vision", {kSpaces, "{}"}).requests[1],
              HasSubstr("POST /api/v1/workspaces/2/archive"));
  EXPECT_THAT(std::string(Det("workspace delete vision --yes", {kSpaces}).code.status().message()),
              HasSubstr("vision has 3 experiments in 1 project; delete or move them first"));
  const Said deleted =
      Det("workspace delete vision --yes",
          {R"({"workspaces":[{"id":2,"name":"vision"}]})", R"({"completed":false})"});
  EXPECT_EQ(deleted.out, "deleting workspace vision\n");
  const Said members =
      Det("workspace list-members vision --csv",
          {kSpaces, R"({"usersAssignedDirectly":[{"id":5,"username":"ann"}],"assignments":
          [{"role":{"roleId":3,"name":"Editor"},"userRoleAssignments":[{"userId":5}]}]})"});
  EXPECT_EQ(members.out, "USER,ROLE\nann,Editor\n");
  EXPECT_THAT(
      Det("workspace list-pools vision --csv", {kSpaces, R"({"resourcePools":["gpu","cpu"]})"}).out,
      HasSubstr("gpu\ncpu\n"));
}

TEST_F(PeopleTest, WhatIsWrongIsSaidBeforeAnybodyIsAsked) {
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
    const Said said = Det(words, {});
    EXPECT_TRUE(IsUsageError(said.code.status())) << words;
    EXPECT_THAT(std::string(said.code.status().message()), HasSubstr(error)) << words;
  }
}

TEST_F(PeopleTest, ProjectsAreListedAndChanged) {
  EXPECT_THAT(Det("p ls vision --csv", {kSpaces, kProjects}).out,
              HasSubstr("5,p1,P1,3,1,,ann,first\n"));
  EXPECT_THAT(Det("workspace list-projects vision", {kSpaces, kProjects}).requests[1],
              HasSubstr("GET /api/v1/workspaces/2/projects?archived=false"));
  const Said made = Det("project create vision p1 --key P1", {kSpaces, R"({"project":{"id":5}})"});
  EXPECT_THAT(made.requests[1], HasSubstr("POST /api/v1/workspaces/2/projects "));
  EXPECT_EQ(made.out, "created project p1 (id 5)\n");
  const Said edited = Det("project edit vision p1 --new_name p2", {kSpaces, kProjects, "{}"});
  EXPECT_THAT(edited.requests[2], HasSubstr("PATCH /api/v1/projects/5 "));
  const Said list = Det("project list-experiments vision p1 --show_project",
                        {kSpaces, kProjects,
                         R"({"experiments":[{"id":7,"name":"x","workspaceName":"vision",
                         "projectName":"p1"}],"pagination":{"total":1}})"});
  EXPECT_THAT(list.requests[2], HasSubstr("projectId=5"));
  EXPECT_THAT(list.out, HasSubstr("vision"));
  EXPECT_THAT(
      std::string(Det("project describe vision x", {kSpaces, kProjects}).code.status().message()),
      HasSubstr("workspace vision has no project \"x\""));
}

TEST_F(PeopleTest, ExperimentsAreMovedLabelledAndNamed) {
  const Said moved = Det("e move 7 vision p1", {kSpaces, kProjects, "{}"});
  EXPECT_THAT(moved.requests[2], HasSubstr("POST /api/v1/experiments/7/move "));
  EXPECT_THAT(moved.requests[2], HasSubstr(R"("destinationProjectId":5)"));
  const Said labelled = Det("e label add 7 good", {R"({"labels":["best","good"]})"});
  EXPECT_THAT(labelled.requests[0], HasSubstr("PUT /api/v1/experiments/7/labels/good"));
  EXPECT_EQ(labelled.out, "labels of experiment 7: best, good\n");
  EXPECT_EQ(Det("e label rm 7 good", {R"({"labels":[]})"}).out, "labels of experiment 7: none\n");
  const Said named = Det("e set name 7 new~name", {"{}"});
  EXPECT_THAT(named.requests[0], HasSubstr("PATCH /api/v1/experiments/7 "));
  EXPECT_THAT(named.requests[0], HasSubstr(R"("name":"new name")"));
  EXPECT_THAT(named.requests[0], Not(HasSubstr("description")));
  EXPECT_THAT(Det("e set description 7 d", {"{}"}).requests[0], HasSubstr(R"("description":"d")"));
}

TEST_F(PeopleTest, CurlPrintsWhatComesAndFailsWithIt) {
  const Said said = Det("dev curl api/v1/x?a=1", {R"({"a":1})"});
  EXPECT_EQ(said.out, "{\n  \"a\": 1\n}\n");
  EXPECT_THAT(said.requests, ElementsAre("GET /api/v1/x?a=1"));
  const Said posted = Det("dev curl /api/v1/x -d {} --raw", {"{}"});
  EXPECT_THAT(posted.requests, ElementsAre("POST /api/v1/x {}"));
  EXPECT_EQ(posted.out, "{}");
  const Said refused = Det("dev curl -X delete /api/v1/x",
                           {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"});
  EXPECT_EQ(refused.out, "{}\n");
  EXPECT_THAT(std::string(refused.code.status().message()), HasSubstr("HTTP 404"));
}

TEST_F(PeopleTest, EachMethodOfTheApiCanBeCalled) {
  const Said list = Det("dev api list --csv", {});
  for (const char* method :
       {"ExperimentService.GetExperiment,GET /api/v1/experiments/{experiment_id},",
        "UserService.PostUser,POST /api/v1/users,", "TrialService.TrialLogs,"}) {
    EXPECT_THAT(list.out, HasSubstr(method));
  }
  const Said called =
      Det("dev api call getexperiment {\"experimentId\":7}", {R"({"experiment":{"id":7}})"});
  EXPECT_THAT(called.requests, ElementsAre("GET /api/v1/experiments/7"));
  EXPECT_THAT(called.out, HasSubstr("\"id\": 7"));
  EXPECT_THAT(std::string(Det("dev api call GetExperimnt", {}).code.status().message()),
              HasSubstr("did you mean GetExperiment?"));
  EXPECT_TRUE(IsUsageError(Det("dev api call GetExperiment {\"id\":7}", {}).code.status()));
}

}  // namespace
}  // namespace det::cli
