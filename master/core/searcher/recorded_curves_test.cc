#include "master/core/searcher/recorded_curves.h"

#include <cmath>

#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::Hparams;
using model::Value;

constexpr char kCsv[] =
    "lr,net.width,optimizer,momentum,length,loss,accuracy\n"
    "0.001,8,adam,,1,2.0,0.1\n"
    "0.001,8,adam,,4,1.0,0.5\n"
    "0.1,8,sgd,0.9,1,3.0,0.2\r\n"
    "0.1,8,sgd,0.9,4,nan,\n"
    "\n"
    "0.1,16,\"s,\"\"g\"\"\",0.1,1,5.0,0.3\n";

Hparams Point(double lr, int width, const char* optimizer) {
  return {{"lr", lr}, {"net", Value::Object{{"width", width}}}, {"optimizer", optimizer}};
}

TEST(RecordedCurvesTest, ReturnsNearestConfiguration) {
  const auto curves = RecordedCurves::Parse(kCsv, "c.csv");
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->configurations(), 3u);
  EXPECT_EQ(curves->longest(), 4);
  EXPECT_EQ(curves->metrics(), (std::vector<std::string>{"loss", "accuracy"}));
  EXPECT_EQ(curves->At(Point(0.002, 9, "adam"), 4)[0], 1.0);
  // The logarithm of 0.009 is nearer to that of 0.001 than to that of 0.1; the different optimizer
  // still decides.
  Hparams sgd = Point(0.009, 8, "sgd");
  sgd.emplace("momentum", 0.8);
  EXPECT_EQ(curves->At(sgd, 1)[0], 3.0);
  Hparams odd = Point(0.1, 16, "s,\"g\"");
  odd.emplace("momentum", 0.2);
  EXPECT_EQ(curves->At(odd, 1)[1], 0.3);
}

TEST(RecordedCurvesTest, ReturnsLongestLengthUpToRequested) {
  const auto curves = *RecordedCurves::Parse(kCsv, "c.csv");
  const Hparams point = Point(0.001, 8, "adam");
  EXPECT_EQ(curves.At(point, 0.5)[0], 2.0) << "before the first";
  EXPECT_EQ(curves.At(point, 3.9)[0], 2.0);
  EXPECT_EQ(curves.At(point, 100)[0], 1.0);
  Hparams sgd = Point(0.1, 8, "sgd");
  sgd.emplace("momentum", 0.9);
  EXPECT_TRUE(std::isnan(curves.At(sgd, 4)[0]));
  EXPECT_TRUE(std::isnan(curves.At(sgd, 4)[1]));
}

TEST(RecordedCurvesTest, HandlesOverflowOfDistances) {
  const auto curves = *RecordedCurves::Parse("lr,length,loss\n0,1,2.5\n", "c.csv");
  EXPECT_EQ(curves.At({{"lr", 1e200}}, 1)[0], 2.5);
}

TEST(RecordedCurvesTest, ReportsPositionOfProblems) {
  const auto message = [](const char* csv) {
    return std::string(RecordedCurves::Parse(csv, "c.csv").status().message());
  };
  EXPECT_EQ(message(""), "c.csv:1: expected a header and rows of validations");
  EXPECT_EQ(message("a,b\n1,2\n"), "c.csv:1: expected hyperparameters, then length, then metrics");
  EXPECT_EQ(message("a,length,loss\n1,1,2\n1,2\n"),
            "c.csv:3: expected 3 fields as in the header, found 2");
  EXPECT_EQ(message("a,length,loss\n1,long,2\n"),
            "c.csv:2: length: expected a number, found \"long\"");
}

}  // namespace
}  // namespace det::searcher
