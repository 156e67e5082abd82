// det template: what it sends of workspaces, and prints.
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

class TemplateTest : public ::testing::Test {
 protected:
  TemplateTest() { std::ofstream(path_) << "max_restarts: 1\n"; }
  const std::string path_ = ::testing::TempDir() + "template.yaml";
  Nobody nobody_;
};

TEST_F(TemplateTest, LiesInTheWorkspaceThatIsNamed) {
  const Said made = Det("template create base " + path_ + " -w vision",
                        {kVision, R"({"template":{"name":"base"}})"});
  ASSERT_TRUE(made.code.ok()) << made.code.status();
  EXPECT_THAT(made.requests[1], HasSubstr("POST /api/v1/templates/base "));
  EXPECT_THAT(made.requests[1], HasSubstr(R"("workspaceId":2)"));
  EXPECT_EQ(made.out, "created template base\n");
  const Said set = Det("tpl set base " + path_, {R"({"template":{"name":"base"}})"});
  EXPECT_THAT(set.requests[0], Not(HasSubstr(R"("workspaceId":2)")));
  const Said nowhere = Det("template create base " + path_ + " -w visoin", {kVision});
  EXPECT_TRUE(absl::IsNotFound(nowhere.code.status())) << nowhere.code.status();
}

TEST_F(TemplateTest, ListsThoseOfSomeWorkspaces) {
  const Said said =
      Det("template list -w vision --csv",
          {kVision, R"({"templates":[{"name":"base","config":{"name":"x","max_restarts":1}}]})"});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  EXPECT_THAT(said.requests[1], HasSubstr("workspaceIds=2"));
  EXPECT_EQ(said.out, "NAME,SETS\nbase,\"max_restarts, name\"\n");
}

}  // namespace
}  // namespace det::cli
