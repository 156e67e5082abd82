#include "master/app/data_dir.h"

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/file.h"
#include "gtest/gtest.h"

namespace det::app {
namespace {

unsigned GetMode(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(DataDirTest, HidesContentsFromOtherUsers) {
  const base::TempDir dir = *base::TempDir::Create();
  absl::StatusOr<DataDir> data = DataDir::Open(dir.path() + "/new/data");
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(GetMode(data->path()), 0711u);
  EXPECT_EQ(GetMode(data->path() + "/master.lock"), 0600u);
  ASSERT_TRUE(data->Announce(1, "http://x").ok());
  EXPECT_EQ(GetMode(data->path() + "/master.json"), 0644u);
}

TEST(DataDirTest, LocksDirectory) {
  const base::TempDir dir = *base::TempDir::Create();
  std::optional<absl::StatusOr<DataDir>> first = DataDir::Open(dir.path());
  ASSERT_TRUE(first->ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(DataDir::Open(dir.path()).status()));
  first.reset();
  EXPECT_TRUE(DataDir::Open(dir.path()).ok());
}

}  // namespace
}  // namespace det::app
