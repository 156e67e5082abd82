#include "cli/context_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "cli/config_file.h"
#include "cli/ignore_rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ContextDirTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) { return dir_.path() + "/" + name; }

  void Write(const std::string& name, const std::string& content = "x") {
    const std::string path = Path(name);
    ASSERT_TRUE(base::MakeDirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(base::WriteFileAtomically(path, content).ok());
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto entries = ReadContextDir(dir_.path());
    EXPECT_TRUE(entries.ok()) << entries.status();
    if (!entries.ok()) return names;
    for (const ContextEntry& entry : *entries) names.push_back(entry.path);
    return names;
  }

  std::string Refusal(int64_t limit = kContextLimit) {
    const auto entries = ReadContextDir(dir_.path(), limit);
    EXPECT_EQ(entries.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(entries.status().message());
  }

  base::TempDir dir_ = *base::TempDir::Create();
};

TEST_F(ContextDirTest, ReadsFilesFoldersAndLinks) {
  Write("b/run.sh", "echo\n");
  Write("a.txt", "hello");
  ASSERT_EQ(chmod(Path("b/run.sh").c_str(), 0755), 0);
  ASSERT_EQ(symlink("../a.txt", Path("b/link").c_str()), 0);
  const auto entries = ReadContextDir(dir_.path() + "/");
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 4u);
  EXPECT_EQ((*entries)[0].content, "hello");
  EXPECT_EQ((*entries)[1].kind, ContextEntry::Kind::kDirectory);
  EXPECT_EQ((*entries)[2].path, "b/link");
  EXPECT_EQ((*entries)[2].kind, ContextEntry::Kind::kLink);
  EXPECT_EQ((*entries)[2].content, "../a.txt");
  EXPECT_EQ((*entries)[3].mode, 0755u);
}

TEST_F(ContextDirTest, ExcludesIgnoredFiles) {
  Write(".detignore", "*.bin\n/data/\n!keep.bin\n");
  for (const char* name : {".git/config", "a.pyc", "__pycache__/x", "big.bin", "keep.bin", "data/x",
                           "sub/data/y", "bazel-out/z", "main.cc"}) {
    Write(name);
  }
  EXPECT_THAT(Names(),
              ElementsAre(".detignore", "keep.bin", "main.cc", "sub", "sub/data", "sub/data/y"));
}

TEST_F(ContextDirTest, RejectsLinksOutOfTheDirectory) {
  Write("sub/x");
  ASSERT_EQ(symlink("x/../../..", Path("sub/out").c_str()), 0);
  EXPECT_THAT(Refusal(), HasSubstr("sub/out points outside of it"));
  ASSERT_EQ(unlink(Path("sub/out").c_str()), 0);
  ASSERT_EQ(symlink(dir_.path().c_str(), Path("absolute").c_str()), 0);
  EXPECT_THAT(Refusal(), HasSubstr("absolute points outside of it"));
}

// a -> b -> outside: the target of a is inside, but b leads out.
TEST_F(ContextDirTest, RejectsChainsOfLinksOutOfTheDirectory) {
  ASSERT_EQ(symlink("b", Path("a").c_str()), 0);
  ASSERT_EQ(symlink("../outside", Path("b").c_str()), 0);
  EXPECT_THAT(Refusal(), HasSubstr("the link b points outside of it"));
  // Each link alone leads to a directory inside.
  ASSERT_EQ(unlink(Path("b").c_str()), 0);
  Write("sub/deep/x");
  ASSERT_EQ(symlink("../..", Path("sub/deep/b").c_str()), 0);
  ASSERT_EQ(unlink(Path("a").c_str()), 0);
  ASSERT_EQ(symlink("sub/deep/b/../outside", Path("a").c_str()), 0);
  EXPECT_THAT(Refusal(), HasSubstr("the link a points outside of it"));
  ASSERT_EQ(unlink(Path("a").c_str()), 0);
  ASSERT_EQ(symlink("sub/deep/b/sub", Path("a").c_str()), 0);
  EXPECT_THAT(Names(), ElementsAre("a", "sub", "sub/deep", "sub/deep/b", "sub/deep/x"));
}

