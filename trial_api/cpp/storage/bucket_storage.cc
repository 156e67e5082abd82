#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/objects/bucket.h"
#include "base/uuid.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/storage/changed_files.h"
#include "trial_api/cpp/storage/manifest.h"
#include "trial_api/cpp/storage/storage.h"
#include <nlohmann/json.hpp>

namespace det::storage {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr size_t kAtOnce = 4;                  // number of parallel transfers
constexpr int64_t kSmall = int64_t{64} << 20;  // maximum size of a manifest
constexpr char kStepsCompleted[] = "steps_completed";

// A missing object is damage; other errors are failures of the server or the network.
void OrThrow(const absl::Status& status) {
  if (status.ok()) return;
  if (absl::IsNotFound(status)) throw Error(std::string(status.message()));
  throw StorageUnreachable(std::string(status.message()));
}

template <class T>
T OrThrow(absl::StatusOr<T> result) {
  OrThrow(result.status());
  return *std::move(result);
}

// Calls `work` for each file, several in parallel; throws the exception of the first file that
// failed.
void ForEach(const std::vector<FileRecord>& files,
             const std::function<void(objects::Bucket&, const FileRecord&)>& work,
             const std::function<std::unique_ptr<objects::Bucket>()>& open) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failed;
  const auto run = [&] {
    try {
      const std::unique_ptr<objects::Bucket> bucket = open();
      for (size_t i = next++; i < files.size(); i = next++) work(*bucket, files[i]);
    } catch (...) {
      next = files.size();
      std::lock_guard lock(mutex);
      if (!failed) failed = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(kAtOnce, files.size()); ++i) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
}

class BucketStorage final : public Storage {
 public:
  BucketStorage(objects::BucketConfig place, std::string prefix, std::string scratch,
                std::string owner)
      : place_(std::move(place)), prefix_(std::move(prefix)), owner_(std::move(owner)) {
    if (!prefix_.empty() && prefix_.back() != '/') prefix_ += '/';
    if (scratch.empty()) {
      scratch_dir_.emplace(OrThrow(base::TempDir::Create("det-checkpoints")));
      scratch_ = scratch_dir_->path();
    } else {
      scratch_ = fs::path(scratch) / base::NewUuid();
    }
    (void)Connect();  // Reports an invalid configuration at once.
  }
  ~BucketStorage() override { RemoveAll(scratch_); }

  std::string BeginWrite(const std::string& uuid, int rank) override {
    if (rank == 0 && !owner_.empty()) OrThrow(Connect()->Put(EntryKey(uuid), ""));
    return ConvertErrors([&] {
      const fs::path dir = RankDir(uuid, rank);
      fs::create_directories(dir);
      return dir.string();
    });
  }

  std::vector<FileRecord> EndWrite(const std::string& uuid, int rank) override {
    return ConvertErrors([&] {
      const fs::path dir = RankDir(uuid, rank);
      std::vector<FileRecord> files = DescribeAll(dir);
      ForEach(
          files,
          [&](objects::Bucket& bucket, const FileRecord& file) {
            OrThrow(bucket.PutFile(Key(uuid, file.path), (dir / file.path).string()));
          },
          [this] { return Connect(); });
      fs::remove_all(dir);
      return files;
    });
  }

  std::vector<FileRecord> Publish(const std::string& uuid,
                                  const std::vector<std::vector<FileRecord>>& by_rank,
                                  const std::string& metadata_json) override {
    RejectDuplicates(by_rank);
    std::vector<FileRecord> files;
    for (const auto& of_rank : by_rank) files.insert(files.end(), of_rank.begin(), of_rank.end());
    const auto bucket = Connect();
    OrThrow(bucket->Put(Key(uuid, kMetadata), metadata_json));
    files.push_back(DescribeText(kMetadata, metadata_json));
    const std::string manifest = ManifestText(owner_, files);
    OrThrow(bucket->Put(Key(uuid, kManifest), manifest));
    files.push_back(DescribeText(kManifest, manifest));
    // The checkpoint is complete now; readers that find the entry still empty read its metadata.
    const std::optional<int64_t> steps = ReadSteps(metadata_json);
    if (!owner_.empty() && steps) {
      (void)bucket->Put(EntryKey(uuid), Json{{kStepsCompleted, *steps}}.dump());
    }
    return files;
  }

  void Remove(const std::string& uuid) override {
    RemoveAll(scratch_ / uuid);
    try {
      RemoveFrom(*Connect(), uuid);
    } catch (const Error&) {
    }
  }

  void RemoveLeftovers() override {
    try {
      const auto bucket = Connect();
      for (const std::string& uuid : Entries(*bucket)) {
        const auto manifest = bucket->Read(Key(uuid, kManifest), 0, 1);
        if (absl::IsNotFound(manifest.status())) RemoveFrom(*bucket, uuid);
      }
    } catch (const Error&) {
    }
  }

