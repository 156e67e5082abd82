// Curves as text, and the frame of `det experiment watch`.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/watch_frame.h"
#include "cli/plot.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Style Terminal(int width, int height) {
  return {.colour = false, .in_place = true, .width = width, .height = height};
}

TEST(PlotTest, DrawsRisingLineFromCornerToCorner) {
  const std::vector<std::string> lines =
      Plot({{Paint::kPlain, {{0, 0}, {100, 1}}}}, 24, 5, "batches", Style());
  EXPECT_THAT(lines, ElementsAre("1.0000 ┤           ⣀⠤⠔⠒⠉", "       │     ⣀⡠⠤⠒⠊⠉     ",
                                 "0.0000 ┤⣀⠤⠔⠒⠉           ", "       └────────────────",
                                 "        0    100 batches"));
}

TEST(PlotTest, OmitsUnavailableValues) {
  EXPECT_THAT(Plot({}, 40, 8, "batches", Style()), IsEmpty());
  EXPECT_THAT(Plot({{Paint::kPlain, {{1, kNan}}}}, 40, 8, "batches", Style()), IsEmpty());
  EXPECT_THAT(Plot({{Paint::kPlain, {{1, 1}}}}, 10, 8, "batches", Style()), IsEmpty());
  const std::vector<std::string> lines = Plot(
      {{Paint::kPlain, {{0, 1}, {1, kNan}, {2, 1e308}, {3, -1e308}}}}, 40, 8, "batches", Style());
  EXPECT_EQ(lines.size(), 8u);
  EXPECT_THAT(lines[0], HasSubstr("1.000e+308"));
}

TEST(PlotTest, DrawsPointAndKeepsWidth) {
  const std::vector<std::string> lines =
      Plot({{Paint::kSeries0, {{5, 2}}}}, 30, 6, "batches", Style());
  ASSERT_EQ(lines.size(), 6u);
  for (const std::string& line : lines) EXPECT_EQ(DisplayWidth(line), 30) << line;
}

TEST(PlotTest, UsesColorOfTopCurve) {
  const std::vector<std::pair<double, double>> same = {{0, 0}, {1, 1}};
  Style style = Terminal(80, 24);
  style.colour = true;
  const std::string text = absl::StrJoin(
      Plot({{Paint::kSeries0, same}, {Paint::kSeries1, same}}, 30, 6, "batches", style), "\n");
  EXPECT_THAT(text, HasSubstr("\x1b[38;5;74m"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b[38;5;214m")));
}

Watched Example() {
  Watched watched;
  const auto read = [](const std::string& text, google::protobuf::Message* message) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, message));
  };
  read(R"pb(id: 42 name: "mnist" state: STATE_RUNNING num_trials: 9 searcher_metric: "error")pb",
       &watched.experiment);
  for (const int id : {7, 3}) {
    read(absl::StrCat("id: ", id,
                      " state: STATE_RUNNING best_validation {} searcher_metric_value: 0.25"),
         &watched.trials.emplace_back());
    for (const int batches : {100, 200}) {
      read(absl::StrCat("trial_id: ", id, " total_batches: ", batches,
                        R"( metrics { fields { key: "avg_metrics" value { struct_value {
                              fields { key: "error" value { number_value: 0.5 } }
                              fields { key: "loss" value { number_value: 2 } }
                              fields { key: "note" value { string_value: "x" } } } } } })"),
           &watched.reports.emplace_back());
    }
  }
  watched.search = "rung one\nrung two\n";
  return watched;
}

TEST(WatchFrameTest, ShowsStateCurvesTrialsAndRungs) {
  const std::string text =
      absl::StrJoin(WatchFrame(Example(), "error", absl::Now(), Terminal(80, 30)), "\n");
  for (const char* part : {"● 42 mnist", "\nerror\n", "200 batches", "TRIAL", "rung two"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(MetricNames(Example()), ElementsAre("error", "loss"));
}

TEST(WatchFrameTest, FitsTerminal) {
  for (const auto& [width, height] : {std::pair(80, 24), {40, 12}, {20, 5}, {8, 2}}) {
    const auto lines = WatchFrame(Example(), "error", absl::Now(), Terminal(width, height));
    EXPECT_LT(static_cast<int>(lines.size()), height);
    for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
  }
}

TEST(WatchTest, PrintsLinePerChange_WhenNotATerminal) {
  const std::string stream =
      R"({"result":{"experiment":{"id":7,"name":"x","state":"STATE_RUNNING"}}})"
      "\n"
      R"({"result":{"experiment":{"id":7,"name":"x","state":"STATE_COMPLETED","progress":1}}})"
      "\n";
  const DetResult result = RunDet("e watch 7", {stream});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_EQ(*result.code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("running"));
  EXPECT_THAT(result.err, HasSubstr("✓ 7 x   COMPLETED"));
}

}  // namespace
}  // namespace det::cli
