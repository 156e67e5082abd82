#include "master/api/experiments/context_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace det::api {
namespace {

using Files = google::protobuf::RepeatedPtrField<v1::File>;

void Add(Files* files, const std::string& path, const std::string& content, int type = 48) {
  auto* file = files->Add();
  file->set_path(path);
  file->set_content(content);
  file->set_type(type);
}

std::map<std::string, std::string> Unpack(const std::string& tgz) {
  std::map<std::string, std::string> out;
  archive* reader = archive_read_new();
  archive_read_support_filter_gzip(reader);
  archive_read_support_format_tar(reader);
  EXPECT_EQ(archive_read_open_memory(reader, tgz.data(), tgz.size()), ARCHIVE_OK);
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
    std::string content(static_cast<size_t>(archive_entry_size(entry)), '\0');
    EXPECT_EQ(archive_read_data(reader, content.data(), content.size()),
              static_cast<la_ssize_t>(content.size()));
    const char* link = archive_entry_symlink(entry);
    out[archive_entry_pathname(entry)] = link != nullptr ? std::string("-> ") + link : content;
  }
  archive_read_free(reader);
  return out;
}

TEST(ContextArchiveTest, PacksFilesAndHashesTheirContent) {
  Files files;
  Add(&files, "b.txt", "bee");
  Add(&files, "./dir//a.txt", std::string("\0x", 2));
  Add(&files, "dir", "", 53);
  Add(&files, "dir/link", "../b.txt", 50);
  Files shuffled(files.rbegin(), files.rend());
  for (auto& file : shuffled) file.set_mtime(123456);
  const auto context = PackContext(files);
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_EQ(context->hash, PackContext(shuffled)->hash);
  EXPECT_EQ(context->hash.size(), 64u);
  const auto unpacked = Unpack(context->tgz);
  EXPECT_EQ(unpacked.at("b.txt"), "bee");
  EXPECT_EQ(unpacked.at("dir/a.txt"), std::string("\0x", 2));
  EXPECT_EQ(unpacked.at("dir/link"), "-> ../b.txt");
  EXPECT_TRUE(context->files.contains("dir/a.txt"));
  EXPECT_FALSE(context->files.contains("dir"));
  Add(&files, "c", "");
  EXPECT_NE(PackContext(files)->hash, context->hash);
}

TEST(ContextArchiveTest, KeepsNamesThatAreNotAscii) {
  Files files;
  Add(&files, "données/é.txt", "x");
  Add(&files, "lünk", "données/é.txt", 50);
  const auto context = PackContext(files);
  ASSERT_TRUE(context.ok()) << context.status();
  const auto unpacked = Unpack(context->tgz);
  EXPECT_EQ(unpacked.at("données/é.txt"), "x");
  EXPECT_EQ(unpacked.at("lünk"), "-> données/é.txt");
}

TEST(ContextArchiveTest, ReturnsEmptyArchiveWithoutFiles) {
  const auto context = PackContext({});
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(context->hash, "");
}

TEST(ContextArchiveTest, LimitsPaths) {
  std::string deep;
  for (size_t i = 1; i < kContextDepth; ++i) deep += "a/";
  EXPECT_TRUE(NormalizeContextPath(deep + "b").ok());
  EXPECT_EQ(NormalizeContextPath(deep + "b/c").status().message(),
            "context: path " + deep + "b/c: 65 path components; the limit is 64");
  EXPECT_TRUE(NormalizeContextPath(std::string(kContextPathLimit, 'x')).ok());
  const auto longer = NormalizeContextPath(std::string(kContextPathLimit + 1, 'x'));
  EXPECT_TRUE(absl::EndsWith(longer.status().message(), "xx...: 4097 bytes; the limit is 4096"))
      << longer.status();
}

TEST(ContextArchiveTest, RejectsPathsThatLeaveTheDirectory) {
  const struct {
    std::string path, content;
    int type;
  } rows[] = {
      {"/etc/passwd", "x", 48},
      {"../up", "x", 48},
      {"a/../../up", "x", 48},
      {"", "x", 48},
      {"link", "/etc/passwd", 50},
      {"d/link", "../../up", 50},
      {"link", "", 50},
      {"link", std::string("a\0b", 3), 50},
      {"fifo", "", 54},
  };
  for (const auto& row : rows) {
    Files files;
    Add(&files, row.path, row.content, row.type);
    const auto context = PackContext(files);
    EXPECT_EQ(context.status().code(), absl::StatusCode::kInvalidArgument) << row.path;
    EXPECT_NE(context.status().message().find(row.path), std::string::npos) << context.status();
  }
}

// A link to a link that leaves the directory, and two links that leave it only together.
TEST(ContextArchiveTest, RejectsLinksThatLeaveTogether) {
  Files chain;
  Add(&chain, "a", "b", 50);
  Add(&chain, "b", "../outside", 50);
  EXPECT_NE(PackContext(chain).status().message().find("link b -> ../outside"), std::string::npos);
  Files round;
  Add(&round, "sub/deep/b", "../..", 50);
  Add(&round, "a", "sub/deep/b/../outside", 50);
  EXPECT_NE(PackContext(round).status().message().find("link a -> sub/deep/b"), std::string::npos);
}

TEST(ContextArchiveTest, RejectsDuplicatePathsAndPathsThroughLinks) {
  Files twice;
  Add(&twice, "a", "1");
  Add(&twice, "./a", "2");
  EXPECT_FALSE(PackContext(twice).ok());
  Files through;
  Add(&through, "real", "", 53);
  Add(&through, "link", "real", 50);
  Add(&through, "link/a", "x");
  EXPECT_FALSE(PackContext(through).ok());
}

TEST(ContextArchiveTest, ReportsLargestFile_WhenDirectoryIsTooLarge) {
  Files files;
  Add(&files, "small.bin", std::string(1 << 20, 'x'));
  Add(&files, "large.bin", std::string(kContextLimit, 'x'));
  const auto context = PackContext(files);
  EXPECT_EQ(context.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(context.status().message().find("largest file is large.bin (95.0 MiB)"),
            std::string::npos)
      << context.status();
}

}  // namespace
}  // namespace det::api
