// Messages as JSON, of their bytes.
#include "master/gateway/transcoder.h"

#include <string>

#include "google/protobuf/struct.pb.h"
#include <gtest/gtest.h>

namespace det::gateway {
namespace {

// protobuf's own limit is at 33: a value of that kind would take its whole page with it.
TEST(TranscoderTest, WhatIsDeepIsWritten) {
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

TEST(TranscoderTest, BytesOfNoMessageAreAnError) {
  const auto& type = *google::protobuf::Struct::descriptor();
  EXPECT_FALSE(Transcoder::Write(type, "\x0a\xff").ok());
  EXPECT_FALSE(Transcoder::Write(type, "\x0b").ok());
}

}  // namespace
}  // namespace det::gateway
