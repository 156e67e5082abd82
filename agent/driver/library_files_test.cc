#include "agent/driver/library_files.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

class LibraryFilesTest : public testing::Test {
 protected:
  LibraryFilesTest() {
    EXPECT_TRUE(base::MakeDirs(folders_.work).ok() && base::MakeDirs(folders_.run).ok());
    spec_.allocation = AllocationId("1.1.0");
    spec_.task_id = "1.1";
    spec_.slots = {0, 1};
    spec_.session_token = "to\"ken\n";
    spec_.env = {{"DET_TASK_TYPE", "TRIAL"}};
    host_.master_url = "http://m:1";
    host_.cluster_id = "c";
    host_.agent_id = "a1";
  }
  std::string Read(const std::string& name) {
    return base::ReadFile(GetLibraryFolder(folders_) + name).value_or("missing");
  }

  const base::TempDir dir_ = *base::TempDir::Create("det-library");
  const TaskFolders folders_{.work = dir_.path() + "/work", .run = dir_.path() + "/run"};
  TaskSpec spec_;
  Host host_;
};

TEST_F(LibraryFilesTest, WritesClusterAndResourceInfo) {
  host_.devices = {{0, DeviceType::kCuda, "", "GPU-a", 0}, {1, DeviceType::kCpu, "", "cpu", 0}};
  ASSERT_TRUE(WriteLibraryFiles(spec_, host_, folders_).ok());
  EXPECT_EQ(Read("/info/cluster.json"),
            R"({"master_url": "http://m:1", "cluster_id": "c", "agent_id": "a1", )"
            R"("slot_ids": [0,1], "task_id": "1.1", "allocation_id": "1.1.0", )"
            R"("session_token": "to\"ken\u000a", "task_type": "TRIAL", )"
            R"("master_cert_file": null, "master_cert_name": null, )"
            R"("latest_checkpoint": null})"
            "\n");
  EXPECT_EQ(Read("/info/resources.json"), "{\"gpu_uuids\": [\"GPU-a\"]}\n");
  EXPECT_TRUE(std::filesystem::is_directory(GetModelFolder(folders_)));
  ASSERT_TRUE(base::WriteFileAtomically(folders_.work + "/own", "x").ok());
  EXPECT_EQ(Read("/workdir/own"), "x");
}

TEST_F(LibraryFilesTest, WritesCertificateOfMaster) {
  host_.tls = {.on = true, .authority = "PEM", .master_name = "resolute"};
  ASSERT_TRUE(WriteLibraryFiles(spec_, host_, folders_).ok());
  EXPECT_NE(Read("/info/cluster.json")
                .find(absl::StrCat(R"("master_cert_file": ")", folders_.run,
                                   R"(/master.crt", "master_cert_name": "resolute")")),
            std::string::npos);
}

TEST_F(LibraryFilesTest, WritesLatestCheckpoint) {
  spec_.env["DET_LATEST_CHECKPOINT"] = "u-1";
  ASSERT_TRUE(WriteLibraryFiles(spec_, host_, folders_).ok());
  EXPECT_NE(Read("/info/cluster.json").find(R"("latest_checkpoint": "u-1"})"), std::string::npos);
}

TEST_F(LibraryFilesTest, MountsAreVisibleOnlyToTheTask) {
  const LibraryMountPoints mount_points{.run = dir_.path() + "/place",
                                        .shared_fs = dir_.path() + "/shared"};
  const std::string storage = dir_.path() + "/storage/deep";
  ASSERT_TRUE(base::MakeDirs(mount_points.run).ok() && base::MakeDirs(mount_points.shared_fs).ok());
  ASSERT_TRUE(WriteLibraryFiles(spec_, host_, folders_).ok());
  spec_.env["DET_SHARED_FS_HOST_PATH"] = storage;
  const auto mounts = GetMounts(spec_, folders_, mount_points);
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  const auto child =
      base::Spawn({.argv = {"sh", "-c",
                            absl::StrCat("cd ", mount_points.run,
                                         "; test -s info/cluster.json && echo saved > ",
                                         mount_points.shared_fs, "/state")},
                   .mounts = *mounts});
  if (!child.ok()) GTEST_SKIP() << child.status();
  EXPECT_TRUE(base::WaitForExit(child->pid)->ok());
  EXPECT_EQ(*base::ReadFile(storage + "/state"), "saved\n");
  EXPECT_TRUE(std::filesystem::is_empty(mount_points.run));
  EXPECT_TRUE(std::filesystem::is_empty(mount_points.shared_fs));
}

TEST_F(LibraryFilesTest, ReturnsNoMounts_WhenThereAreNoMountPoints) {
  spec_.env["DET_SHARED_FS_HOST_PATH"] = "/proc/cannot/be/made";
  EXPECT_TRUE(GetMounts(spec_, folders_, {})->empty());
}

}  // namespace
}  // namespace det::agent
