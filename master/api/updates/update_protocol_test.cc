#include "master/api/updates/update_protocol.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::api {
namespace {

using store::StreamedKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(UpdateIds, FormatsRanges) {
  EXPECT_EQ(FormatIds({}), "");
  EXPECT_EQ(FormatIds({7}), "7");
  EXPECT_EQ(FormatIds({1, 2, 3, 7, 9, 10}), "1-3,7,9-10");
}

TEST(UpdateIds, ReadsRanges) {
  EXPECT_THAT(*ParseIds(""), IsEmpty());
  EXPECT_THAT(*ParseIds("1-3,7"), ElementsAre(1, 2, 3, 7));
  for (const char* bad :
       {"a", "0", "-1", "1,", ",", "1-", "3-1", "2-2", "2,1", "1-3,3", "1--2", "99999999999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseIds(bad).status())) << bad;
  }
  EXPECT_THAT(ParseIds("1-2000000000").status().message(), HasSubstr("more than 1000000"));
}

TEST(UpdateRequest, ReadsSubscriptions) {
  const UpdateRequest request = *ParseUpdateRequest(
      R"({"sync_id": "s", "known": {"projects": "1-2", "models": ""},
          "subscribe": {"projects": {"workspace_ids": [1, 2], "project_ids": [5], "since": 9},
                        "models": {"model_ids": [3], "user_ids": [4]},
                        "modelversions": {"model_ids": [6], "model_version_ids": [7]}}})");
  EXPECT_EQ(request.sync_id, "s");
  ASSERT_EQ(request.subscriptions.size(), 3U);
  const auto& projects = request.subscriptions[0];
  EXPECT_EQ(projects.query.kind, StreamedKind::kProject);
  EXPECT_THAT(projects.query.workspaces, ElementsAre(1, 2));
  EXPECT_THAT(projects.query.ids, ElementsAre(5));
  EXPECT_THAT(projects.known, ElementsAre(1, 2));
  EXPECT_EQ(projects.since, 9);
  const auto& models = request.subscriptions[1];
  EXPECT_EQ(models.query.kind, StreamedKind::kModel);
  EXPECT_THAT(models.query.ids, ElementsAre(3));
  EXPECT_THAT(models.query.owners, ElementsAre(model::UserId(4)));
  EXPECT_EQ(models.since, 0);
  const auto& versions = request.subscriptions[2];
  EXPECT_EQ(versions.query.kind, StreamedKind::kVersion);
  EXPECT_THAT(versions.query.models, ElementsAre(6));
  EXPECT_THAT(versions.query.ids, ElementsAre(7));
}

TEST(UpdateRequest, AcceptsAbsentAndUnknownMembers) {
  EXPECT_THAT(ParseUpdateRequest(R"({"sync_id": "1"})")->subscriptions, IsEmpty());
  EXPECT_THAT(
      ParseUpdateRequest(R"({"sync_id": "1", "known": null, "subscribe": {"models": null}})")
          ->subscriptions,
      IsEmpty());
  EXPECT_EQ(ParseUpdateRequest(R"({"sync_id": "1", "colour": 1, "subscribe": {"modelversions":
                {"model_ids": [1], "workspace_ids": [2], "since": null}}})")
                ->subscriptions.size(),
            1U)
      << "the Python client sends workspaces of versions";
}

TEST(UpdateRequest, RefusesInvalidMessages) {
  const auto refusal = [](const std::string& text) {
    const absl::Status status = ParseUpdateRequest(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(""), "the message is not a JSON object");
  EXPECT_EQ(refusal("[]"), "the message is not a JSON object");
  EXPECT_EQ(refusal("{}"), "sync_id: expected text");
  EXPECT_EQ(refusal(R"({"sync_id": 1})"), "sync_id: expected text");
  EXPECT_EQ(refusal(R"({"sync_id": "1", "subscribe": []})"), "subscribe: expected an object");
  EXPECT_EQ(refusal(R"({"sync_id": "1", "known": "1"})"), "known: expected an object");
  EXPECT_EQ(refusal(R"({"sync_id": "1", "subscribe": {"models": 1}})"),
            "subscribe.models: expected an object");
  EXPECT_EQ(refusal(R"({"sync_id": "1", "subscribe": {"projects": {}}})"),
            "subscribe.projects: name the records to follow");
  EXPECT_EQ(refusal(R"({"sync_id": "1", "subscribe": {"projects": {"project_ids": [1, 0]}}})"),
            "subscribe.projects.project_ids: 0 is not an ID");
  EXPECT_EQ(refusal(R"({"sync_id": "1", "subscribe": {"projects": {"project_ids": 1}}})"),
            "subscribe.projects.project_ids: expected a list of IDs");
  EXPECT_EQ(
      refusal(R"({"sync_id": "1", "subscribe": {"projects": {"project_ids": [1], "since": -1}}})"),
      "subscribe.projects.since: expected the number of a change");
  EXPECT_THAT(refusal(R"({"sync_id": "1", "known": {"projects": "2,1"},
                          "subscribe": {"projects": {"project_ids": [1]}}})"),
              HasSubstr("known.projects: \"1\" is not an ID or a range after 2"));
}

