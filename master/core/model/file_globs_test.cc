#include "master/core/model/file_globs.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::model {
namespace {

using ::testing::HasSubstr;

const Resources kFiles = {{"code/", 0},     {"code/lib/", 0},    {"code/lib/a.py", 1},
                          {"code/b.py", 2}, {"logs/", 0},        {"model.pt", 3},
                          {"opt.pt", 4},    {"opt_rank 0.pt", 5}};

std::string Left(const Globs& globs) {
  std::string names;
  for (const auto& [path, bytes] : GetRemaining(kFiles, globs)) {
    EXPECT_EQ(bytes, kFiles.at(path));
    names += (names.empty() ? "" : " ") + path;
  }
  return names;
}

constexpr char kCode[] = "code/ code/b.py code/lib/ code/lib/a.py ";

TEST(FileGlobsTest, MatchesWholePath) {
  EXPECT_EQ(Left({}), std::string(kCode) + "logs/ model.pt opt.pt opt_rank 0.pt");
  EXPECT_EQ(Left({"opt*"}), std::string(kCode) + "logs/ model.pt");
  EXPECT_EQ(Left({"opt?pt", "model.pt"}), std::string(kCode) + "logs/ opt_rank 0.pt");
  EXPECT_EQ(Left({"opt[_a-z]*"}), std::string(kCode) + "logs/ model.pt opt.pt");
  EXPECT_EQ(Left({"opt[!.]*"}), std::string(kCode) + "logs/ model.pt opt.pt");
  EXPECT_EQ(Left({"a.py", "b.py", "pt"}), Left({})) << "matches only the whole path";
  EXPECT_EQ(Left({"code/*.py"}),
            "code/ code/lib/ code/lib/a.py logs/ model.pt opt.pt opt_rank 0.pt");
  EXPECT_EQ(Left({"*"}), "code/ code/b.py code/lib/ code/lib/a.py") << "and the empty directory";
  EXPECT_EQ(Left({"code", "code/lib"}), Left({})) << "a directory is not a file";
}

TEST(FileGlobsTest, MatchesAnyDirectories_AndRemovesEmptiedOnes) {
  EXPECT_EQ(Left({"**/*.py"}), "logs/ model.pt opt.pt opt_rank 0.pt");
  EXPECT_EQ(Left({"**/b.py"}), "code/ code/lib/ code/lib/a.py logs/ model.pt opt.pt opt_rank 0.pt");
  EXPECT_EQ(Left({"code/**/a.py"}), "code/ code/b.py logs/ model.pt opt.pt opt_rank 0.pt");
  EXPECT_EQ(Left({"code/**"}), "logs/ model.pt opt.pt opt_rank 0.pt");
  EXPECT_EQ(Left({"code/"}), Left({"code/**"}));
  EXPECT_EQ(Left({"**/*.pt", "**/*.py"}), "logs/");
  EXPECT_FALSE(HasFiles(GetRemaining(kFiles, {"**/*.pt", "code/"})));
  for (const char* all : {"**", "**/*"}) {
    EXPECT_TRUE(MatchesAllFiles({"x", all}));
    EXPECT_EQ(Left({all}), "") << all;
  }
  EXPECT_FALSE(MatchesAllFiles({"*", "code/**", ""}));
}

TEST(FileGlobsTest, EscapesPathAsGlob) {
  for (const char* path : {"a*b", "a?", "[a]", "a\\b", "d/**", "d/[!x]*"}) {
    const Resources files = {{path, 1}, {"a1b", 1}, {"a", 1}, {"d/e/f", 1}, {"aXb", 1}};
    Resources others = files;
    others.erase(path);
    EXPECT_EQ(GetRemaining(files, {ToGlob(path)}), others) << path;
  }
}

TEST(FileGlobsTest, RejectsPatternsThatCannotMatch) {
  EXPECT_TRUE(CheckGlobs({"a", "**", "a/", "..a/b..", "[", "**/.x"}).ok());
  for (const char* wrong : {"", "/a", "a//b", "../a", "a/..", "./a", "/", "a//"}) {
    const absl::Status status = CheckGlobs({"fine", wrong});
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wrong;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"" + std::string(wrong) + "\""));
  }
  EXPECT_FALSE(CheckGlobs({std::string(2000, 'a')}).ok());
  EXPECT_FALSE(CheckGlobs(Globs(101, "a")).ok());
}

TEST(FileGlobsTest, ReportsNoFiles_WhenOnlyDirectories) {
  const Resources files = {{"logs/", 0}, {"model.pt", 1}};
  EXPECT_FALSE(MatchesFiles(files, {"log*"}));
  EXPECT_TRUE(MatchesFiles(files, {"model*"}));
}

}  // namespace
}  // namespace det::model
