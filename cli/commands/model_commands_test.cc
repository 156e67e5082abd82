// Commands for models: requests, output and errors.
#include <string>

#include "cli/arguments.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ModelCommandsTest : public ::testing::Test {
 protected:
  CleanEnvironment environment_;
};

constexpr char kModels[] =
    R"({"models":[{"id":2,"name":"bert","workspaceId":1,"workspaceName":"vision","numVersions":3,"username":"ann",
    "labels":["nlp","base"],"creationTime":"2026-11-21T09:00:00Z",
    "lastUpdatedTime":"2026-11-21T10:00:00Z"}]})";
constexpr char kVersion[] =
    R"({"version":3,"name":"best","comment":"of May","username":"ann",
    "creationTime":"2026-11-21T09:00:00Z","model":{"id":2,"name":"bert","workspaceId":1},
    "checkpoint":{"uuid":"c1","size":"2048","storagePath":"/data/c1",
    "training":{"experimentId":7,"trialId":9,"validationMetrics":{"avgMetrics":{"loss":0.5}}}}})";

TEST_F(ModelCommandsTest, ListsModels) {
  const DetResult result = RunDet("m ls -w vision --label nlp --csv", {kModels});
  EXPECT_EQ(result.out,
            "ID,NAME,WORKSPACE,VERSIONS,CREATED,UPDATED,OWNER,LABELS\n"
            "2,bert,vision,3,2026-11-21T09:00:00Z,2026-11-21T10:00:00Z,ann,\"nlp, base\"\n");
  for (const char* part : {"archived=false", "labels=nlp", "workspace", "=vision", "ORDER_BY_ASC",
                           "SORT_BY_LAST_UPDATED_TIME"}) {
    EXPECT_THAT(result.requests[0], HasSubstr(part));
  }
  const DetResult all = RunDet("model list --all --sort-by name --order-by desc --json", {kModels});
  EXPECT_THAT(all.requests[0], Not(HasSubstr("archived")));
  EXPECT_THAT(all.requests[0], HasSubstr("SORT_BY_NAME"));
  EXPECT_THAT(all.requests[0], HasSubstr("ORDER_BY_DESC"));
  EXPECT_THAT(all.out, HasSubstr("\"name\": \"bert\""));
  EXPECT_THAT(RunDet("model list", {"{}"}).err, HasSubstr("det model create NAME"));
  EXPECT_TRUE(IsUsageError(RunDet("model list --sort-by size", {}).code.status()));
  EXPECT_TRUE(IsUsageError(RunDet("model list --order-by up", {}).code.status()));
}

TEST_F(ModelCommandsTest, ShowsModelWithLatestOrGivenVersion) {
  const DetResult result =
      RunDet("model describe bert", {std::string(R"({"model":{"id":2,"name":"bert","numVersions":3,
          "notes":"Trained in May."},"modelVersions":[)") +
                                     kVersion + "]}"});
  EXPECT_THAT(result.requests[0], HasSubstr("GET /api/v1/models/bert/versions?"));
  EXPECT_THAT(result.requests[0], HasSubstr("limit=1"));
  for (const char* part :
       {"2  bert", "Trained in May.", "best", "of May", "c1", "2.0 KiB in /data/c1", "loss=0.5"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  const DetResult third = RunDet("model describe bert --version 3",
                                 {std::string(R"({"modelVersion":)") + kVersion + "}"});
  EXPECT_THAT(third.requests, ElementsAre("GET /api/v1/models/bert/versions/3"));
  EXPECT_THAT(third.out, HasSubstr("of May"));
}

TEST_F(ModelCommandsTest, ListsAndRegistersVersions) {
  const DetResult list = RunDet("model list-versions bert --csv",
                                {std::string(R"({"modelVersions":[)") + kVersion + "]}"});
  EXPECT_EQ(list.out,
            "VERSION,NAME,CHECKPOINT,EXPERIMENT,TRIAL,CREATED,OWNER,COMMENT\n"
            "3,best,c1,7,9,2026-11-21T09:00:00Z,ann,of May\n");
  EXPECT_THAT(list.requests[0], HasSubstr("ORDER_BY_DESC"));
  const DetResult created =
      RunDet("model register-version bert c1 --comment of~May --label good --metadata {\"k\":1}",
             {std::string(R"({"modelVersion":)") + kVersion + "}"});
  ASSERT_TRUE(created.code.ok()) << created.code.status();
  EXPECT_THAT(created.requests[0], HasSubstr("POST /api/v1/models/bert/versions "));
  for (const char* part : {R"("checkpointUuid":"c1")", R"("comment":"of May")", R"(["good"])",
                           R"("metadata":{"k":1)"}) {
    EXPECT_THAT(created.requests[0], HasSubstr(part));
  }
  EXPECT_EQ(created.out, "registered version 3 of model bert: checkpoint c1\n");
  EXPECT_TRUE(
      IsUsageError(RunDet("model register-version bert c1 --metadata no", {}).code.status()));
}

TEST_F(ModelCommandsTest, CreatesAndChangesModels) {
  const DetResult created = RunDet("model create bert -w vision --description of~May --label nlp",
                                   {R"({"model":{"id":2,"name":"bert"}})"});
  EXPECT_EQ(created.out, "created model bert (id 2)\n");
  for (const char* part :
       {R"("workspaceName":"vision")", R"("description":"of May")", R"(["nlp"])"}) {
    EXPECT_THAT(created.requests[0], HasSubstr(part));
  }
  EXPECT_THAT(RunDet("model edit bert --new-name b", {R"({"model":{"name":"b"}})"}).requests,
              ElementsAre(HasSubstr(R"(PATCH /api/v1/models/bert {"name":"b")")));
  EXPECT_TRUE(IsUsageError(RunDet("model edit bert", {}).code.status()));
  EXPECT_THAT(RunDet("model archive bert", {"{}"}).requests,
              ElementsAre(HasSubstr("POST /api/v1/models/bert/archive")));
  EXPECT_EQ(RunDet("model unarchive bert", {"{}"}).out, "unarchived model bert\n");
  const DetResult moved =
      RunDet("model move bert vision", {R"({"workspaces":[{"id":5,"name":"vision"}]})", "{}"});
  EXPECT_THAT(moved.requests[1], HasSubstr("POST /api/v1/models/bert/move "));
  EXPECT_THAT(moved.requests[1], HasSubstr(R"("destinationWorkspaceId":5)"));
  EXPECT_EQ(moved.out, "moved model bert to workspace vision\n");
}

TEST_F(ModelCommandsTest, ConfirmsBeforeDeleting) {
  EXPECT_FALSE(RunDet("model delete bert", {}).code.ok());
  EXPECT_THAT(RunDet("model delete bert --yes", {"{}"}).requests,
              ElementsAre("DELETE /api/v1/models/bert"));
  EXPECT_FALSE(RunDet("model delete-version bert 3", {}).code.ok());
  const DetResult deleted = RunDet("model delete-version bert 3 --yes", {"{}"});
  EXPECT_THAT(deleted.requests, ElementsAre("DELETE /api/v1/models/bert/versions/3"));
  EXPECT_EQ(deleted.out, "deleted version 3 of model bert\n");
}

}  // namespace
}  // namespace det::cli