TEST_F(ContextDirTest, RejectsNamesThatAreNotUtf8) {
  Write("sub/caf\xe9.txt");
  EXPECT_THAT(Refusal(), HasSubstr("the name sub/caf\\xe9.txt is not UTF-8"));
  Write(".detignore", "*.txt\n");
  EXPECT_THAT(Names(), ElementsAre(".detignore", "sub"));
  ASSERT_EQ(symlink("caf\xe9", Path("link").c_str()), 0);
  EXPECT_THAT(Refusal(), HasSubstr("the target of the link link, caf\\xe9, is not UTF-8"));
}

TEST_F(ContextDirTest, RejectsSpecialFiles) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(Refusal(), HasSubstr("pipe is not a file"));
}

TEST_F(ContextDirTest, NamesLargestFileAndTotal_WhenOverLimit) {
  Write("small", std::string(1024, 'x'));
  Write("large", std::string(3072, 'x'));
  EXPECT_TRUE(ReadContextDir(dir_.path(), 4096).ok());
  const std::string message = Refusal(4095);
  EXPECT_THAT(message, HasSubstr("4.0 KiB"));
  EXPECT_THAT(message, HasSubstr("large (3.0 KiB)"));
}

TEST_F(ContextDirTest, NamesPath_WhenNotADirectory) {
  Write("file");
  EXPECT_THAT(std::string(ReadContextDir(Path("file")).status().message()),
              HasSubstr("is not a directory"));
  EXPECT_THAT(std::string(ReadContextDir(Path("nowhere")).status().message()),
              HasSubstr("nowhere: No such file"));
}

TEST(IgnoreRulesTest, MatchesLikeGitignore) {
  const struct {
    const char* rules;
    const char* path;
    bool ignored;
  } kRows[] = {
      {"*.o", "a.o", true},
      {"*.o", "sub/a.o", true},
      {"*.o", "a.out", false},
      {"/a.o", "sub/a.o", false},
      {"sub/*.o", "sub/a.o", true},
      {"sub/*.o", "sub/deep/a.o", false},
      {"sub/**/a.o", "sub/a.o", true},
      {"sub/**/a.o", "sub/x/y/a.o", true},
      {"**/a.o", "x/a.o", true},
      {"a?c", "abc", true},
      {"a?c", "a/c", false},
      {"[a-c]x", "bx", true},
      {"[!a-c]x", "bx", false},
      {"dir/", "dir", false},
      {"# a.o", "a.o", false},
      {"*.o\n!a.o", "a.o", false},
      {"!a.o\n*.o", "a.o", true},
      {"\\!a", "!a", true},
  };
  for (const auto& row : kRows) {
    IgnoreRules rules;
    rules.Add(row.rules);
    EXPECT_EQ(rules.Ignores(row.path, false), row.ignored) << row.rules << " on " << row.path;
  }
}

TEST(ConfigFileTest, NamesLine_WhenNotUtf8) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string path = dir.path() + "/c.yaml";
  ASSERT_TRUE(base::WriteFileAtomically(path, "a: 1\nname: caf\xe9\n").ok());
  const absl::Status status = ReadConfig(path, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("c.yaml:2: is not UTF-8"));
  ASSERT_TRUE(base::WriteFileAtomically(path, "name: caf\xc3\xa9\n").ok());
  EXPECT_EQ(*ReadConfig(path, {}), "name: caf\xc3\xa9\n");
  EXPECT_THAT(std::string(ReadConfig(path, {"name=\xff"}).status().message()),
              HasSubstr("--config name=\\xff: is not UTF-8"));
  EXPECT_THAT(std::string(ReadConfig(dir.path() + "/\xff", {}).status().message()),
              HasSubstr("\\xff is not UTF-8; rename it"));
}

}  // namespace
}  // namespace det::cli
