#include "master/api/checkpoints/checkpoint_files.h"

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::api {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ListCheckpointFilesTest : public ::testing::Test {
 protected:
  void Write(const std::string& path) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << "x";
  }
  absl::StatusOr<std::set<std::string>> List(const std::string& id) {
    model::CheckpointStorageConfig storage;
    storage.type = "shared_fs";
    storage.host_path = root_;
    return ListCheckpointFiles({}, storage, model::CheckpointId(id));
  }

  const base::TempDir folder_ = *base::TempDir::Create();
  std::string root_ = folder_.path();
};

TEST_F(ListCheckpointFilesTest, ReturnsPathsBelowCheckpoint) {
  Write("a/model.pt");
  Write("a/state/rank 0");
  Write("b/other");
  EXPECT_THAT(*List("a"), ElementsAre("model.pt", "state/rank 0"));
  EXPECT_THAT(*List("absent"), IsEmpty());
}

TEST_F(ListCheckpointFilesTest, DoesNotFollowLinks) {
  Write("a/model.pt");
  fs::create_directory_symlink(root_ + "/a", root_ + "/b");
  fs::create_directory_symlink("/etc", root_ + "/a/etc");
  EXPECT_THAT(*List("a"), ElementsAre("etc", "model.pt"));
  EXPECT_THAT(*List("b"), IsEmpty());
}

TEST_F(ListCheckpointFilesTest, Fails_WhenStorageIsMissingOrEmpty) {
  const absl::Status empty = List("a").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(empty)) << empty;
  EXPECT_THAT(std::string(empty.message()), HasSubstr("it is empty; nothing was changed"));
  root_ += "/absent";
  EXPECT_TRUE(absl::IsFailedPrecondition(List("a").status()));
}

}  // namespace
}  // namespace det::api
