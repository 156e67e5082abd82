// det task: requests and output of the commands of generic tasks.
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TaskCommandsTest : public ::testing::Test {
 protected:
  TaskCommandsTest() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/x.py") << "print(1)";
    std::ofstream(path_) << "entrypoint: [python3, x.py]\n";
  }
  const std::string path_ = ::testing::TempDir() + "task.yaml";
  const std::string folder_ = ::testing::TempDir() + "task-context";
  CleanEnvironment environment_;
};

TEST_F(TaskCommandsTest, CreatesTask) {
  const DetResult created =
      RunDet("task create " + path_ + " -c " + folder_ +
                 " --config resources.slots=0 --project_id 3 -p a1 --inherit_context --no_pause",
             {R"({"taskId":"b2","warnings":["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]})"});
  ASSERT_TRUE(created.code.ok()) << created.code.status();
  EXPECT_THAT(created.requests[0],
              AllOf(HasSubstr("POST /api/v1/generic-tasks "), HasSubstr(R"("path":"x.py")"),
                    HasSubstr(R"("config":"entrypoint: [python3, x.py]\n")"),
                    HasSubstr(R"("configOverrides":["resources.slots=0"])"),
                    HasSubstr(R"("projectId":3)"), HasSubstr(R"("parentId":"a1")"),
                    HasSubstr(R"("inheritContext":true)"), HasSubstr(R"("noPause":true)")));
  EXPECT_EQ(created.out, "Created task b2\n");
  EXPECT_THAT(created.err, HasSubstr("more slots than the agents"));
}

TEST_F(TaskCommandsTest, ForksTask) {
  const DetResult forked = RunDet("task fork a1", {R"({"taskId":"b2"})"});
  ASSERT_TRUE(forked.code.ok()) << forked.code.status();
  EXPECT_THAT(forked.requests[0],
              AllOf(HasSubstr(R"("forkedFrom":"a1")"), Not(HasSubstr("entrypoint"))));
  EXPECT_EQ(forked.out, "Created task b2\n");
}

TEST_F(TaskCommandsTest, PrintsConfigAsSubmitted) {
  const DetResult config =
      RunDet("task config a1", {R"({"config":"{\"entrypoint\":[\"true\"]}"})"});
  EXPECT_THAT(config.requests[0], HasSubstr("GET /api/v1/tasks/a1/config"));
  EXPECT_EQ(config.out, "{\"entrypoint\":[\"true\"]}\n");
}

TEST_F(TaskCommandsTest, KillsPausesAndUnpauses) {
  const DetResult killed = RunDet("task kill a1 --root", {"{}"});
  EXPECT_THAT(killed.requests[0],
              AllOf(HasSubstr("POST /api/v1/tasks/a1/kill"), HasSubstr(R"("killFromRoot":true)")));
  EXPECT_EQ(killed.out, "Sucessfully killed task: a1\n");
  const DetResult paused = RunDet("task pause a1", {"{}"});
  EXPECT_THAT(paused.requests[0], HasSubstr("POST /api/v1/tasks/a1/pause"));
  EXPECT_EQ(paused.out, "Paused task: a1\n");
  const DetResult unpaused = RunDet("task unpause a1", {"{}"});
  EXPECT_THAT(unpaused.requests[0], HasSubstr("POST /api/v1/tasks/a1/unpause"));
  EXPECT_EQ(unpaused.out, "Unpaused task: a1\n");
}

TEST_F(TaskCommandsTest, CleansUpLogs) {
  const DetResult result = RunDet("task cleanup-logs", {R"({"removedCount":"5"})"});
  EXPECT_THAT(result.requests[0], HasSubstr("POST /api/v1/cleanup_logs"));
  EXPECT_EQ(result.out, "Deleted 5 rows of log entries.\n");
}

}  // namespace
}  // namespace det::cli
