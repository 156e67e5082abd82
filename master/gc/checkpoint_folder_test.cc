#include "master/gc/checkpoint_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"
#include <gmock/gmock.h>

namespace det::gc {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

class CheckpointFolderTest : public ::testing::Test {
 protected:
  CheckpointFolderTest() : dir_(*base::TempDir::Create()) {
    storage_.host_path = dir_.path() + "/root";
    fs::create_directories(storage_.host_path);
  }
  std::string Path(const std::string& below) const { return dir_.path() + "/" + below; }
  void Write(const std::string& below) const {
    fs::create_directories(fs::path(Path(below)).parent_path());
    std::ofstream(Path(below)) << "x";
  }
  absl::Status Remove(const std::string& id) {
    return RemoveCheckpointFolder(storage_, model::CheckpointId(id));
  }
  absl::Status RemoveSome(const std::string& id, const model::Resources& files) {
    return RemoveFromCheckpointFolder(storage_, model::CheckpointId(id), files);
  }
  bool Exists(const std::string& below) const {
    return fs::exists(fs::symlink_status(Path(below)));
  }

  base::TempDir dir_;
  model::CheckpointStorageConfig storage_;
};

TEST_F(CheckpointFolderTest, RemovesFolderAndNothingElse) {
  Write("root/a/model.pt");
  Write("root/a/deep/er/state");
  Write("root/b/model.pt");
  EXPECT_TRUE(Remove("a").ok());
  EXPECT_FALSE(Exists("root/a"));
  EXPECT_TRUE(Exists("root/b/model.pt"));
  EXPECT_TRUE(Remove("a").ok()) << "removing again succeeds";
}

TEST_F(CheckpointFolderTest, RemovesSomeFilesAndEmptyFolders) {
  for (const char* path :
       {"a/model.pt", "a/opt.pt", "a/code/lib/x.py", "a/code/y.py", "b/opt.pt"}) {
    Write(std::string("root/") + path);
  }
  const model::Resources files = {{"code/lib/", 0}, {"code/lib/x.py", 1}, {"opt.pt", 1}};
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(RemoveSome("a", files).ok());
    EXPECT_FALSE(Exists("root/a/opt.pt"));
    EXPECT_FALSE(Exists("root/a/code/lib"));
    for (const char* stays : {"a/model.pt", "a/code/y.py", "b/opt.pt"}) {
      EXPECT_TRUE(Exists(std::string("root/") + stays)) << stays;
    }
  }
  EXPECT_TRUE(RemoveSome("none", files).ok()) << "the checkpoint does not exist";
}

TEST_F(CheckpointFolderTest, RemovesOnlyFilesOfCheckpoint) {
  for (const char* path : {"elsewhere/x", "root/b/x", "root/a/x"}) Write(path);
  fs::create_directory_symlink(Path("elsewhere"), Path("root/a/link"));
  fs::create_symlink(Path("elsewhere/x"), Path("root/a/file"));
  fs::create_directory_symlink(Path("elsewhere"), Path("root/c"));
  const model::Resources files = {{"/etc/x", 1},      {"../b/x", 1}, {"link/x", 1}, {"file", 1},
                                  {"x/../../b/x", 1}, {"x/y", 1},    {"", 1},       {"/", 0}};
  EXPECT_TRUE(RemoveSome("a", files).ok());
  EXPECT_TRUE(RemoveSome("c", {{"x", 1}}).ok());
  EXPECT_FALSE(Exists("root/a/file")) << "the link itself is removed";
  for (const char* stays : {"elsewhere/x", "root/b/x", "root/a/x", "root/a/link"}) {
    EXPECT_TRUE(Exists(stays)) << stays;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(RemoveSome("..", {{"x", 1}})));
}

TEST_F(CheckpointFolderTest, FailsOnFolderInPlaceOfFile) {
  Write("root/a/folder/x");
  const absl::Status refused = RemoveSome("a", {{"folder", 1}});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("cannot remove"));
}

TEST_F(CheckpointFolderTest, UsesStoragePath) {
  Write("root/sub/a/x");
  Write("root/a/x");
  storage_.storage_path = "sub";
  EXPECT_TRUE(Remove("a").ok());
  EXPECT_FALSE(Exists("root/sub/a"));
  EXPECT_TRUE(Exists("root/a/x"));
}

TEST_F(CheckpointFolderTest, RemovesLinksWithoutFollowing) {
  Write("elsewhere/precious");
  fs::create_directories(Path("root/a"));
  fs::create_directory_symlink(Path("elsewhere"), Path("root/a/link"));
  fs::create_directory_symlink(Path("elsewhere"), Path("root/b"));
  EXPECT_TRUE(Remove("a").ok());
  EXPECT_TRUE(Remove("b").ok());
  EXPECT_FALSE(Exists("root/a"));
  EXPECT_FALSE(Exists("root/b"));
  EXPECT_TRUE(Exists("elsewhere/precious"));
}

TEST_F(CheckpointFolderTest, RejectsStoragePathOutsideOfRoot) {
  Write("elsewhere/a/precious");
  fs::create_directory_symlink(Path("elsewhere"), Path("root/sub"));
  storage_.storage_path = "sub";
  const absl::Status refused = Remove("a");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is a symbolic link out of"));
  EXPECT_TRUE(Exists("elsewhere/a/precious"));
}

TEST_F(CheckpointFolderTest, RejectsInvalidCheckpointIds) {
  Write("precious");
  Write("root/a/x");
  for (const char* name : {"", ".", "..", "../precious", "a/../..", "/etc", "a/x"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(Remove(name))) << name;
  }
  EXPECT_TRUE(Exists("precious"));
  EXPECT_TRUE(Exists("root/a/x"));
}

TEST_F(CheckpointFolderTest, ReportsUnreachableStorage) {
  storage_.host_path = Path("not mounted");
  const absl::Status refused = Remove("a");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("mount it there"));
  storage_.type = "s3";
  EXPECT_THAT(std::string(Remove("a").message()), HasSubstr("storage of type s3"));
}

}  // namespace
}  // namespace det::gc
