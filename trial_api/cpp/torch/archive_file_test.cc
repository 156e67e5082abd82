#include "trial_api/cpp/torch/archive_file.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

// Simulates a full disk. Runs in the child process that calls it.
void LimitFiles(size_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

std::string WriteAtEachSize(const std::string& dir) {
  torch::serialize::OutputArchive archive;
  archive.write("large", torch::ones({5000}));
  archive.write("small", torch::ones({10}));
  WriteArchive(archive, dir + "/whole.pt");
  const size_t whole = std::filesystem::file_size(dir + "/whole.pt");
  const std::string path = dir + "/part.pt";
  const auto write = [&]() -> std::string {
    try {
      WriteArchive(archive, path);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  for (size_t limit = 0; limit < whole; limit += 97) {
    LimitFiles(limit);
    const std::string observed = write();
    if (observed.find("cannot write " + path) == std::string::npos) {
      return std::to_string(limit) + " of " + std::to_string(whole) + " bytes: " + observed;
    }
  }
  LimitFiles(whole);
  return write();
}

TEST(ArchiveFileTest, WritesCompleteFileOrThrows) {
  const base::TempDir folder = *base::TempDir::Create();
  EXPECT_EQ(testing::RunRanks(1, [&](Communicator&) { return WriteAtEachSize(folder.path()); })[0],
            "");
}

TEST(ArchiveFileTest, ErrorNamesFile) {
  torch::serialize::OutputArchive archive;
  try {
    WriteArchive(archive, "/no/such/folder/file.pt");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              std::string("cannot write /no/such/folder/file.pt: No such file or directory"));
  }
}

}  // namespace
}  // namespace det::trial
