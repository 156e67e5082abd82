#include "master/gateway/json_cache.h"

#include <string>

#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/overview.pb.h"
#include "gtest/gtest.h"
#include "master/gateway/transcoder.h"

namespace det::gateway {
namespace {

std::string Watched(int reports, size_t size) {
  api::v1::WatchExperimentResponse message;
  message.set_reports(reports);
  message.mutable_experiment()->set_notes(std::string(size, 'n'));
  return message.SerializeAsString();
}

class JsonCacheTest : public testing::Test {
 protected:
  JsonCache::Text Write(const std::string& message) {
    const auto json = recent_.Write(watched_, message);
    EXPECT_TRUE(json.ok()) << json.status();
    EXPECT_EQ(**json, *Transcoder::Write(watched_, message));
    return *json;
  }

  const google::protobuf::Descriptor& watched_ = *api::v1::WatchExperimentResponse::descriptor();
  JsonCache recent_;
};

TEST_F(JsonCacheTest, ConvertsEqualMessagesOnce) {
  const JsonCache::Text first = Write(Watched(1, 1000));
  EXPECT_EQ(Write(Watched(1, 1000)), first) << "the text must be the same object";
  EXPECT_NE(Write(Watched(2, 1000)), first);
  EXPECT_EQ(Write(Watched(1, 1000)), first) << "evicted too early";
}

TEST_F(JsonCacheTest, EvictsOldest) {
  const JsonCache::Text first = Write(Watched(0, 1000));
  for (int other = 1; other <= 16; ++other) Write(Watched(other, 1000));
  EXPECT_EQ(first.use_count(), 1) << "is still cached";
  EXPECT_NE(Write(Watched(0, 1000)), first);
}

TEST_F(JsonCacheTest, SkipsSmallAndHugeMessages) {
  for (const size_t size : {size_t{1}, JsonCache::kMaxSize + 1}) {
    EXPECT_EQ(Write(Watched(1, size)).use_count(), 1) << size;
  }
}

TEST_F(JsonCacheTest, DistinguishesTypes) {
  // The bytes of one type may be valid for another type, with different fields.
  const auto& overview = *api::v1::GetOverviewResponse::descriptor();
  const std::string message = Watched(1, 1000);
  const JsonCache::Text json = Write(message);
  const auto other = recent_.Write(overview, message);
  ASSERT_EQ(other.ok(), Transcoder::Write(overview, message).ok());
  if (other.ok()) {
    EXPECT_NE(**other, *json);
  }
}

TEST_F(JsonCacheTest, RejectsInvalidMessage) {
  const std::string bad(1000, '\xff');
  EXPECT_FALSE(recent_.Write(watched_, bad).ok());
  EXPECT_FALSE(recent_.Write(watched_, bad).ok()) << "the second call must fail like the first";
}

}  // namespace
}  // namespace det::gateway