KnownRecords MakeKnown(std::set<int32_t> ids, int64_t since) {
  return KnownRecords({.query = {}, .known = std::move(ids), .since = since});
}

TEST(KnownRecordsTest, FindsNewAndGoneRecords) {
  KnownRecords known = MakeKnown({1, 2}, 0);
  KnownRecords::Changes changes = known.Update({{2, 10}, {3, 11}});
  EXPECT_THAT(changes.gone, ElementsAre(1));
  EXPECT_THAT(changes.changed, ElementsAre(3)) << "the client has 2";
  changes = known.Update({{2, 12}, {3, 11}});
  EXPECT_THAT(changes.gone, IsEmpty());
  EXPECT_THAT(changes.changed, ElementsAre(2));
  changes = known.Update({});
  EXPECT_THAT(changes.gone, ElementsAre(2, 3));
}

TEST(KnownRecordsTest, SendsRecordsAgainThatChangedWhileTheClientWasAway) {
  KnownRecords known = MakeKnown({1, 2, 3}, 10);
  EXPECT_THAT(known.Update({{1, 9}, {2, 10}, {3, 11}}).changed, ElementsAre(3));
}

TEST(UpdateMessages, HaveExactlyTheMembersThatClientsExpect) {
  EXPECT_EQ(MakeSyncMessage("a", false), R"({"complete":false,"sync_id":"a"})");
  EXPECT_EQ(MakeDeletedMessage(StreamedKind::kVersion, {1, 2}),
            R"({"modelversions_deleted":"1-2"})");
  EXPECT_EQ(MakeDeletedMessage(StreamedKind::kModel, {}), R"({"models_deleted":""})");

  store::StreamedProject project;
  project.project.id = 3;
  project.project.workspace = 2;
  project.project.name = "dogs";
  project.project.key = "DOG";
  project.project.owner = model::UserId(4);
  project.project.notes = {{"n", "c"}};
  project.created_at = absl::FromUnixSeconds(1'700'000'000);
  project.seq = 5;
  EXPECT_EQ(MakeRecordMessage(project),
            R"({"project":{"archived":false,"created_at":"2023-11-14T22:13:20Z","description":"",)"
            R"("id":3,"immutable":false,"key":"DOG","name":"dogs",)"
            R"("notes":[{"contents":"c","name":"n"}],"seq":5,"state":"UNSPECIFIED","user_id":4,)"
            R"("workspace_id":2}})");

  store::StreamedModel model;
  model.model.id = 3;
  model.model.name = "bert";
  model.model.workspace = 2;
  model.model.owner = model::UserId(4);
  model.model.labels = {"a"};
  model.model.created_at = model.model.updated_at = absl::UnixEpoch();
  model.seq = 6;
  EXPECT_EQ(MakeRecordMessage(model),
            R"({"model":{"archived":false,"creation_time":"1970-01-01T00:00:00Z","description":"",)"
            R"("id":3,"labels":["a"],"last_updated_time":"1970-01-01T00:00:00Z","metadata":{},)"
            R"("name":"bert","notes":"","seq":6,"user_id":4,"workspace_id":2}})");

  store::StreamedVersion version;
  version.version.id = 8;
  version.version.model = 3;
  version.version.version = 1;
  version.version.checkpoint = model::CheckpointId("c");
  version.version.owner = model::UserId(4);
  version.version.created_at = version.version.updated_at = absl::UnixEpoch();
  version.workspace = 2;
  version.seq = 7;
  EXPECT_EQ(MakeRecordMessage(version, /*in_sync=*/false),
            R"({"modelversion":{"checkpoint_uuid":"c","comment":"",)"
            R"("creation_time":"1970-01-01T00:00:00Z","id":8,"labels":[],)"
            R"("last_updated_time":"1970-01-01T00:00:00Z","metadata":{},"model_id":3,"name":"",)"
            R"("notes":"","seq":7,"user_id":4,"version":1,"workspace_id":"2"}})");
  EXPECT_THAT(MakeRecordMessage(version, /*in_sync=*/true), HasSubstr(R"("workspace_id":"")"));
}

}  // namespace
}  // namespace det::api
