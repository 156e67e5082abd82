#include "master/checkpoint_storage/checkpoint_place.h"

#include <unistd.h>

#include "base/file.h"
#include "gtest/gtest.h"

namespace det::checkpoint_storage {
namespace {

const CheckpointPlaces kPlaces = {.own = "/srv/resolute/checkpoints", .data_dir = "/srv/resolute"};

absl::Status Check(const CheckpointPlaces& places, const std::string& host_path,
                   const std::string& storage_path = "") {
  return CheckCheckpointPlace(places, {.host_path = host_path, .storage_path = storage_path});
}

TEST(CheckpointPlaceTest, UsersHaveFoldersOfTheirOwn) {
  for (const char* path :
       {"/srv/resolute/checkpoints", "/srv/resolute/checkpoints/team/", "/home/a/checkpoints",
        "/mnt/nfs", "/tmp/x", "/library", "/srv", "/srv/resolute2", "/opt/usr"}) {
    EXPECT_TRUE(Check(kPlaces, path).ok()) << Check(kPlaces, path);
  }
  EXPECT_TRUE(Check(kPlaces, "/srv", "resolute/checkpoints/mine").ok());
}

TEST(CheckpointPlaceTest, TheSystemsFoldersAreNotTheirs) {
  for (const char* path :
       {"/", "//", "/.", "/etc", "/etc/resolute", "/./etc", "//etc", "/proc/self", "/sys",
        "/dev/shm", "/boot", "/usr/local/x", "/bin", "/sbin", "/lib", "/lib64/x", "/libx32"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Check(kPlaces, path))) << path;
  }
  EXPECT_EQ(Check(kPlaces, "/etc/x").message(),
            "\"/etc/x\" belongs to the operating system; name a folder of your own, or leave it "
            "out for /srv/resolute/checkpoints");
}

TEST(CheckpointPlaceTest, NorIsTheMastersDataDirectory) {
  EXPECT_FALSE(Check(kPlaces, "/srv/resolute").ok());
  EXPECT_FALSE(Check(kPlaces, "/srv/resolute/postgres").ok());
  EXPECT_FALSE(Check(kPlaces, "/srv", "resolute/postgres").ok());
  EXPECT_FALSE(Check(kPlaces, "/srv/resolute/checkpoints/../postgres").ok());
  EXPECT_FALSE(Check(kPlaces, "/home/..").ok());
}

TEST(CheckpointPlaceTest, ADirectoryIsHeldToTheSame) {
  const auto check = [](const std::string& path) {
    return CheckCheckpointPlace(
        kPlaces, {.type = "directory", .host_path = kPlaces.own, .container_path = path});
  };
  EXPECT_TRUE(check("/mnt/nfs").ok());
  for (const char* path : {"/", "/etc/resolute", "/srv/resolute/postgres", "/mnt/../etc"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(check(path))) << path;
  }
}

TEST(CheckpointPlaceTest, LinksLeadNoFurther) {
  const base::TempDir dir = *base::TempDir::Create();
  ASSERT_EQ(::symlink("/etc", (dir.path() + "/link").c_str()), 0);
  EXPECT_FALSE(Check(kPlaces, dir.path() + "/link").ok());
  EXPECT_FALSE(Check(kPlaces, dir.path() + "/link/below").ok());
  EXPECT_FALSE(Check(kPlaces, dir.path(), "link").ok());
  EXPECT_TRUE(Check(kPlaces, dir.path() + "/other").ok());
}

TEST(CheckpointPlaceTest, AnAdministratorMayNameTheOnlyOnes) {
  CheckpointPlaces places = kPlaces;
  places.roots = {"/mnt/nfs/", "/usr/share/checkpoints"};
  EXPECT_TRUE(Check(places, "/mnt/nfs").ok());
  EXPECT_TRUE(Check(places, "/mnt/nfs/a").ok());
  EXPECT_TRUE(Check(places, "/usr/share/checkpoints/a").ok());
  EXPECT_TRUE(Check(places, "/srv/resolute/checkpoints").ok());
  EXPECT_EQ(Check(places, "/home/a").message(),
            "\"/home/a\" is not allowed by this cluster; name a folder below /mnt/nfs/ or "
            "/usr/share/checkpoints, or leave it out for /srv/resolute/checkpoints");
  EXPECT_FALSE(Check(places, "/mnt").ok());
}

}  // namespace
}  // namespace det::checkpoint_storage
