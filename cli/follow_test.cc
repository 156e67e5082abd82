#include "cli/follow.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/testing/fake_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string LogLine(int id, const std::string& text) {
  return absl::StrCat(R"({"result":{"id":")", id, R"(","log":")", text, "\"}}\n");
}

std::string State(const std::string& state) {
  return absl::StrCat(R"({"result":{"experiment":{"id":7,"name":"x","state":")", state, "\"}}}\n");
}

int CountOccurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class FollowTest : public ::testing::Test {
 protected:
  absl::Status Print(const std::string& url, RetryPolicy retry) {
    api::v1::TrialLogsRequest request;
    request.set_trial_id(3);
    request.set_follow(true);
    return PrintLogs(ApiClient(url, ""), request, LogFormat::kText, &screen_, retry);
  }

  Screen screen_{Style(), Style()};
};

TEST_F(FollowTest, PrintsEachLineOnce_WhenMasterRestarts) {
  FakeServer server({
      Chunked({LogLine(1, "one"), LogLine(2, "two"), "{\"result\":{\"id\":\"3\""}, /*end=*/false),
      Answer("503 Service Unavailable", "starting"),
      Chunked({R"({"error":{"code":1,"error":"stopping"}})"
               "\n"}),
      Chunked({LogLine(1, "one"), LogLine(2, "two"), LogLine(3, "three")}),
  });
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const absl::Status status = Print(server.url(), RetryPolicy(&screen_));
  const std::string out = testing::internal::GetCapturedStdout();
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(status.ok()) << status;
  for (const char* line : {"one\n", "two\n", "three\n"})
    EXPECT_EQ(CountOccurrences(out, line), 1) << out;
  EXPECT_EQ(CountOccurrences(err, "waiting for it"), 1) << err;
  EXPECT_EQ(CountOccurrences(err, "\n"), 1) << err;
}

TEST_F(FollowTest, ResumesAfterLastLine) {
  std::vector<std::string> requests;
  {
    FakeServer server({Chunked({LogLine(5, "five"), LogLine(8, "eight")}, /*end=*/false),
                       Chunked({LogLine(9, "nine")})});
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_TRUE(Print(server.url(), RetryPolicy(&screen_)).ok());
    testing::internal::GetCapturedStdout();
    testing::internal::GetCapturedStderr();
    requests = server.requests;
  }
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_THAT(requests[0], Not(HasSubstr("afterId")));
  EXPECT_THAT(requests[1], HasSubstr("afterId=8"));
}

TEST_F(FollowTest, StopsWaiting_AfterLimit) {
  FakeServer server({Chunked({LogLine(1, "one")}, /*end=*/false)});
  testing::internal::CaptureStderr();
  const absl::Status status = Print(server.url(), RetryPolicy(&screen_, absl::Milliseconds(300)));
  EXPECT_EQ(CountOccurrences(testing::internal::GetCapturedStderr(), "waiting for it"), 1);
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsAborted(status)) << status;
}

TEST_F(FollowTest, DoesNotWait_WhenMasterNeverResponded) {
  std::string url;
  {
    FakeServer gone({});
    url = gone.url();
  }
  testing::internal::CaptureStderr();
  const absl::Status status = Print(url, RetryPolicy(&screen_, absl::InfiniteDuration()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(FollowTest, EndsLog_AfterError) {
  FakeServer server({Answer("404 Not Found", R"({"error":{"error":"trial 3 not found"}})")});
  EXPECT_EQ(Print(server.url(), RetryPolicy(&screen_)).message(), "trial 3 not found");
}

TEST_F(FollowTest, FollowsExperimentThroughRestart) {
  FakeServer server({
      Chunked({State("STATE_QUEUED")}, /*end=*/false),
      Chunked({State("STATE_RUNNING")}),
      Chunked({State("STATE_RUNNING"), State("STATE_COMPLETED")}),
  });
  std::vector<std::string> seen;
  testing::internal::CaptureStderr();
  const auto last = FollowExperiment(
      ApiClient(server.url(), ""), 7, &screen_, [&](const api::v1::Experiment& experiment) {
        seen.push_back(api::v1::Experiment::State_Name(experiment.state()));
      });
  const std::string err = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->state(), api::v1::Experiment::STATE_COMPLETED);
  EXPECT_THAT(seen,
              ElementsAre("STATE_QUEUED", "STATE_RUNNING", "STATE_RUNNING", "STATE_COMPLETED"));
  EXPECT_EQ(CountOccurrences(err, "waiting for it"), 2)
      << "once for each time that it was away: " << err;
}

api::v1::Experiment Running() {
  api::v1::Experiment experiment;
  experiment.set_id(42);
  experiment.set_name("a-name-that-is-rather-long-for-so-small-a-terminal");
  experiment.set_state(api::v1::Experiment::STATE_RUNNING);
  experiment.mutable_progress()->set_value(0.62F);
  experiment.set_state_reason("two\nlines\x1b[2J");
  return experiment;
}

TEST(ProgressLineTest, ShortensLongName) {
  for (const bool colour : {false, true}) {
    const Style style{.colour = colour, .in_place = true, .width = 40};
    const std::string line = Truncate(ProgressLine(Running(), absl::Now(), style), style.width - 1);
    EXPECT_THAT(line, HasSubstr("62 %  running")) << line;
    EXPECT_THAT(line, HasSubstr("a-name")) << line;
    EXPECT_THAT(line, HasSubstr("…")) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_THAT(ProgressLine(Running(), absl::Now(), Style()), HasSubstr(Running().name()));
}

TEST(ProgressLineTest, RemovesControlCharacters) {
  EXPECT_THAT(ProgressLine(Running(), absl::Now(), Style()), Not(HasSubstr("\x1b")));
}

TEST(ProgressLineTest, ShowsNoFullProgress_WhenFailed) {
  api::v1::Experiment experiment = Running();
  experiment.set_state(api::v1::Experiment::STATE_ERROR);
  EXPECT_EQ(ProgressText(experiment), "62 %");
  experiment.mutable_progress()->set_value(1);
  EXPECT_EQ(ProgressText(experiment), "-");
  experiment.set_state(api::v1::Experiment::STATE_STOPPING_ERROR);
  EXPECT_EQ(ProgressText(experiment), "-");
  experiment.set_state(api::v1::Experiment::STATE_COMPLETED);
  EXPECT_EQ(ProgressText(experiment), "100 %");
}

}  // namespace
}  // namespace det::cli
