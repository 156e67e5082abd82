#include "cli/table.h"

#include "absl/time/time.h"
#include "cli/format.h"
#include "cli/json_text.h"
#include "google/protobuf/timestamp.pb.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

Table Sample() {
  Table table({{"ID", true}, {"NAME", false, true}, {"STATE"}});
  table.AddRow({"7", "short", MakeStateCell("STATE_RUNNING")});
  table.AddRow({"128", "a-name-that-is-rather-long", MakeStateCell("STATE_ERROR")});
  return table;
}

TEST(TableTest, AlignsWithoutColor_WhenNotATerminal) {
  EXPECT_EQ(Sample().Render(Style()),
            " ID  NAME                        STATE\n"
            "  7  short                       ● RUNNING\n"
            "128  a-name-that-is-rather-long  ✕ ERROR\n");
}

TEST(TableTest, CsvHasRawValuesAndQuotes) {
  Table table({{"ID", true}, {"NAME", false, true}, {"STATE"}});
  table.AddRow({"7", "a, \"b\"\nc", MakeStateCell("STATE_RUNNING")});
  table.AddRow({"8", "-", "x"});
  EXPECT_EQ(table.RenderCsv(), "ID,NAME,STATE\n7,\"a, \"\"b\"\"\nc\",RUNNING\n8,,x\n");
}

TEST(TableTest, ShortensColumns_WhenTerminalIsNarrow) {
  EXPECT_EQ(Sample().Render(Style{.width = 28}),
            " ID  NAME          STATE\n"
            "  7  short         ● RUNNING\n"
            "128  a-name…-long  ✕ ERROR\n");
}

TEST(TableTest, ColorsHeaderAndStates_WhenTerminal) {
  const std::string text = Sample().Render(Style{.colour = true});
  EXPECT_NE(text.find("\x1b[1mSTATE\x1b[0m"), std::string::npos);
  EXPECT_NE(text.find("\x1b[31m✕ ERROR\x1b[0m"), std::string::npos);
}

TEST(TableTest, RemovesControlCharacters) {
  Table table({{"A"}, {"B"}});
  table.AddRow({"x\x1b[2Jy\nz", "b"});
  const std::string text = table.Render(Style());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(TableTest, RendersFieldsOnSeparateLines) {
  EXPECT_EQ(RenderFields({{"a", "1"}, {"long", "two\nlines"}, {"none", ""}}, Style()),
            "a     1\nlong  two\n      lines\nnone  -\n");
}

TEST(TableTest, TruncatesLines_WhenTerminalIsVeryNarrow) {
  EXPECT_EQ(Sample().Render(Style{.width = 18}),
            " ID  NAME      ST…\n"
            "  7  short     ● …\n"
            "128  a-na…ong  ✕ …\n");
}

TEST(TableTest, TrimsTrailingSpaces) {
  Table table({{"A"}, {"B"}, {""}});
  table.AddRow({"a", "b", ""});
  table.AddRow({"long", "", ""});
  EXPECT_EQ(table.Render(Style()), "A     B\na     b\nlong\n");
}

TEST(TerminalTest, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("● é…"), 4);
  EXPECT_EQ(ShortenMiddle("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(ShortenMiddle("äöüßäöüß", 5), "äö…üß");
  EXPECT_EQ(ShortenMiddle("abc", 3), "abc");
  EXPECT_EQ(ShortenMiddle("abc", 1), "…");
}

TEST(TerminalTest, WrapsTextAtSpaces) {
  EXPECT_EQ(WrapText("one two three", 0, 2), "one two three");
  EXPECT_EQ(WrapText("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(WrapText("größe two", 9, 0), "größe two");
  EXPECT_EQ(WrapText("a-word-that-is-long b", 9, 2), "a-word-that-is-long\n  b");
}

TEST(TerminalTest, TruncatesTextAndColors) {
  EXPECT_EQ(Truncate("abcdef", 6), "abcdef");
  EXPECT_EQ(Truncate("abcdefg", 6), "abcde…");
  EXPECT_EQ(Truncate("äöüß", 3), "äö…");
  EXPECT_EQ(Truncate("\x1b[34m●\x1b[0m ab", 4), "\x1b[34m●\x1b[0m ab");
  EXPECT_EQ(Truncate("\x1b[34m●\x1b[0m abc", 4), "\x1b[34m●\x1b[0m a…\x1b[0m");
  EXPECT_EQ(Truncate("\x1b[34mabc\x1b[0m", 2), "\x1b[34ma…\x1b[0m");
  EXPECT_EQ(Truncate("abc", 1), "…");
  EXPECT_EQ(Truncate("abc", 0), "");
}

TEST(JsonTextTest, DetectsInvalidUtf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("caf\xc3\xa9 … \xf0\x9f\x98\x80"));
  for (const char* bad : {"caf\xe9", "\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xc3"}) {
    EXPECT_FALSE(IsUtf8(bad)) << EscapeInvalidUtf8(bad);
  }
  EXPECT_EQ(EscapeInvalidUtf8("caf\xe9.txt"), "caf\\xe9.txt");
  EXPECT_EQ(EscapeInvalidUtf8("caf\xc3\xa9"), "caf\xc3\xa9");
}

TEST(FormatTest, FormatsValues) {
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(95 << 20), "95.0 MiB");
  EXPECT_EQ(FormatSpan(absl::Seconds(59)), "59 s");
  EXPECT_EQ(FormatSpan(absl::Minutes(64)), "1 h 04 min");
  EXPECT_EQ(FormatSpan(absl::Hours(72)), "3 d");
  EXPECT_EQ(FormatNumber(0.91317), "0.9132");
  EXPECT_EQ(FormatNumber(1e-7), "1.000e-07");
  EXPECT_EQ(FormatPercent(0.999), "99 %");
  EXPECT_EQ(FormatCount(1, "slot"), "1 slot");
  EXPECT_EQ(FormatCount(0, "slot"), "0 slots");
  EXPECT_EQ(FormatPercent(0.29), "29 %");
  EXPECT_EQ(TrimStatePrefix("STATE_STOPPING_KILLED"), "STOPPING_KILLED");
  EXPECT_TRUE(IsTerminal("STATE_CANCELED"));
  EXPECT_FALSE(IsTerminal("STATE_STOPPING_CANCELED"));
  google::protobuf::Timestamp time;
  EXPECT_EQ(FormatAge(time, absl::FromUnixSeconds(1)), "-");
  time.set_seconds(1'000'000);
  EXPECT_EQ(FormatAge(time, absl::FromUnixSeconds(1'000'240)), "4 min ago");
}

}  // namespace
}  // namespace det::cli
