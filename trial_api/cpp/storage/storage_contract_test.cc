// Contract tests of Storage: a directory, and each kind of bucket.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/objects/testing/object_server.h"
#include "base/uuid.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/storage/storage.h"
#include <nlohmann/json.hpp>

namespace det::storage {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class StorageContractTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    // Occasional failures of the server must not matter.
    if (IsBucket()) server_.emplace(std::vector<std::string>{"--fail", "11"});
  }

  bool IsBucket() const { return GetParam() != "shared_fs"; }
  std::string Scratch() const { return dir_.path() + "/scratch"; }
  std::string Base() const { return dir_.path() + "/store"; }

  std::unique_ptr<Storage> Make(const std::string& owner = "me") const {
    if (!IsBucket()) return MakeSharedFs(Base(), owner);
    const objects::BucketConfig place = server_->GetBucketConfig(GetParam());
    Json storage = {{"type", place.type}, {"prefix", "some/where"}};
    const auto add = [&](const char* name, const std::string& value) {
      if (!value.empty()) storage[name] = value;
    };
    add("bucket", place.bucket);
    add("access_key", place.access_key);
    add("secret_key", place.secret_key);
    add("endpoint_url", place.endpoint_url);
    add("container", place.container);
    add("connection_string", place.connection_string);
    return MakeBucketStorage(Json{{"checkpoint_storage", storage}}.dump(), Scratch(), owner);
  }

  std::unique_ptr<objects::Bucket> Bucket() const {
    return *objects::OpenBucket(server_->GetBucketConfig(GetParam()));
  }
  // Returns the files outside of checkpoints.
  std::string Beside(const std::string& name) const {
    if (IsBucket()) return Bucket()->Read("some/where/" + name, 0, 1000).value_or("nothing");
    return base::ReadFile(Base() + "/" + name).value_or("nothing");
  }
  void ReplaceBeside(const std::string& name, const std::string& text) const {
    if (IsBucket()) {
      ASSERT_TRUE(Bucket()->Put("some/where/" + name, text).ok());
    } else {
      ASSERT_TRUE(base::WriteFile(Base() + "/" + name, text).ok());
    }
  }
  void Replace(const std::string& uuid, const std::string& file, const std::string& text) const {
    if (IsBucket()) {
      ASSERT_TRUE(Bucket()->Put("some/where/" + uuid + "/" + file, text).ok());
    } else {
      ASSERT_TRUE(base::WriteFile(Base() + "/" + uuid + "/" + file, text).ok());
    }
  }
  void Drop(const std::string& uuid, const std::string& file) const {
    if (IsBucket()) {
      ASSERT_TRUE(Bucket()->Remove("some/where/" + uuid + "/" + file).ok());
    } else {
      fs::remove(Base() + "/" + uuid + "/" + file);
    }
  }
  // Counts the files, of complete and incomplete checkpoints.
  size_t CountEntries() const {
    if (IsBucket()) return Bucket()->List("").value().size();
    size_t count = 0;
    if (!fs::exists(Base())) return 0;
    for (const auto& entry : fs::recursive_directory_iterator(Base())) {
      count += entry.is_directory() ? 0 : 1;
    }
    return count;
  }

  static std::vector<FileRecord> Write(Storage& storage, const std::string& uuid, int rank,
                                       const std::string& name, const std::string& text) {
    const std::string dir = storage.BeginWrite(uuid, rank);
    EXPECT_TRUE(fs::is_empty(dir));
    fs::create_directories((fs::path(dir) / name).parent_path());
    EXPECT_TRUE(base::WriteFile(dir + "/" + name, text).ok());
    return storage.EndWrite(uuid, rank);
  }
  static std::string Save(Storage& storage, int64_t steps) {
    const std::string uuid = base::NewUuid();
    const auto first = Write(storage, uuid, 0, "deep/a.bin", "of rank 0");
    const auto second = Write(storage, uuid, 1, "b.bin", "");
    storage.Publish(uuid, {first, second}, Json{{"steps_completed", steps}}.dump());
    return uuid;
  }
  static std::string GetError(const std::function<void()>& step) {
    try {
      step();
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }

  const base::TempDir dir_ = *base::TempDir::Create("det-storage");
  std::optional<objects::ObjectServer> server_;
};

