#include "agent/keeper/line_splitter.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace det::agent {
namespace {

std::vector<std::string> Split(const std::vector<std::string>& chunks) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (const std::string& chunk : chunks) splitter.Feed(chunk, lines);
  splitter.Finish(lines);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineSplitterTest, SplitsLines) {
  EXPECT_EQ(Split({"a\nb\n"}), (Lines{"a", "b"}));
  EXPECT_EQ(Split({"a", "b\n", "c"}), (Lines{"ab", "c"}));
  EXPECT_EQ(Split({"\n\na\n"}), (Lines{"", "", "a"}));
  EXPECT_EQ(Split({"a\r\nb\r", "\nc"}), (Lines{"a", "b", "c"}));
  EXPECT_EQ(Split({"a\r\n\r\nb\n"}), (Lines{"a", "", "b"}));
  EXPECT_EQ(Split({}), Lines{});
}

TEST(LineSplitterTest, KeepsCarriageReturn_WhenNextLineOverwrites) {
  EXPECT_EQ(Split({"10%\r20%\r", "30%\n"}), (Lines{"10%\r", "20%\r", "30%"}));
  EXPECT_EQ(Split({"\r10%", "\r20%", "\n", "end\n"}), (Lines{"10%\r", "20%", "end"}));
  EXPECT_EQ(Split({"10%\r\r20%\r"}), (Lines{"10%\r", "20%"}));
  EXPECT_EQ(Split({"\r\r\n", "a\r\r\n"}), (Lines{"", "a"}));
}

TEST(LineSplitterTest, AppendsLineOfProgressBar_WhenFlushed) {
  LineSplitter splitter;
  Lines lines;
  const auto feed = [&](const std::string& chunk) {
    lines.clear();
    splitter.Feed(chunk, lines);
    return lines;
  };
  const auto flush = [&] {
    lines.clear();
    splitter.FlushReturn(lines);
    return lines;
  };
  EXPECT_EQ(feed("50%"), Lines{});
  EXPECT_FALSE(splitter.HasPendingReturn());
  EXPECT_EQ(flush(), Lines{}) << "the line has no end yet";
  EXPECT_EQ(feed("\r"), Lines{});
  EXPECT_TRUE(splitter.HasPendingReturn());
  EXPECT_EQ(flush(), Lines{"50%\r"});
  EXPECT_FALSE(splitter.HasPendingReturn());
  EXPECT_EQ(flush(), Lines{});
  EXPECT_EQ(feed("60%\r70%\r"), Lines{"60%\r"});
  EXPECT_EQ(flush(), Lines{"70%\r"});
  EXPECT_EQ(feed("\n"), Lines{"70%"}) << "nothing overwrites it";
  EXPECT_EQ(feed("\nend\n"), (Lines{"", "end"}));
  EXPECT_EQ(feed("80%\r"), Lines{});
  EXPECT_EQ(flush(), Lines{"80%\r"});
  EXPECT_EQ(feed("\r"), Lines{});
  EXPECT_EQ(feed("\r\nnext\n"), (Lines{"80%", "next"}));
  EXPECT_EQ(feed("90%\r"), Lines{});
  EXPECT_EQ(flush(), Lines{"90%\r"});
  EXPECT_EQ(feed("done\n\n"), (Lines{"done", ""}));
  EXPECT_EQ(feed("99%\r"), Lines{});
  EXPECT_EQ(flush(), Lines{"99%\r"});
  lines.clear();
  splitter.Finish(lines);
  EXPECT_EQ(lines, Lines{});
}

TEST(LineSplitterTest, CutsLongLinesBetweenCharacters) {
  const std::string text(LineSplitter::kMaxLine - 1, 'a');
  const Lines lines = Split({text, "\xC3\xA4 end\n"});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], text);
  EXPECT_EQ(lines[1], "\xC3\xA4 end");
  const Lines many = Split({std::string(200'000, 'x')});
  EXPECT_EQ(many.size(), 4u);
  for (const std::string& line : many) EXPECT_LE(line.size(), LineSplitter::kMaxLine);
}

}  // namespace
}  // namespace det::agent
