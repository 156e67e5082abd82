#include "master/api/checkpoints/checkpoint_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace det::api {
namespace {

using Format = CheckpointArchive::Format;

class CheckpointArchiveTest : public testing::TestWithParam<Format> {
 protected:
  // Adds a file that is read in chunks of ten bytes.
  void Add(const std::string& path, const std::string& content) {
    listed_[path] = static_cast<int64_t>(content.size());
    content_[path] = content;
  }
  CheckpointArchive Make() {
    return {GetParam(), listed_, absl::FromUnixSeconds(1'700'000'000),
            [this](const std::string& path) -> absl::StatusOr<ChunkReader> {
              if (!content_.contains(path)) return absl::FailedPreconditionError("missing");
              return [content = content_[path],
                      read = size_t{0}]() mutable -> absl::StatusOr<std::string> {
                std::string chunk = content.substr(read, 10);
                read += chunk.size();
                return chunk;
              };
            }};
  }
  absl::StatusOr<std::string> ReadAll(std::vector<size_t>* chunk_sizes = nullptr) {
    CheckpointArchive archive = Make();
    std::string all;
    while (true) {
      const absl::StatusOr<std::string> chunk = archive.Next();
      if (!chunk.ok()) return chunk.status();
      if (chunk->empty()) return all;
      if (chunk_sizes != nullptr) chunk_sizes->push_back(chunk->size());
      all += *chunk;
    }
  }
  static std::map<std::string, std::string> Unpack(const std::string& bytes) {
    std::map<std::string, std::string> out;
    archive* reader = archive_read_new();
    archive_read_support_filter_gzip(reader);
    archive_read_support_format_tar(reader);
    archive_read_support_format_zip(reader);
    EXPECT_EQ(archive_read_open_memory(reader, bytes.data(), bytes.size()), ARCHIVE_OK);
    archive_entry* entry = nullptr;
    while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
      std::string content(static_cast<size_t>(archive_entry_size(entry)), '\0');
      EXPECT_EQ(archive_read_data(reader, content.data(), content.size()),
                static_cast<la_ssize_t>(content.size()));
      EXPECT_EQ(archive_entry_mtime(entry), 1'700'000'000);
      out[archive_entry_pathname(entry)] = content;
    }
    archive_read_free(reader);
    return out;
  }

  CheckpointArchive::Files listed_;
  std::map<std::string, std::string> content_;
};

TEST_P(CheckpointArchiveTest, PacksAllFilesAndDirectories) {
  Add("model/state.pt", std::string(25, 'w'));
  Add("empty", "");
  Add("größe.txt", "ten");
  listed_["model/"] = 0;
  const absl::StatusOr<std::string> bytes = ReadAll();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(Unpack(*bytes),
            (std::map<std::string, std::string>{{"model/", ""},
                                                {"model/state.pt", std::string(25, 'w')},
                                                {"empty", ""},
                                                {"größe.txt", "ten"}}));
  EXPECT_EQ(bytes->starts_with("PK"), GetParam() == Format::kZip);
}

TEST_P(CheckpointArchiveTest, ReturnsArchiveInChunks) {
  std::string noise(6 << 20, '\0');
  uint32_t state = 1;
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  Add("weights", noise);
  std::vector<size_t> chunk_sizes;
  const absl::StatusOr<std::string> bytes = ReadAll(&chunk_sizes);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(Unpack(*bytes).at("weights"), noise);
  EXPECT_GT(chunk_sizes.size(), 3u);
  EXPECT_LT(*std::max_element(chunk_sizes.begin(), chunk_sizes.end()), size_t{2} << 20);
}

TEST_P(CheckpointArchiveTest, IsEmptyWithoutFiles) {
  const absl::StatusOr<std::string> bytes = ReadAll();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_TRUE(Unpack(*bytes).empty());
}

TEST_P(CheckpointArchiveTest, ReturnsErrorOfUnreadableFile) {
  Add("existing", "ten");
  listed_["missing"] = 3;
  EXPECT_EQ(ReadAll().status().message(), "missing");
}

TEST_P(CheckpointArchiveTest, ReturnsDataLoss_WhenSizeOfFileDiffers) {
  for (const int64_t listed : {2, 12, 30}) {
    Add("state.pt", std::string(listed == 2 ? 3 : 20, 'w'));
    listed_["state.pt"] = listed;
    EXPECT_EQ(ReadAll().status().code(), absl::StatusCode::kDataLoss) << listed;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, CheckpointArchiveTest, testing::Values(Format::kTgz, Format::kZip),
                         [](const auto& param) {
                           return param.param == Format::kTgz ? "Tgz" : "Zip";
                         });

}  // namespace
}  // namespace det::api
