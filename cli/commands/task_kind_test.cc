// det command, notebook and tensorboard: requests and output.
#include <string>

#include "cli/testing/fake_server.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kId[] = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

std::string Task(const std::string& id, const std::string& more = "") {
  return R"({"id":")" + id + R"(","description":"quiet-lake","username":"ada",)" +
         R"("state":"STATE_RUNNING","resourcePool":"default","workspaceId":2)" + more + "}";
}

std::string Launched(const std::string& kind) {
  return R"({")" + kind + R"(":)" + Task(kId) + R"(,"config":{"description":"quiet-lake"}})";
}

std::string TaskState(const std::string& allocation, const std::string& more = "") {
  return R"({"task":{"taskId":")" + std::string(kId) + R"(","allocations":[)" + allocation + "]" +
         more + "}}";
}

class TaskKindTest : public ::testing::Test {
 protected:
  TaskKindTest() {
    for (const char* name : {"BROWSER", "DISPLAY", "WAYLAND_DISPLAY"}) unsetenv(name);
  }
  CleanEnvironment environment_;
};

TEST_F(TaskKindTest, PrintsOnlyId_WhenDetached) {
  for (const std::string kind : {"command", "notebook", "tensorboard"}) {
    const std::string words = kind == "command"    ? "command run -d echo --help"
                              : kind == "notebook" ? "notebook start -d"
                                                   : "tensorboard start 3-4 -d";
    const DetResult result = RunDet(words, {Launched(kind)});
    ASSERT_TRUE(result.code.ok()) << result.code.status();
    EXPECT_EQ(result.out, std::string(kId) + "\n");
    EXPECT_THAT(result.requests[0], StartsWith("POST /api/v1/" + kind + "s {"));
  }
}

TEST_F(TaskKindTest, RunsCommandWithItsOwnOptions) {
  const DetResult result =
      RunDet("command run -d --config resources.slots=0 ls -d --master x", {Launched("command")});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[0], HasSubstr(R"("words":["ls","-d","--master","x"])"));
  EXPECT_THAT(result.requests[0], HasSubstr(R"("configOverrides":["resources.slots=0"])"));
}

TEST_F(TaskKindTest, ExitsWithErrorOfCommand) {
  const char* ended =
      R"({"task":{"allocations":[{"statusCode":3,"exitReason":"ended with exit code 3"}]}})";
  const DetResult result = RunDet("cmd run false", {Launched("command"), Chunked({}), ended});
  EXPECT_EQ(*result.code, 1);
  EXPECT_EQ(result.out, "Launched command (id: " + std::string(kId) + ", name: quiet-lake).\n");
  EXPECT_EQ(result.err, "det: ended with exit code 3\n");
  const char* killed = R"({"task":{"allocations":[{"statusCode":143,"exitReason":"killed"}]}})";
  EXPECT_EQ(*RunDet("cmd run true", {Launched("command"), Chunked({}), killed}).code, 1);
  const char* good = R"({"task":{"allocations":[{"statusCode":0}]}})";
  EXPECT_EQ(*RunDet("cmd run true", {Launched("command"), Chunked({}), good}).code, 0);
}

