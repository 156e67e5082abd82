// det template: requests and output.
#include <fstream>
#include <string>

#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kVision[] = R"({"workspaces":[{"id":2,"name":"vision"}]})";

class TemplateCommandsTest : public ::testing::Test {
 protected:
  TemplateCommandsTest() { std::ofstream(path_) << "max_restarts: 1\n"; }
  const std::string path_ = ::testing::TempDir() + "template.yaml";
  CleanEnvironment environment_;
};

TEST_F(TemplateCommandsTest, CreatesTemplateInWorkspace) {
  const DetResult created = RunDet("template create base " + path_ + " -w vision",
                                   {kVision, R"({"template":{"name":"base"}})"});
  ASSERT_TRUE(created.code.ok()) << created.code.status();
  EXPECT_THAT(created.requests[1], HasSubstr("POST /api/v1/templates/base "));
  EXPECT_THAT(created.requests[1], HasSubstr(R"("workspaceId":2)"));
  EXPECT_EQ(created.out, "created template base\n");
  const DetResult set = RunDet("tpl set base " + path_, {R"({"template":{"name":"base"}})"});
  EXPECT_THAT(set.requests[0], Not(HasSubstr(R"("workspaceId":2)")));
  const DetResult nowhere = RunDet("template create base " + path_ + " -w visoin", {kVision});
  EXPECT_TRUE(absl::IsNotFound(nowhere.code.status())) << nowhere.code.status();
}

TEST_F(TemplateCommandsTest, ListsTemplatesOfWorkspaces) {
  const DetResult result = RunDet(
      "template list -w vision --csv",
      {kVision, R"({"templates":[{"name":"base","config":{"name":"x","max_restarts":1}}]})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[1], HasSubstr("workspaceIds=2"));
  EXPECT_EQ(result.out, "NAME,FIELDS\nbase,\"max_restarts, name\"\n");
}

}  // namespace
}  // namespace det::cli
