#include "cli/arguments.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Option> kOptions = {
    {"follow", 'f', "", ""}, {"config", 'c', "K=V", ""}, {"json", 'j', "", ""}};
const std::vector<Positional> kWords = {{"CONFIG", ""}, {"DIR", "", true}};

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& argv) {
  return ParseArguments(kOptions, kWords, argv);
}

TEST(ArgumentsTest, AcceptsOptionsAndWordsInAnyOrder) {
  const auto args = Parse({"-f", "a.yaml", "--config", "x=1", "dir", "--config=y=2"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_TRUE(args->Has("follow"));
  EXPECT_FALSE(args->Has("json"));
  EXPECT_EQ(args->Word("CONFIG"), "a.yaml");
  EXPECT_EQ(args->Word("DIR"), "dir");
  EXPECT_THAT(args->GetAll("config"), ElementsAre("x=1", "y=2"));
  EXPECT_EQ(args->Get("config"), "y=2");
}

TEST(ArgumentsTest, AcceptsCombinedLetters) {
  const auto args = Parse({"a", "-fjc", "x=1"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_TRUE(args->Has("follow"));
  EXPECT_TRUE(args->Has("json"));
  EXPECT_EQ(args->Get("config"), "x=1");
  EXPECT_EQ(Parse({"a", "-cx=1"})->Get("config"), "x=1");
}

TEST(ArgumentsTest, ParsesNegativeNumberAsWord) {
  EXPECT_EQ(Parse({"a", "-1"})->Word("DIR"), "-1");
}

TEST(ArgumentsTest, ParsesAllAsWords_AfterDoubleDash) {
  const auto args = Parse({"--", "-f", "--json"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_EQ(args->Word("CONFIG"), "-f");
  EXPECT_EQ(args->Word("DIR"), "--json");
}

TEST(ArgumentsTest, ReportsErrors) {
  const struct {
    std::vector<std::string> argv;
    const char* message;
  } kRows[] = {
      {{}, "missing CONFIG"},
      {{"a", "b", "c"}, "unexpected word \"c\""},
      {{"a", "--folow"}, "unknown option --folow; did you mean --follow?"},
      {{"a", "--zzzzzzzz"}, "unknown option --zzzzzzzz"},
      {{"a", "-x"}, "unknown option -x"},
      {{"a", "--config"}, "--config needs a value: K=V"},
      {{"a", "--config", ""}, "--config needs a value: K=V"},
      {{"a", "--config="}, "--config needs a value: K=V"},
      {{"a", "--follow=yes"}, "--follow takes no value"},
  };
  for (const auto& row : kRows) {
    const auto args = Parse(row.argv);
    EXPECT_THAT(std::string(args.status().message()), HasSubstr(row.message));
    EXPECT_TRUE(IsUsageError(args.status())) << row.message;
  }
}

TEST(ArgumentsTest, ValidatesNumbers) {
  const std::vector<Option> options = {{"port", 0, "P", ""}};
  const auto parse = [&](const std::string& text) {
    return ParseArguments(options, {{"ID", ""}}, {"7", "--port", text});
  };
  EXPECT_EQ(*parse("80")->GetInt("port", 1, 1, 100), 80);
  EXPECT_EQ(*parse("80")->Id("ID"), 7);
  for (const char* bad : {"x", "0", "101", "8 0"}) {
    EXPECT_TRUE(IsUsageError(parse(bad)->GetInt("port", 1, 1, 100).status())) << bad;
  }
  EXPECT_EQ(*Parse({"a"})->GetInt("port", 42, 1, 100), 42);
  EXPECT_TRUE(IsUsageError(Parse({"a"})->Id("CONFIG").status()));
}

TEST(ArgumentsTest, UnsupportedOptionNamesAlternative) {
  const std::vector<Option> options = {{"local", 'l', "", "", "run it by hand"}};
  for (const char* word : {"--local", "-l"}) {
    const auto args = ParseArguments(options, {}, {word});
    EXPECT_TRUE(IsUsageError(args.status()));
    EXPECT_EQ(args.status().message(), "--local is not supported: run it by hand");
  }
  EXPECT_EQ(ParseArguments(options, {}, {"--locas"}).status().message(), "unknown option --locas");
}

TEST(ArgumentsTest, CompletesShortenedNames) {
  const std::vector<Option> options = {
      {"test-mode", 't', "", "Test"}, {"tail", 0, "N", "Lines"}, {"tail-all", 0, "", "All"}};
  EXPECT_TRUE(ParseArguments(options, {}, {"--test"})->Has("test-mode"));
  EXPECT_TRUE(ParseArguments(options, {}, {"--test_m"})->Has("test-mode"));
  EXPECT_EQ(ParseArguments(options, {}, {"--tail=3"})->Get("tail"), "3");
  EXPECT_EQ(ParseArguments(options, {}, {"--ta", "3"}).status().message(),
            "--ta is ambiguous: --tail or --tail-all");
  EXPECT_EQ(ParseArguments(options, {{"WORD", ""}}, {"--", "--test"})->Word("WORD"), "--test");
}

TEST(ArgumentsTest, AcceptsOtherSpellings) {
  std::vector<Option> options = {{"output", 'o', "DIR", "Directory"}};
  options.push_back({.name = "output-dir", .value = "DIR", .same_as = "output"});
  options.push_back({.name = "message", .letter = 'm', .value = "TEXT", .same_as = "MESSAGE"});
  options.push_back({.name = "table", .hidden = true});
  const std::vector<Positional> positionals = {{"MESSAGE", ""}};
  const auto args =
      ParseArguments(options, positionals, {"--output-dir", "x", "--table", "-m", "hi"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_EQ(args->Get("output"), "x");
  EXPECT_EQ(args->Word("MESSAGE"), "hi");
  EXPECT_EQ(ParseArguments(options, positionals, {"-m", "hi", "there"}).status().message(),
            "unexpected word \"there\"");
  EXPECT_EQ(ParseArguments(options, positionals, {}).status().message(), "missing MESSAGE");
}

TEST(ArgumentsTest, AcceptsEmptyValue_WhereAllowed) {
  const std::vector<Option> options = {{"password", 0, "P", "Password", "", true},
                                       {"name", 0, "N", "Name"}};
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--password=", "bob"}, {"bob", "--password", ""}, {"--pass=", "bob"}}) {
    const auto args = ParseArguments(options, {{"USER", ""}}, words);
    ASSERT_TRUE(args.ok()) << args.status();
    EXPECT_EQ(args->Get("password"), "");
    EXPECT_EQ(args->Word("USER"), "bob");
  }
}

TEST(NearestTest, FindsOnlySimilarWords) {
  EXPECT_EQ(FindNearest("expriment", {"agent", "experiment"}), "experiment");
  EXPECT_EQ(FindNearest("zebra", {"agent", "experiment"}), std::nullopt);
  EXPECT_EQ(FindNearest("foo", {"job", "fork"}), std::nullopt);
  EXPECT_EQ(FindNearest("jab", {"job", "fork"}), "job");
}

}  // namespace
}  // namespace det::cli
