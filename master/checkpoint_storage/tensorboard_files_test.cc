#include "master/checkpoint_storage/tensorboard_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"
#include "gtest/gtest.h"

namespace det::checkpoint_storage {
namespace {

namespace fs = std::filesystem;

class TensorboardFilesTest : public testing::Test {
 protected:
  TensorboardFilesTest() : dir_(*base::TempDir::Create()) {
    storage_.type = "shared_fs";
    storage_.host_path = dir_.path();
    storage_.storage_path = "sub";
  }
  // Creates an event file of trial 1 of the experiment.
  fs::path AddFile(int experiment) {
    const fs::path folder = fs::path(dir_.path()) / "sub/cluster/tensorboard/experiment" /
                            std::to_string(experiment) / "trial/1";
    fs::create_directories(folder);
    std::ofstream(folder / "events.out.tfevents") << "x";
    return folder / "events.out.tfevents";
  }
  absl::Status Remove(int experiment) {
    return RemoveTensorboardFiles({}, storage_, "cluster", model::ExperimentId(experiment));
  }

  base::TempDir dir_;
  model::CheckpointStorageConfig storage_;
};

TEST_F(TensorboardFilesTest, RemovesFilesOfOneExperiment) {
  const fs::path removed = AddFile(7);
  const fs::path kept = AddFile(8);
  EXPECT_TRUE(Remove(7).ok());
  EXPECT_FALSE(fs::exists(removed));
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_TRUE(Remove(7).ok());  // nothing is left
}

TEST_F(TensorboardFilesTest, Succeeds_WhenNoTrialStoredFiles) { EXPECT_TRUE(Remove(7).ok()); }

TEST_F(TensorboardFilesTest, FollowsNoLinkOfTask) {
  const fs::path kept = AddFile(8);
  fs::create_directories(fs::path(dir_.path()) / "elsewhere");
  fs::rename(fs::path(dir_.path()) / "sub/cluster", fs::path(dir_.path()) / "elsewhere/cluster");
  fs::create_symlink(fs::path(dir_.path()) / "elsewhere/cluster",
                     fs::path(dir_.path()) / "sub/cluster");
  EXPECT_TRUE(absl::IsFailedPrecondition(Remove(8)));
  EXPECT_TRUE(fs::exists(kept));
}

TEST_F(TensorboardFilesTest, ReportsStorageThatCannotBeReached) {
  storage_.host_path = "/no/such/folder";
  const absl::Status status = Remove(7);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("/no/such/folder"), std::string::npos) << status;
}

}  // namespace
}  // namespace det::checkpoint_storage
