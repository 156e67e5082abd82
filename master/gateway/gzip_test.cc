#include "master/gateway/gzip.h"

#include <string>

#include "gtest/gtest.h"

namespace det::gateway {
namespace {

std::string Text(size_t size) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) text += std::to_string(i * i);
  text.resize(size);
  return text;
}

TEST(GzipTest, RoundTrips) {
  for (const size_t size : {0, 1, 1000, 65536, 65537, 3'000'000}) {
    const std::string text = Text(size);
    const std::string packed = Gzip(text);
    const auto back = Gunzip(packed, size);
    ASSERT_TRUE(back.ok()) << size << ": " << back.status();
    EXPECT_EQ(*back, text);
    EXPECT_TRUE(size <= 1000 || packed.size() < size) << size;
  }
}

TEST(GzipTest, StopsAtLimit) {
  const std::string bomb = Gzip(std::string(100'000'000, 'x'));
  EXPECT_LT(bomb.size(), 1'000'000u);
  EXPECT_EQ(Gunzip(bomb, 70'000).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Gunzip(Gzip("abc"), 2).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(Gunzip(Gzip("abc"), 3).ok());
}

TEST(GzipTest, RejectsIncompleteGzip) {
  const std::string good = Gzip(Text(5000));
  for (const std::string& bad : {std::string("plain text"), std::string(), good.substr(0, 20),
                                 good.substr(0, good.size() - 1), good + "x"}) {
    EXPECT_EQ(Gunzip(bad, 10'000).status().code(), absl::StatusCode::kInvalidArgument)
        << bad.size();
  }
}

}  // namespace
}  // namespace det::gateway