TEST_P(StorageContractTest, ReportsUnreachableStorage_NotDamage) {
  if (!IsBucket()) GTEST_SKIP() << "a missing directory cannot be distinguished";
  const auto storage = Make();
  const std::string uuid = Save(*storage, 1);
  const std::string torn = Save(*storage, 2);
  Drop(torn, "b.bin");
  EXPECT_THROW(try { Make()->Open(torn); } catch (const StorageUnreachable&){}, Error);
  server_.reset();
  EXPECT_THROW(storage->Open(uuid), StorageUnreachable);
  for (const auto& each : fs::recursive_directory_iterator(Scratch())) {
    EXPECT_FALSE(each.is_regular_file()) << each.path();
  }
}

TEST_P(StorageContractTest, OpensPublishedCheckpoint) {
  const auto storage = Make();
  const std::string uuid = base::NewUuid();
  const auto first = Write(*storage, uuid, 0, "deep/a.bin", "of rank 0");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].path, "deep/a.bin");
  EXPECT_EQ(first[0].size, 9);
  EXPECT_EQ(first[0].sha256, ComputeTextSha256("of rank 0"));
  EXPECT_NE(GetError([&] { Make()->Open(uuid); }).find(uuid),
            std::string::npos);  // not published yet
  const auto second = Write(*storage, uuid, 1, "b.bin", "");
  const auto all = storage->Publish(uuid, {first, second}, R"({"steps_completed": 3})");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[2].path, "metadata.json");
  EXPECT_EQ(all[3].path, "manifest.json");

  const auto other = Make("another");
  const std::string dir = other->Open(uuid);
  EXPECT_EQ(*base::ReadFile(dir + "/deep/a.bin"), "of rank 0");
  EXPECT_EQ(*base::ReadFile(dir + "/b.bin"), "");
  EXPECT_EQ(other->Open(uuid), dir);
}

TEST_P(StorageContractTest, RejectsDuplicateFileNames) {
  const auto storage = Make();
  const std::string uuid = base::NewUuid();
  const auto first = Write(*storage, uuid, 0, "a", "1");
  const auto second = Write(*storage, uuid, 1, "a", "2");
  EXPECT_EQ(GetError([&] { storage->Publish(uuid, {first, second}, "{}"); }),
            "checkpoint file 'a' of rank 1 has the same name as a file of another rank; use "
            "different file names on each rank");
  EXPECT_NE(GetError([&] { Make()->Open(uuid); }), "");
  storage->Remove(uuid);
  EXPECT_EQ(CountEntries(), 0u);
}

TEST_P(StorageContractTest, DetectsDamage) {
  const auto storage = Make();
  for (const std::string damage : {"changed", "missing"}) {
    const std::string uuid = Save(*storage, 1);
    if (damage == "changed") {
      Replace(uuid, "deep/a.bin", "of rank 1");
    } else {
      Drop(uuid, "deep/a.bin");
    }
    const std::string message = GetError([&] { Make()->Open(uuid); });
    EXPECT_NE(message.find("deep/a.bin is "), std::string::npos) << message;
    EXPECT_NE(message.find("use another checkpoint"), std::string::npos) << message;
  }
  const std::string uuid = Save(*storage, 1);
  Replace(uuid, "manifest.json", "{");
  const std::string message = GetError([&] { Make()->Open(uuid); });
  EXPECT_NE(message.find("is damaged: not a valid manifest"), std::string::npos) << message;
  EXPECT_NE(GetError([&] { Make()->Open("no-uuid"); }).find("is not the UUID"), std::string::npos);
}

TEST_P(StorageContractTest, RemovesLeftoversOfSameOwner) {
  const auto mine = Make();
  const auto another = Make("another");
  const std::string whole = Save(*mine, 1);
  Write(*mine, base::NewUuid(), 0, "half", "x");
  const std::string theirs = base::NewUuid();
  const auto half = Write(*another, theirs, 0, "half", "x");
  const size_t before = CountEntries();
  Make()->RemoveLeftovers();
  EXPECT_LT(CountEntries(), before);
  EXPECT_EQ(GetError([&] { Make()->Open(whole); }), "");
  another->Publish(theirs, {half}, "{}");
  EXPECT_EQ(GetError([&] { Make()->Open(theirs); }), "");
  Make()->Remove(whole);
  Make("another")->Remove(theirs);
  EXPECT_EQ(CountEntries(), 0u);
}

