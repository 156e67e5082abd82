#include "master/gateway/field_mask.h"

#include <string>

#include "det/api/v1/agent.pb.h"
#include "det/api/v1/run.pb.h"
#include "gtest/gtest.h"

namespace det::gateway {
namespace {

namespace api = det::api::v1;

const google::protobuf::Descriptor& Runs() { return *api::SearchRunsResponse::descriptor(); }

std::string Cut(const std::string& fields, const std::string& json) {
  const auto mask = FieldMask::Parse(fields, Runs());
  if (!mask.ok()) return mask.status().ToString();
  return mask->Apply(json).value();
}

TEST(FieldMaskTest, OmitsFieldsInEveryElement) {
  EXPECT_EQ(Cut("runs.id,runs.experiment.name",
                R"({"runs":[{"id":1,"state":"A","experiment":{"id":7,"name":"x"}},{"id":2}],)"
                R"("pagination":{"total":2}})"),
            R"({"runs":[{"id":1,"experiment":{"name":"x"}},{"id":2}]})");
}

TEST(FieldMaskTest, KeepsTheOrderNumbersAndEmptyLists) {
  EXPECT_EQ(Cut("pagination,runs", R"({"runs":[],"pagination":{"total":0.1}})"),
            R"({"runs":[],"pagination":{"total":0.1}})");
}

TEST(FieldMaskTest, SkipsUnnamedFields) {
  EXPECT_EQ(Cut("runs.id",
                R"({"pagination":[[{"runs":1}],{"id":[2]}],"runs":[{"hyperparameters":{"id":[{"a":)"
                R"([]}],"b":{}},"id":1,"labels":["x",["y"]]},{"labels":[]}],"more":null})"),
            R"({"runs":[{"id":1},{}]})");
}

TEST(FieldMaskTest, KeepsStringsUnchanged) {
  EXPECT_EQ(Cut("runs.state", R"({"runs":[{"state":"a\"b\\\n\u0001\u00e4"}]})"),
            "{\"runs\":[{\"state\":\"a\\\"b\\\\\\n\\u0001\u00e4\"}]}");
}

TEST(FieldMaskTest, AcceptsProtoNames) {
  EXPECT_EQ(Cut("runs.checkpoint_size", R"({"runs":[{"id":1,"checkpointSize":"12"}]})"),
            R"({"runs":[{"checkpointSize":"12"}]})");
}

TEST(FieldMaskTest, KeepsWholeMessage_WhenAlsoNamedInPart) {
  const std::string json = R"({"runs":[{"experiment":{"id":7,"name":"x"}}]})";
  EXPECT_EQ(Cut("runs.experiment.id,runs.experiment", json), json);
  EXPECT_EQ(Cut("runs.experiment,runs.experiment.id", json), json);
}

TEST(FieldMaskTest, SelectsInsideFreeFormJson) {
  EXPECT_EQ(Cut("runs.hyperparameters.optimizer.lr",
                R"({"runs":[{"hyperparameters":{"optimizer":{"lr":0.1,"b":2},"c":3}}]})"),
            R"({"runs":[{"hyperparameters":{"optimizer":{"lr":0.1}}}]})");
}

TEST(FieldMaskTest, SelectsMapValuesByKey) {
  const google::protobuf::Descriptor& agents = *api::GetAgentsResponse::descriptor();
  const auto mask = FieldMask::Parse("agents.slots.0.enabled", agents);
  ASSERT_TRUE(mask.ok()) << mask.status();
  EXPECT_EQ(
      *mask->Apply(R"({"agents":[{"id":"a","slots":{"0":{"id":"0","enabled":true},"1":{}}}]})"),
      R"({"agents":[{"slots":{"0":{"enabled":true}}}]})");
  EXPECT_EQ(FieldMask::Parse("agents.slots.0.enable", agents).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(FieldMaskTest, SuggestsNearestName) {
  const auto mask = FieldMask::Parse("runs.experimant.id", Runs());
  EXPECT_EQ(mask.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(mask.status().message(),
            "fields: \"runs.experimant.id\": FlatRun has no \"experimant\"; the nearest is "
            "\"experiment\"");
}

TEST(FieldMaskTest, RejectsPathBelowValue) {
  for (const char* path : {"runs.id.x", "runs.startTime.seconds"}) {
    EXPECT_EQ(FieldMask::Parse(path, Runs()).status().code(), absl::StatusCode::kInvalidArgument)
        << path;
  }
}

TEST(FieldMaskTest, RejectsEmptyPath) {
  for (const char* text : {"", "runs,", ",runs", "runs..id"}) {
    EXPECT_EQ(FieldMask::Parse(text, Runs()).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace det::gateway
