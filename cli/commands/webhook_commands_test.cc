// Commands for webhooks and config policies: requests and output.
#include <string>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WebhookCommandsTest : public ::testing::Test {
 protected:
  CleanEnvironment environment_;
};

constexpr char kWorkspaces[] = R"({"workspaces":[{"id":2,"name":"vision"}]})";

TEST_F(WebhookCommandsTest, CreatesWebhook) {
  const DetResult result = RunDet(
      "webhook create ci https://ci/s --workspace vision --state error --log o+ps --custom "
      "--metric accuracy~>=~0.9 --slack --specific",
      {kWorkspaces, R"({"webhook":{"id":7},"warnings":["the address is private"]})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  const std::string& sent = result.requests[1];
  EXPECT_THAT(sent, HasSubstr("POST /api/v1/webhooks "));
  for (const char* part :
       {R"("name":"ci")", R"("workspaceId":2)", R"("webhookType":"WEBHOOK_TYPE_SLACK")",
        R"("mode":"WEBHOOK_MODE_SPECIFIC")", R"("state":"ERROR")", R"("regex":"o+ps")",
        R"("triggerType":"TRIGGER_TYPE_CUSTOM")", R"("metric":"accuracy")", R"("op":">=")",
        R"("value":0.9)", R"("group":"validation")"}) {
    EXPECT_THAT(sent, HasSubstr(part));
  }
  EXPECT_EQ(result.out, "created webhook 7\n");
  EXPECT_THAT(result.err, HasSubstr("the address is private"));
  EXPECT_TRUE(IsUsageError(RunDet("webhook create ci https://ci", {}).code.status()));
  EXPECT_TRUE(IsUsageError(RunDet("webhook create ci https://ci --metric a", {}).code.status()));
}

TEST_F(WebhookCommandsTest, ListsWebhooksWithoutSecrets) {
  const char* all =
      R"({"webhooks":[{"id":7,"name":"ci","url":"https://u:p@ci.org/secret?k=1","workspaceId":2,
      "webhookType":"WEBHOOK_TYPE_DEFAULT","mode":"WEBHOOK_MODE_WORKSPACE","triggers":[
      {"triggerType":"TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE","condition":{"state":"ERROR"}},
      {"triggerType":"TRIGGER_TYPE_CUSTOM"}]},{"id":8,"name":"b","url":"http://b"}]})";
  const DetResult result = RunDet("webhook list --csv", {all});
  EXPECT_THAT(result.out, HasSubstr("7,ci,2,DEFAULT,WORKSPACE,https://…@ci.org/…,"));
  EXPECT_THAT(result.out, HasSubstr("state=ERROR, CUSTOM"));
  EXPECT_THAT(result.out, HasSubstr("8,b,all,"));
}

TEST_F(WebhookCommandsTest, EditsTestsAndDeletesWebhook) {
  EXPECT_THAT(RunDet("webhook edit 7 --url http://b", {"{}"}).requests[0],
              HasSubstr(R"(PATCH /api/v1/webhooks/7 {"url":"http://b","triggers":[]})"));
  EXPECT_TRUE(IsUsageError(RunDet("webhook edit 7", {}).code.status()));
  const std::string present = R"({"webhook":{"id":7,"triggers":[
      {"id":1,"triggerType":"TRIGGER_TYPE_CUSTOM"},
      {"id":2,"triggerType":"TRIGGER_TYPE_TASK_LOG","condition":{"regex":"oom"}}]}})";
  const DetResult edited =
      RunDet("webhook edit 7 --remove-trigger 1 --state completed", {present, "{}"});
  ASSERT_TRUE(edited.code.ok()) << edited.code.status();
  EXPECT_THAT(edited.requests[1], HasSubstr(R"("id":2)"));
  EXPECT_THAT(edited.requests[1], HasSubstr(R"("state":"COMPLETED")"));
  EXPECT_THAT(edited.requests[1], Not(HasSubstr("CUSTOM")));
  EXPECT_FALSE(RunDet("webhook edit 7 --remove-trigger 9", {present}).code.ok());
  EXPECT_FALSE(RunDet("webhook edit 7 --remove-trigger 1 --remove-trigger 2", {present}).code.ok());
  EXPECT_THAT(RunDet("webhook list-triggers 7 --csv", {present}).out,
              HasSubstr("1,CUSTOM,\n2,TASK_LOG,regex=oom\n"));
  const DetResult tried = RunDet("webhook test 7", {R"({"completed":true})"});
  EXPECT_THAT(tried.requests[0], HasSubstr("POST /api/v1/webhooks/7/test"));
  EXPECT_EQ(tried.out, "reached webhook 7\n");
  EXPECT_EQ(RunDet("webhook delete 7", {"{}"}).out, "deleted webhook 7\n");
  const char* rows =
      R"({"deliveries":[{"id":"9","triggerType":"TRIGGER_TYPE_TASK_LOG","state":"STATE_FAILED",
      "attempts":3,"error":"the receiver answered 500"}]})";
  const DetResult listed = RunDet("webhook deliveries 7 --csv", {rows});
  EXPECT_THAT(listed.out, HasSubstr("9,TASK_LOG,FAILED,"));
  EXPECT_THAT(listed.out, HasSubstr("the receiver answered 500"));
}

TEST_F(WebhookCommandsTest, SetsShowsAndDeletesPolicies) {
  const std::string path = testing::TempDir() + "/policy.yaml";
  ASSERT_TRUE(base::WriteFileAtomically(path, "constraints: {priority_limit: 40}\n", 0600).ok());
  const DetResult set =
      RunDet("config-policies set experiment " + path + " -w vision", {kWorkspaces, "{}"});
  ASSERT_TRUE(set.code.ok()) << set.code.status();
  EXPECT_THAT(set.requests[1], HasSubstr("PUT /api/v1/config-policies/workspaces/2/EXPERIMENT "));
  EXPECT_THAT(set.requests[1], HasSubstr(R"(constraints: {priority_limit: 40}\n)"));
  const DetResult shown = RunDet("config-policies describe tasks",
                                 {R"({"configPolicies":{"constraints":{"priority_limit":40}}})"});
  EXPECT_THAT(shown.requests[0], HasSubstr("GET /api/v1/config-policies/global/NTSC"));
  EXPECT_THAT(shown.out, HasSubstr("\"priority_limit\": 40"));
  const DetResult none = RunDet("cp describe experiment", {"{}"});
  EXPECT_THAT(none.err, HasSubstr("no policy"));
  EXPECT_THAT(RunDet("cp delete experiment", {"{}"}).requests[0],
              HasSubstr("DELETE /api/v1/config-policies/global/EXPERIMENT"));
  EXPECT_TRUE(IsUsageError(RunDet("cp describe shells", {}).code.status()));
}

}  // namespace
}  // namespace det::cli