TEST_P(StorageContractTest, ListsOwnCheckpointsNewestFirst) {
  const auto mine = Make();
  const std::string first = Save(*mine, 1);
  const std::string third = Save(*mine, 3);
  const std::string second = Save(*mine, 2);
  Save(*Make("another"), 2);
  Write(*mine, base::NewUuid(), 0, "half", "x");
  EXPECT_EQ(Make()->ListSaved(2), (std::vector<std::string>{second, first}));
  EXPECT_EQ(Make()->ListSaved(9), (std::vector<std::string>{third, second, first}));
  EXPECT_EQ(Make("")->ListSaved(9), std::vector<std::string>());
}

// Simulates an end between the manifest and the owner's entry.
TEST_P(StorageContractTest, FindsCheckpoint_WhenPublishWasInterrupted) {
  if (!IsBucket()) GTEST_SKIP() << "a directory is renamed atomically";
  const std::string uuid = Save(*Make(), 5);
  ASSERT_TRUE(Bucket()->Put("some/where/owners/me/" + uuid, "").ok());
  Make()->RemoveLeftovers();
  EXPECT_EQ(Make()->ListSaved(9), std::vector<std::string>{uuid});
  EXPECT_EQ(GetError([&] { Make()->Open(uuid); }), "");
}

TEST_P(StorageContractTest, CopiesChangedFiles) {
  const std::string from = dir_.path() + "/from";
  const auto storage = Make();
  storage->CopyNextToCheckpoints(from, "c1/events");  // The directory does not exist.
  ASSERT_TRUE(base::MakeDirs(from + "/sub").ok());
  ASSERT_TRUE(base::WriteFile(from + "/sub/a", "one").ok());
  ASSERT_TRUE(base::WriteFile(from + "/b", "same").ok());
  storage->CopyNextToCheckpoints(from, "c1/events");
  EXPECT_EQ(Beside("c1/events/sub/a"), "one");
  EXPECT_EQ(Beside("c1/events/b"), "same");
  ASSERT_TRUE(base::WriteFile(from + "/sub/a", "two and more").ok());
  ReplaceBeside("c1/events/b", "not copied again");
  storage->CopyNextToCheckpoints(from, "c1/events");
  EXPECT_EQ(Beside("c1/events/sub/a"), "two and more");
  EXPECT_EQ(Beside("c1/events/b"), "not copied again");
  EXPECT_TRUE(storage->ListSaved(100).empty());
}

TEST_P(StorageContractTest, CopiesNewPartsOfEventFiles) {
  const std::string from = dir_.path() + "/from";
  const auto storage = Make();
  ASSERT_TRUE(base::MakeDirs(from).ok());
  for (const char* content : {"one", "one two", "one two three", "another", ""}) {
    ASSERT_TRUE(base::WriteFile(from + "/events.out.tfevents.1", content).ok());
    storage->CopyNextToCheckpoints(from, "c1/events");
    EXPECT_EQ(Beside("c1/events/events.out.tfevents.1"), content);
  }
}

TEST_P(StorageContractTest, LeavesNoLocalFiles) {
  if (!IsBucket()) GTEST_SKIP() << "it uses no local files";
  {
    const auto storage = Make();
    storage->Open(Save(*storage, 1));
    Write(*storage, base::NewUuid(), 0, "half", "x");
    EXPECT_FALSE(fs::is_empty(Scratch()));
  }
  EXPECT_TRUE(fs::is_empty(Scratch()));
}

INSTANTIATE_TEST_SUITE_P(Places, StorageContractTest,
                         testing::Values("shared_fs", "s3", "gcs", "azure"),
                         [](const auto& info) { return info.param; });

TEST(BucketStorageTest, RejectsConfigurationWithoutBucket) {
  EXPECT_THROW(MakeBucketStorage("{}", "", "me"), Error);
  EXPECT_THROW(MakeBucketStorage(R"({"checkpoint_storage": {"type": "s3", "bucket": "b",
                            "endpoint_url": "minio"}})",
                                 "", "me"),
               Error);
}

}  // namespace
}  // namespace det::storage