TEST_F(TaskKindTest, WaitsUntilNotebookIsReadyAndPrintsAddress) {
  const DetResult result =
      RunDet("notebook start",
             {Launched("notebook"), TaskState(R"({"allocationId":"a.1","state":"STATE_QUEUED"})"),
              R"({"allocation":{"waitReason":"needs 4 slots, 2 are free"}})",
              TaskState(R"({"allocationId":"a.1","state":"STATE_RUNNING"})"),
              TaskState(R"({"allocationId":"a.1","state":"STATE_RUNNING","isReady":true})"),
              R"({"notebook":)" + Task(kId, R"(,"serviceAddress":"/proxy/x/?token=t")") + "}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.out, HasSubstr("Launched notebook (id: " + std::string(kId)));
  EXPECT_THAT(result.out, HasSubstr("\nJupyter Notebook is running at: http://127.0.0.1:"));
  EXPECT_THAT(result.out, HasSubstr("/proxy/x/?token=t\n"));
  EXPECT_EQ(result.err,
            "Waiting for notebook to become ready (queued: needs 4 slots, 2 are free)\n"
            "Waiting for notebook to become ready (starting)\n");
}

TEST_F(TaskKindTest, PrintsLastLines_WhenTaskEndsBeforeItIsReady) {
  const std::string line = R"({"result":{"id":"7","log":"no module named jupyterlab"}})";
  const DetResult result =
      RunDet("notebook open " + std::string(kId),
             {TaskState(R"({"state":"STATE_TERMINATED","exitReason":"exit code 1"})",
                        R"(,"endTime":"2026-11-27T10:00:00Z")"),
              Chunked({line + "\n"})});
  EXPECT_TRUE(absl::IsFailedPrecondition(result.code.status())) << result.code.status();
  EXPECT_THAT(std::string(result.code.status().message()),
              HasSubstr(std::string(kId) + " has ended: exit code 1; see `det notebook logs "));
  EXPECT_THAT(result.err, HasSubstr("no module named jupyterlab"));
  EXPECT_THAT(result.requests[1], HasSubstr("limit=10"));
}

TEST_F(TaskKindTest, PrintsConfigOnly_WhenPreviewed) {
  const DetResult result = RunDet("notebook start --preview", {Launched("notebook")});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_EQ(result.out, "description: quiet-lake\n");
  EXPECT_THAT(result.requests[0], HasSubstr(R"("preview":true)"));
}

TEST_F(TaskKindTest, StartsTensorboardOfTrials) {
  const DetResult result = RunDet("tensorboard start 9 -t 1 2 -d", {Launched("tensorboard")});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[0], HasSubstr(R"("experimentIds":[9],"trialIds":[1,2])"));
  EXPECT_THAT(std::string(RunDet("tensorboard start", {}).code.status().message()),
              HasSubstr("expected IDs of experiments, or of trials with -t"));
}

TEST_F(TaskKindTest, ListsOwnTasksInOrder) {
  const std::string tasks =
      R"({"notebooks":[)" + Task("b-2") + "," + Task("a-1", R"(,"exitStatus":"killed")") + "]}";
  const DetResult result =
      RunDet("notebook ls --sort-by exitStatus --order-by desc --csv",
             {R"({"user":{"id":3}})", tasks, R"({"workspaces":[{"id":2,"name":"vision"}]})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[1], HasSubstr("userIds=3"));
  EXPECT_THAT(result.out, StartsWith("ID,OWNER,DESCRIPTION,STATE,STARTED,EXIT STATUS,POOL,"));
  EXPECT_LT(result.out.find("a-1,ada,quiet-lake,RUNNING"), result.out.find("b-2,ada"));
  EXPECT_THAT(result.out, HasSubstr(",vision\n"));
  EXPECT_THAT(std::string(RunDet("notebook list --sort-by x", {}).code.status().message()),
              HasSubstr("--sort-by: expected id, username"));
}

TEST_F(TaskKindTest, CompletesIds) {
  const std::string tasks = R"({"shells":[)" + Task(kId) + "," + Task("6f00") + "]}";
  const DetResult killed = RunDet("shell kill 6f9", {tasks, R"({"shell":{}})"});
  ASSERT_TRUE(killed.code.ok()) << killed.code.status();
  EXPECT_EQ(killed.out, "Killed shell " + std::string(kId) + "\n");
  EXPECT_THAT(killed.requests,
              ElementsAre(StartsWith("GET /api/v1/shells"), HasSubstr(std::string(kId) + "/kill")));
  EXPECT_THAT(std::string(RunDet("shell kill 6f", {tasks}).code.status().message()),
              HasSubstr("\"6f\" begins the IDs of 2 shells"));
  EXPECT_THAT(std::string(RunDet("shell kill 7", {tasks}).code.status().message()),
              HasSubstr("no shell has an ID that begins with \"7\""));
}

TEST_F(TaskKindTest, SetsPriority) {
  const DetResult result =
      RunDet("tensorboard set priority " + std::string(kId) + " 7", {R"({"tensorboard":{}})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_EQ(result.out, "Set priority of tensorboard " + std::string(kId) + " to 7\n");
  EXPECT_THAT(result.requests[0], HasSubstr("set_priority"));
}

}  // namespace
}  // namespace det::cli
