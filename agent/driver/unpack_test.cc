#include "agent/driver/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

struct Entry {
  std::string path;
  std::string content;
  unsigned type = AE_IFREG;
  std::string link = "";
  unsigned mode = 0644;
};

class UnpackTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_.emplace(*base::TempDir::Create("det-unpack"));
    ASSERT_TRUE(base::MakeDirs(work()).ok());
  }
  std::string work() const { return dir_->path() + "/work"; }
  std::string archive_path() const { return dir_->path() + "/context.tgz"; }

  void Pack(const std::vector<Entry>& entries) {
    archive* writer = archive_write_new();
    archive_write_add_filter_gzip(writer);
    archive_write_set_format_gnutar(writer);
    ASSERT_EQ(archive_write_open_filename(writer, archive_path().c_str()), ARCHIVE_OK);
    for (const Entry& entry : entries) {
      archive_entry* header = archive_entry_new();
      archive_entry_set_pathname(header, entry.path.c_str());
      archive_entry_set_perm(header, entry.mode);
      if (entry.type == AE_IFREG && !entry.link.empty()) {
        archive_entry_set_hardlink(header, entry.link.c_str());
      } else {
        archive_entry_set_filetype(header, entry.type);
        if (entry.type == AE_IFLNK) archive_entry_set_symlink(header, entry.link.c_str());
      }
      archive_entry_set_size(header, static_cast<la_int64_t>(entry.content.size()));
      ASSERT_EQ(archive_write_header(writer, header), ARCHIVE_OK) << archive_error_string(writer);
      archive_write_data(writer, entry.content.data(), entry.content.size());
      archive_entry_free(header);
    }
    archive_write_close(writer);
    archive_write_free(writer);
  }
  absl::Status UnpackArchive() {
    return Unpack(base::Fd(::open(archive_path().c_str(), O_RDONLY)), work());
  }

  std::optional<base::TempDir> dir_;
};

TEST_F(UnpackTest, UnpacksFilesDirectoriesAndLinks) {
  Pack({{"./", "", AE_IFDIR},
        {"a.txt", "hello"},
        {"sub/run.sh", "#!/bin/sh\n", AE_IFREG, "", 04755},
        {"sub/link", "", AE_IFLNK, "../a.txt"},
        {"hard", "", AE_IFREG, "a.txt"}});
  ASSERT_TRUE(UnpackArchive().ok()) << UnpackArchive();
  EXPECT_EQ(*base::ReadFile(work() + "/a.txt"), "hello");
  EXPECT_EQ(*base::ReadFile(work() + "/sub/link"), "hello");
  EXPECT_EQ(*base::ReadFile(work() + "/hard"), "hello");
  struct stat info{};
  ASSERT_EQ(::stat((work() + "/sub/run.sh").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u) << "no set-id bit";
}

TEST_F(UnpackTest, RejectsEntriesOutsideTheDirectory) {
  const std::pair<Entry, std::string> cases[] = {
      {{"../out", "x"}, "../out"},
      {{"a/../../out", "x"}, "a/../../out"},
      {{"/tmp/det-unpack-out", "x"}, "/tmp/det-unpack-out"},
      {{"up", "", AE_IFLNK, "../out"}, "symbolic link up points to ../out"},
      {{"sub/up", "", AE_IFLNK, "../../out"}, "sub/up"},
      {{"abs", "", AE_IFLNK, "/etc/passwd"}, "/etc/passwd"},
      {{"sneaky", "", AE_IFLNK, "a/../../out"}, "sneaky"},
      {{"hard", "", AE_IFREG, "../out"}, "hard"},
      {{"pipe", "", AE_IFIFO}, "pipe"},
      {{".", "x"}, "which is not a directory"},
      {{"./", "", AE_IFLNK, "elsewhere"}, "which is not a directory"},
  };
  for (const auto& [entry, expected_text] : cases) {
    Pack({entry});
    const absl::Status status = UnpackArchive();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << entry.path << ": " << status;
    EXPECT_NE(status.message().find(expected_text), std::string::npos) << status;
  }
  EXPECT_FALSE(std::filesystem::exists(dir_->path() + "/out"));
}

// Links that leave the directory only together: a -> b -> outside, and a chain in which each link
// points inside.
TEST_F(UnpackTest, RejectsChainsOfLinksThatLeaveTheDirectory) {
  const std::pair<std::vector<Entry>, std::string> cases[] = {
      {{{"a", "", AE_IFLNK, "b"}, {"b", "", AE_IFLNK, "../outside"}}, "link b points"},
      {{{"b", "", AE_IFLNK, "../outside"}, {"a", "", AE_IFLNK, "b"}}, "link b points"},
      {{{"sub/deep/b", "", AE_IFLNK, "../.."}, {"a", "", AE_IFLNK, "sub/deep/b/../outside"}},
       "link a points"},
  };
  for (const auto& [entries, expected_text] : cases) {
    Pack(entries);
    const absl::Status status = UnpackArchive();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find(expected_text), std::string::npos) << status;
  }
}

TEST_F(UnpackTest, DoesNotWriteThroughLinks) {
  // An existing link that leads outside, and an entry below it.
  ASSERT_TRUE(base::MakeDirs(dir_->path() + "/outside").ok());
  std::filesystem::create_directory_symlink(dir_->path() + "/outside", work() + "/exit");
  Pack({{"exit/file", "x"}});
  EXPECT_FALSE(UnpackArchive().ok());
  EXPECT_FALSE(std::filesystem::exists(dir_->path() + "/outside/file"));
}

TEST_F(UnpackTest, RejectsDamagedArchive) {
  Pack({{"a.txt", std::string(100'000, 'x')}});
  std::string bytes = *base::ReadFile(archive_path());
  ASSERT_TRUE(base::WriteFileAtomically(archive_path(), bytes.substr(0, bytes.size() / 2)).ok());
  EXPECT_TRUE(absl::IsDataLoss(UnpackArchive())) << UnpackArchive();
  ASSERT_TRUE(base::WriteFileAtomically(archive_path(), "not an archive").ok());
  EXPECT_TRUE(absl::IsDataLoss(UnpackArchive())) << UnpackArchive();
}

TEST_F(UnpackTest, WritesRunFiles) {
  ASSERT_TRUE(WriteRunFiles({{"info/trial.json", "{}", 0640}, {"x", "y", 0}}, work()).ok());
  EXPECT_EQ(*base::ReadFile(work() + "/info/trial.json"), "{}");
  struct stat info{};
  ASSERT_EQ(::stat((work() + "/info/trial.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  ASSERT_EQ(::stat((work() + "/x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  for (const char* path : {"../x", "/x", "a/../../x", "", "a/"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(WriteRunFiles({{path, "", 0}}, work()))) << path;
  }
}

}  // namespace
}  // namespace det::agent