  std::vector<std::string> ListSaved(int64_t max_steps) override {
    std::vector<std::pair<int64_t, std::string>> found;
    try {
      const auto bucket = Connect();
      for (std::string& uuid : Entries(*bucket)) {
        std::optional<int64_t> steps = StepsIn(*bucket, EntryKey(uuid));
        const bool whole = bucket->Read(Key(uuid, kManifest), 0, 1).ok();
        if (whole && !steps) steps = StepsIn(*bucket, Key(uuid, kMetadata));
        if (whole && steps && *steps <= max_steps) found.emplace_back(*steps, std::move(uuid));
      }
    } catch (const Error&) {
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<std::string> uuids;
    for (auto& [steps, uuid] : found) uuids.push_back(std::move(uuid));
    return uuids;
  }

  std::string Open(const std::string& uuid) override {
    if (!base::IsUuid(uuid)) throw Error("'" + uuid + "' is not the UUID of a checkpoint");
    std::lock_guard lock(mutex_);
    if (const auto it = opened_.find(uuid); it != opened_.end()) return it->second;
    const auto bucket = Connect();
    const auto text = bucket->Read(Key(uuid, kManifest), 0, kSmall);
    if (absl::IsNotFound(text.status())) {
      throw Error("checkpoint " + uuid +
                  " is not complete: " + std::string(text.status().message()));
    }
    OrThrow(text.status());
    const fs::path dir = scratch_ / ("open-" + uuid);
    try {
      Download(uuid, dir, ParseManifest(Key(uuid, kManifest), *text).files);
    } catch (const fs::filesystem_error& e) {
      RemoveAll(dir);
      throw StorageUnreachable(std::string(e.what()) +
                               "; check the free disk space and the permissions");
    } catch (...) {
      RemoveAll(dir);
      throw;
    }
    return opened_[uuid] = dir.string();
  }

  void CopyNextToCheckpoints(const std::string& folder, const std::string& name) override {
    std::unique_ptr<objects::Bucket> bucket;
    ConvertErrors([&] {
      for (const fs::path& file : changed_.Find(folder)) {
        if (bucket == nullptr) bucket = Connect();
        const fs::path from = folder / file;
        OrThrow(bucket->PutFile(prefix_ + name + "/" + file.generic_string(), from.string()));
        changed_.MarkCopied(from);
      }
    });
  }

 private:
  static void RemoveAll(const fs::path& dir) {
    std::error_code ignored;
    fs::remove_all(dir, ignored);
  }

  std::unique_ptr<objects::Bucket> Connect() const { return OrThrow(objects::OpenBucket(place_)); }

  std::string Key(const std::string& uuid, const std::string& file) const {
    return prefix_ + uuid + "/" + file;
  }
  std::string EntryKey(const std::string& uuid) const {
    return prefix_ + "owners/" + owner_ + "/" + uuid;
  }
  fs::path RankDir(const std::string& uuid, int rank) const {
    return scratch_ / uuid / ("rank-" + std::to_string(rank));
  }

  // Lists the checkpoints of this owner.
  std::vector<std::string> Entries(objects::Bucket& bucket) const {
    std::vector<std::string> uuids;
    if (owner_.empty()) return uuids;
    const std::string folder = EntryKey("");
    for (const std::string& key : OrThrow(bucket.List(folder))) {
      const std::string uuid = key.substr(folder.size());
      if (base::IsUuid(uuid)) uuids.push_back(uuid);
    }
    return uuids;
  }

  // Removes the manifest first, so that an incomplete checkpoint does not look complete.
  void RemoveFrom(objects::Bucket& bucket, const std::string& uuid) const {
    OrThrow(bucket.Remove(Key(uuid, kManifest)));
    for (const std::string& key : OrThrow(bucket.List(Key(uuid, "")))) OrThrow(bucket.Remove(key));
    if (!owner_.empty()) OrThrow(bucket.Remove(EntryKey(uuid)));
  }

  static std::optional<int64_t> ReadSteps(const std::string& text) {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return std::nullopt;
    const auto steps = json.find(kStepsCompleted);
    if (steps == json.end() || !steps->is_number_integer()) return std::nullopt;
    return steps->get<int64_t>();
  }
  static std::optional<int64_t> StepsIn(objects::Bucket& bucket, const std::string& key) {
    return ReadSteps(bucket.Read(key, 0, kSmall).value_or(""));
  }

  void Download(const std::string& uuid, const fs::path& dir,
                const std::vector<FileRecord>& files) const {
    // Done before the threads would do it concurrently.
    for (const FileRecord& file : files) {
      const fs::path relative = fs::path(file.path).lexically_normal();
      if (relative.is_absolute() || relative.empty() || *relative.begin() == "..") {
        throw Error("checkpoint " + uuid + ": file " + file.path +
                    " has a path outside the checkpoint; use another checkpoint");
      }
      fs::create_directories((dir / relative).parent_path());
    }
    ForEach(
        files,
        [&](objects::Bucket& bucket, const FileRecord& file) {
          const absl::Status got = bucket.GetFile(Key(uuid, file.path), (dir / file.path).string());
          // A missing file is damage, which Verify reports.
          if (!absl::IsNotFound(got)) OrThrow(got);
          if (!got.ok()) fs::remove(dir / file.path);
          Verify(uuid, dir, file);
        },
        [this] { return Connect(); });
  }

  const objects::BucketConfig place_;
  std::string prefix_;
  const std::string owner_;
  std::optional<base::TempDir> scratch_dir_;
  fs::path scratch_;
  std::mutex mutex_;
  std::map<std::string, std::string> opened_;  // guarded by mutex_
  ChangedFiles changed_;
};

}  // namespace

std::unique_ptr<Storage> MakeBucketStorage(const std::string& config_json, std::string scratch,
                                           std::string owner) {
  const Json config = Json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  const Json storage =
      config.is_object() ? config.value("checkpoint_storage", Json::object()) : Json::object();
  const auto text = [&](const char* name) {
    const auto it = storage.find(name);
    return it != storage.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  objects::BucketConfig place;
  place.type = text("type");
  place.bucket = text("bucket");
  place.access_key = text("access_key");
  place.secret_key = text("secret_key");
  place.endpoint_url = text("endpoint_url");
  place.container = text("container");
  place.connection_string = text("connection_string");
  place.account_url = text("account_url");
  place.credential = text("credential");
  return std::make_unique<BucketStorage>(std::move(place), text("prefix"), std::move(scratch),
                                         std::move(owner));
}

}  // namespace det::storage
