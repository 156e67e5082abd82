// Conversion of serialized messages to JSON.
#include "master/gateway/transcoder.h"

#include <string>

#include "det/api/v1/run.pb.h"
#include "google/protobuf/struct.pb.h"
#include <gtest/gtest.h>

namespace det::gateway {
namespace {

namespace api = det::api::v1;

// protobuf's own limit is 33 levels: a deeper value would fail its whole page.
TEST(TranscoderTest, WritesDeepValues) {
  google::protobuf::Struct whole;
  google::protobuf::Struct* at = &whole;
  std::string expected = "{}";
  for (int level = 0; level < 60; ++level) {
    at = (*at->mutable_fields())["a"].mutable_struct_value();
    expected = "{\"a\":" + expected + "}";
  }
  const auto json = Transcoder::Write(*whole.GetDescriptor(), whole.SerializeAsString());
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*json, expected);
}

TEST(TranscoderTest, RejectsInvalidBytes) {
  const auto& type = *google::protobuf::Struct::descriptor();
  EXPECT_FALSE(Transcoder::Write(type, "\x0a\xff").ok());
  EXPECT_FALSE(Transcoder::Write(type, "\x0b").ok());
}

TEST(TranscoderTest, SupportsFieldsForSearches) {
  const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      "det.api.v1.RunService");
  const auto transcoder = Transcoder::Make({service});
  ASSERT_TRUE(transcoder.ok()) << transcoder.status();
  const auto route = transcoder->Find("POST", "/api/v1/runs?fields=runs.id");
  ASSERT_TRUE(route.ok()) << route.status();
  const auto call = Transcoder::Read(*route, "{}");
  ASSERT_TRUE(call.ok()) << call.status();
  api::SearchRunsResponse found;
  found.add_runs()->set_id(7);
  const auto body = Transcoder::WriteBody(*call, found.SerializeAsString());
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(body->text, R"({"runs":[{"id":7}]})");
}

}  // namespace
}  // namespace det::gateway
