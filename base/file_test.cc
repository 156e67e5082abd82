#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

namespace det::base {
namespace {

TEST(FileTest, WritesReadsAndReplacesFiles) {
  const auto dir = TempDir::Create();
  ASSERT_TRUE(dir.ok()) << dir.status();
  const std::string path = dir->path() + "/a";
  ASSERT_TRUE(WriteFileAtomically(path, std::string("one\0two", 7)).ok());
  EXPECT_EQ(*ReadFile(path), std::string("one\0two", 7));
  ASSERT_TRUE(WriteFileAtomically(path, "", 0600).ok());
  EXPECT_EQ(*ReadFile(path), "");
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // No temporary file is left.
  const auto begin = std::filesystem::directory_iterator(dir->path());
  EXPECT_EQ(std::distance(begin, std::filesystem::directory_iterator()), 1);
}

TEST(FileTest, ErrorsContainPath) {
  const auto missing = ReadFile("/no/such/file");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.status().message().find("/no/such/file"), absl::string_view::npos);
  EXPECT_EQ(WriteFileAtomically("/no/such/file", "x").code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadFile("/").ok());
}

TEST(FileTest, LeavesNoTemporaryFile_WhenReplaceFails) {
  const auto dir = TempDir::Create();
  ASSERT_TRUE(MakeDirs(dir->path() + "/target/full").ok());
  EXPECT_FALSE(WriteFileAtomically(dir->path() + "/target", "x").ok());
  const auto begin = std::filesystem::directory_iterator(dir->path());
  EXPECT_EQ(std::distance(begin, std::filesystem::directory_iterator()), 1);
}

TEST(FileTest, MakeDirsAcceptsExistingDirectories) {
  const auto dir = TempDir::Create("prefix");
  EXPECT_NE(dir->path().find("prefix"), std::string::npos);
  EXPECT_TRUE(MakeDirs(dir->path() + "/a/b/c").ok());
  EXPECT_TRUE(MakeDirs(dir->path() + "/a/b/c").ok());
  ASSERT_TRUE(WriteFileAtomically(dir->path() + "/file", "x").ok());
  EXPECT_FALSE(MakeDirs(dir->path() + "/file").ok());
  EXPECT_FALSE(MakeDirs(dir->path() + "/file/below").ok());
}

TEST(FileTest, WriteFileReplacesFileAndDoesNotFollowLink) {
  const auto dir = TempDir::Create();
  const std::string path = dir->path() + "/file";
  ASSERT_TRUE(WriteFile(path, "longer", 0644).ok());
  ASSERT_TRUE(WriteFile(path, "two", 0600).ok());
  EXPECT_EQ(*ReadFile(path), "two");
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::symlink(path.c_str(), (dir->path() + "/link").c_str()), 0);
  EXPECT_FALSE(WriteFile(dir->path() + "/link", "three").ok());
  EXPECT_FALSE(WriteFile(dir->path() + "/none/file", "x").ok());
  EXPECT_EQ(*ReadFile(path), "two");
}

TEST(FileTest, MakeDirsSetsPermissions) {
  const auto dir = TempDir::Create();
  ASSERT_TRUE(MakeDirs(dir->path() + "/a/private/", 0700).ok());
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(dir->path() + "/a/private").permissions(), fs::perms::owner_all);
  EXPECT_NE(fs::status(dir->path() + "/a").permissions(), fs::perms::owner_all);
}

TEST(FileTest, TempDirIsRemovedWithItsContents) {
  std::string path;
  {
    auto dir = TempDir::Create();
    path = dir->path();
    ASSERT_TRUE(MakeDirs(path + "/a/b").ok());
    const TempDir moved = *std::move(dir);
    EXPECT_EQ(moved.path(), path);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FileTest, LinkStaysInsideExaminesOnlyTheTexts) {
  for (const char* target : {"b", "./b", "../b", "../../b", "c/d", "../x/y"}) {
    EXPECT_TRUE(LinkStaysInside("a/b/link", target)) << target;
  }
  for (const char* target : {"", "/etc", "../../../b", "x/../../../..", "c/../d", "../c/.."}) {
    EXPECT_FALSE(LinkStaysInside("a/b/link", target)) << target;
  }
  EXPECT_FALSE(LinkStaysInside("link", ".."));
}

}  // namespace
}  // namespace det::base
