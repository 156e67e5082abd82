#include "master/api/updates/update_follower.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"

namespace det::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UpdateFollowerTest : public ::testing::Test {
 protected:
  UpdateFollowerTest() {
    other_ = store_.workspaces().AddWorkspace({.name = "other"})->id;
    second_ = AddProject("second", other_);
  }

  int32_t AddProject(const std::string& name, int32_t workspace) {
    store::ProjectRecord record;
    record.workspace = workspace;
    record.name = record.key = name;
    record.owner = model::UserId(1);
    return store_.projects().AddProject(record)->id;
  }

  // Subscribes and returns the messages up to the end of the sync.
  std::vector<std::string> Subscribe(const std::string& known, const std::string& spec) {
    EXPECT_TRUE(follower_
                    .Subscribe(absl::StrCat(R"({"sync_id": "s", "known": {"projects": ")", known,
                                            R"("}, "subscribe": {"projects": )", spec, "}}"))
                    .ok());
    return Next();
  }
  std::vector<std::string> Next() { return *follower_.Next(visible_); }

  store::FakeStore store_{store::MakeFakeDatabase()};
  UpdateFollower follower_{&store_.streamed_records()};
  UpdateFollower::Visible visible_;
  int32_t other_ = 0;   // a workspace
  int32_t second_ = 0;  // a project in it
  const std::string begin_ = R"({"complete":false,"sync_id":"s"})";
  const std::string end_ = R"({"complete":true,"sync_id":"s"})";
};

TEST_F(UpdateFollowerTest, SendsDeletionsAndRecordsBetweenTheMessagesOfTheSync) {
  EXPECT_THAT(Next(), IsEmpty()) << "without a subscription";
  EXPECT_THAT(Subscribe("1,999", R"({"project_ids": [1, 2, 999]})"),
              ElementsAre(begin_, R"({"projects_deleted":"999"})", HasSubstr("\"second\""), end_));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(Subscribe("1,2", R"({"project_ids": [1, 2]})"),
              ElementsAre(begin_, R"({"projects_deleted":""})", end_))
      << "a new request replaces the subscription";
}

TEST_F(UpdateFollowerTest, SendsChangesMovesAndDeletions) {
  Subscribe("", absl::StrCat(R"({"workspace_ids": [)", other_, "]}"));
  const int32_t third = AddProject("third", other_);
  EXPECT_THAT(Next(), ElementsAre(HasSubstr("\"third\"")));
  ASSERT_TRUE(store_.projects().ChangeProject(third, {.description = "new"}).ok());
  EXPECT_THAT(Next(), ElementsAre(HasSubstr("\"description\":\"new\"")));
  ASSERT_TRUE(store_.projects().ChangeProject(third, {.workspace = 1}).ok());
  EXPECT_THAT(Next(), ElementsAre(absl::StrCat(R"({"projects_deleted":")", third, "\"}")));
  ASSERT_TRUE(store_.projects().ChangeProject(third, {.workspace = other_}).ok());
  EXPECT_THAT(Next(), ElementsAre(HasSubstr("\"third\"")));
  ASSERT_TRUE(store_.projects().DeleteProject(third).ok());
  EXPECT_THAT(Next(), ElementsAre(absl::StrCat(R"({"projects_deleted":")", third, "\"}")));
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(UpdateFollowerTest, SendsOnlyWhatTheClientMaySee) {
  visible_.projects = std::vector<int32_t>{1};
  EXPECT_THAT(Subscribe("2", R"({"project_ids": [1, 2]})"),
              ElementsAre(begin_, R"({"projects_deleted":"2"})", HasSubstr("\"UNCAT\""), end_));
  visible_.projects = std::vector<int32_t>{1, other_};
  EXPECT_THAT(Next(), ElementsAre(HasSubstr("\"second\""))) << "the client got a role";
  visible_.projects = std::vector<int32_t>{other_};
  EXPECT_THAT(Next(), ElementsAre(R"({"projects_deleted":"1"})")) << "the client lost a role";
}

TEST_F(UpdateFollowerTest, SendsManyRecordsInParts) {
  for (int i = 0; i < 600; ++i) AddProject(absl::StrCat("p", i), other_);
  size_t received = Subscribe("", absl::StrCat(R"({"workspace_ids": [)", other_, "]}")).size();
  EXPECT_LT(received, 600U);
  for (auto messages = Next(); !messages.empty(); messages = Next()) received += messages.size();
  EXPECT_GE(received, 600U + 3);
}

TEST_F(UpdateFollowerTest, RefusesInvalidMessages) {
  EXPECT_TRUE(absl::IsInvalidArgument(follower_.Subscribe("hello")));
}

}  // namespace
}  // namespace det::api
