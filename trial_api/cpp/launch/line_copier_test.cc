#include "trial_api/cpp/launch/line_copier.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace det::launch {
namespace {

std::string Copied(const std::vector<std::string>& pieces) {
  std::string out;
  LineCopier copier("> ", [&out](std::string_view text) { out += text; });
  for (const std::string& piece : pieces) copier.Add(piece);
  copier.Finish();
  return out;
}

TEST(LineCopierTest, PrefixesEachLine) {
  EXPECT_EQ(Copied({"a\nb\n"}), "> a\n> b\n");
  EXPECT_EQ(Copied({"a", "b", "c\nd"}), "> abc\n> d\n");
  EXPECT_EQ(Copied({"\n\n"}), "> \n> \n");
  EXPECT_EQ(Copied({""}), "");
}

TEST(LineCopierTest, CarriageReturnEndsLine) {
  EXPECT_EQ(Copied({"\r10 %\r20 %\r\ndone\n"}), "> 10 %\n> 20 %\n> done\n");
}

TEST(LineCopierTest, LastLineIsLastNonEmptyLine) {
  LineCopier copier("> ", [](std::string_view) {});
  EXPECT_EQ(copier.last_line(), "");
  copier.Add("first\n  why it failed \n\n \n");
  EXPECT_EQ(copier.last_line(), "why it failed");
  copier.Add("without an end");
  copier.Finish();
  EXPECT_EQ(copier.last_line(), "without an end");
  copier.Add("ERROR: the reason\nWARNING: not reported\n");
  EXPECT_EQ(copier.last_line(), "ERROR: the reason");
}

TEST(LineCopierTest, WritesOnlyWholeLines) {
  std::vector<std::string> writes;
  LineCopier copier("> ", [&](std::string_view text) { writes.emplace_back(text); });
  copier.Add("a\nb");
  copier.Add("c");
  copier.Add("\n");
  EXPECT_EQ(writes, (std::vector<std::string>{"> a\n", "> bc\n"}));
}

TEST(LineCopierTest, SplitsLongLine) {
  const std::string out = Copied({std::string(70'000, 'x'), "y\n"});
  EXPECT_EQ(out, "> " + std::string(70'000, 'x') + "\n> y\n");
}

}  // namespace
}  // namespace det::launch
