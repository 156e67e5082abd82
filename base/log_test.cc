#include "base/log.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/recent_log.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace det::base {
namespace {

TEST(GetRecentLogTest, KeepsNewestLinesWithIncreasingIds) {
  InitLog({});
  int notified = 0;
  SetLogListener([&] { ++notified; });
  DET_LOG(WARNING) << "first" << Field("n", 1);
  DET_LOG(DEBUG) << "is not written";
  DET_LOG(INFO) << std::string(100'000, 'x');
  SetLogListener(nullptr);
  DET_LOG(INFO) << "third";
  EXPECT_EQ(notified, 2);
  const int64_t last = GetNewestLogLineId();
  const auto lines = GetRecentLog(last - 2, 10);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].level, LogLevel::kWarning);
  EXPECT_EQ(lines[0].text.substr(0, 10), "first n=1 ");
  EXPECT_LT(lines[1].text.size(), 20'000u);
  EXPECT_EQ(lines[2].id, last);
  EXPECT_EQ(GetRecentLog(last - 2, 1).size(), 1u);
  EXPECT_TRUE(GetRecentLog(last + 1, 10).empty());
  for (size_t i = 0; i < kMaxRecentLogLines; ++i)
    internal::RecordRecentLine(LogLevel::kInfo, "more");
  EXPECT_EQ(GetRecentLog(0, 2 * kMaxRecentLogLines).size(), kMaxRecentLogLines);
}

template <class F>
std::string CaptureStderr(F f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

TEST(LogTest, TextLineHasMessageFieldsAndPlace) {
  InitLog({});
  const std::string line = CaptureStderr([] {
    DET_LOG(WARNING) << "agent " << 3 << " lost" << Field("trial", 7) << Field("why", "no answer");
  });
  EXPECT_NE(line.find("WARNING agent 3 lost trial=7 why=\"no answer\" (log_test.cc:"),
            std::string::npos)
      << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

TEST(LogTest, SkipsEvaluation_WhenLevelIsDisabled) {
  InitLog({.level = LogLevel::kWarning});
  int calls = 0;
  EXPECT_EQ(CaptureStderr([&] { DET_LOG(INFO) << ++calls; }), "");
  EXPECT_EQ(calls, 0);
  SetLogLevel(LogLevel::kInfo);
  EXPECT_EQ(GetLogLevel(), LogLevel::kInfo);
  EXPECT_NE(CaptureStderr([&] { DET_LOG(INFO) << "said"; }), "");
  SetLogLevel(LogLevel::kWarning);
  EXPECT_NE(CaptureStderr([&] { DET_LOG(ERROR) << ++calls; }), "");
  EXPECT_EQ(calls, 1);
}

TEST(LogTest, JsonLinesAreValidForAnyContent) {
  InitLog({.json = true, .level = LogLevel::kDebug});
  const std::string line = CaptureStderr([] {
    DET_LOG(DEBUG) << "quote \" newline \n bad byte \xff" << Field("trial", 7) << Field("ok", true)
                   << Field("name", "a b") << Field("loss", 0.5);
  });
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["level"], "DEBUG");
  EXPECT_EQ(json["trial"], 7);
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["name"], "a b");
  EXPECT_EQ(json["loss"], 0.5);
  EXPECT_TRUE(json["message"].get<std::string>().starts_with("quote \" newline \n"));
}

TEST(LogTest, DoesNotMixLinesOfThreads) {
  InitLog({.json = true});
  const std::string text = CaptureStderr([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int n = 0; n < 100; ++n) DET_LOG(INFO) << "line" << Field("n", n);
      });
    }
    for (auto& thread : threads) thread.join();
  });
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
  EXPECT_EQ(count, 400);
}

}  // namespace
}  // namespace det::base
