#include "master/checkpoint_storage/experiment_files.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/objects/bucket.h"
#include "base/objects/testing/object_server.h"
#include "gtest/gtest.h"

namespace det::checkpoint_storage {
namespace {

namespace fs = std::filesystem;

class ExperimentFilesTest : public testing::Test {
 protected:
  ExperimentFilesTest() : dir_(*base::TempDir::Create()) {
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

TEST_F(ExperimentFilesTest, RemovesFilesOfOneExperiment) {
  const fs::path removed = AddFile(7);
  const fs::path kept = AddFile(8);
  const fs::path longer = AddFile(70);  // an ID that begins with 7
  EXPECT_TRUE(Remove(7).ok());
  EXPECT_FALSE(fs::exists(removed));
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_TRUE(fs::exists(longer));
  EXPECT_TRUE(Remove(7).ok());  // nothing is left
}

TEST_F(ExperimentFilesTest, RemovesFilesOfOneExperimentFromBucket) {
  const objects::ObjectServer server;
  for (const char* type : {"s3", "gcs", "azure"}) {
    for (const char* prefix : {"", "team/a", "team/a/"}) {
      const objects::BucketConfig place = server.GetBucketConfig(type);
      storage_ = {};
      storage_.type = type;
      storage_.prefix = prefix;
      storage_.bucket = place.bucket;
      storage_.access_key = place.access_key;
      storage_.secret_key = place.secret_key;
      storage_.endpoint_url = place.endpoint_url;
      storage_.container = place.container;
      storage_.connection_string = place.connection_string;
      const auto bucket = *objects::OpenBucket(place);
      const std::string root =
          (*prefix == '\0' ? "" : "team/a/") + std::string("cluster/tensorboard/experiment/");
      for (const char* name : {"1/trial/1/a", "1/trial/2/b", "10/trial/3/c", "2/trial/1/d"}) {
        ASSERT_TRUE(bucket->Put(root + name, "x").ok());
      }
      for (int times = 0; times < 2; ++times) {
        const absl::Status status =
            RemoveTensorboardFiles({.own = storage_}, storage_, "cluster", model::ExperimentId(1));
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(*bucket->List(root),
                  (std::vector<std::string>{root + "10/trial/3/c", root + "2/trial/1/d"}));
      }
    }
  }
}

TEST_F(ExperimentFilesTest, Succeeds_WhenNoTrialStoredFiles) { EXPECT_TRUE(Remove(7).ok()); }

TEST_F(ExperimentFilesTest, RemovesWhatKilledSavesLeft) {
  const fs::path event = AddFile(7);
  const fs::path root = fs::path(dir_.path()) / "sub";
  constexpr char kUuid[] = "0e2ac5d4-1111-4222-8333-444455556666";
  const auto add = [&](const std::string& name) {
    fs::create_directories(root / name / "rank-0");
    return root / name;
  };
  const fs::path left = add(absl::StrCat(".tmp-cluster-trial-3-", kUuid));
  const fs::path of_another_trial = add(absl::StrCat(".tmp-cluster-trial-33-", kUuid));
  const fs::path of_another_cluster = add(absl::StrCat(".tmp-other-trial-3-", kUuid));
  const fs::path no_uuid = add(".tmp-cluster-trial-3-notes");
  const fs::path checkpoint = add(kUuid);
  const auto remove = [&] {
    return RemoveExperimentFiles({}, storage_, "cluster", model::ExperimentId(7),
                                 {model::TrialId(3), model::TrialId(4)});
  };
  EXPECT_TRUE(remove().ok());
  EXPECT_FALSE(fs::exists(event));
  EXPECT_FALSE(fs::exists(left));
  for (const fs::path& kept : {of_another_trial, of_another_cluster, no_uuid, checkpoint}) {
    EXPECT_TRUE(fs::exists(kept)) << kept;
  }
  EXPECT_TRUE(remove().ok());
}

TEST_F(ExperimentFilesTest, SkipsStorageThatDoesNotExistHere) {
  storage_.host_path = "/no/such/folder";
  EXPECT_TRUE(
      RemoveExperimentFiles({}, storage_, "cluster", model::ExperimentId(7), {model::TrialId(3)})
          .ok());
}

TEST_F(ExperimentFilesTest, FollowsNoLinkOfTask) {
  const fs::path kept = AddFile(8);
  fs::create_directories(fs::path(dir_.path()) / "elsewhere");
  fs::rename(fs::path(dir_.path()) / "sub/cluster", fs::path(dir_.path()) / "elsewhere/cluster");
  fs::create_symlink(fs::path(dir_.path()) / "elsewhere/cluster",
                     fs::path(dir_.path()) / "sub/cluster");
  EXPECT_TRUE(absl::IsFailedPrecondition(Remove(8)));
  EXPECT_TRUE(fs::exists(kept));
}

TEST_F(ExperimentFilesTest, ReportsStorageThatCannotBeReached) {
  storage_.host_path = "/no/such/folder";
  const absl::Status status = Remove(7);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("/no/such/folder"), std::string::npos) << status;
}

}  // namespace
}  // namespace det::checkpoint_storage
