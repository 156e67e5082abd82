#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fd.h"
#include "base/file.h"
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

void ThrowUnlessOk(const absl::Status& status) {
  if (!status.ok()) throw Error(std::string(status.message()));
}

void Sync(const fs::path& path) {
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) {
    throw Error("cannot sync " + path.string() + ": " + std::strerror(errno));
  }
}

// Creates directories in which tasks of other users can write, too.
void CreateOpenDirectories(const fs::path& directory) {
  if (fs::is_directory(directory)) return;
  CreateOpenDirectories(directory.parent_path());
  if (fs::create_directory(directory)) fs::permissions(directory, fs::perms::all);
}

// Adds what is new in an event file, which only grows, to its copy, which a reader may have open.
// Returns false if the file must be copied as a whole.
bool AddNewPart(const fs::path& file, const fs::path& copy) {
  if (file.filename().string().find("tfevents") == std::string::npos || !fs::exists(copy) ||
      fs::file_size(copy) >= fs::file_size(file)) {
    return false;
  }
  std::ifstream from(file, std::ios::binary);
  from.seekg(static_cast<std::streamoff>(fs::file_size(copy)));
  std::ofstream to(copy, std::ios::binary | std::ios::app);
  errno = 0;
  if (!from || !(to << from.rdbuf()) || !to.flush()) {
    throw Error("cannot write " + copy.string() + ": " + std::strerror(errno));
  }
  return true;
}

class SharedFs final : public Storage {
 public:
  SharedFs(std::string base, const std::string& owner)
      : base_(fs::absolute(base)),
        owner_(owner),
        temporary_prefix_(".tmp-" + owner + (owner.empty() ? "" : "-")) {}

  std::string BeginWrite(const std::string& uuid, int rank) override {
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
      for (const FileRecord& file : files) Sync(dir / file.path);
      return files;
    });
  }

  std::vector<FileRecord> Publish(const std::string& uuid,
                                  const std::vector<std::vector<FileRecord>>& by_rank,
                                  const std::string& metadata_json) override {
    return ConvertErrors([&] {
      RejectDuplicates(by_rank);
      // Next to the directories of the ranks, so that file names cannot collide with theirs.
      const fs::path merged = Aside(uuid) / "merged";
      std::vector<FileRecord> files = Merge(uuid, by_rank, merged);
      WriteSynced(merged / kMetadata, metadata_json);
      files.push_back(Describe(merged, merged / kMetadata));
      WriteSynced(merged / kManifest, ManifestText(owner_, files));
      files.push_back(Describe(merged, merged / kManifest));
      SyncDirs(merged);
      fs::rename(merged, base_ / uuid);
      Sync(base_);
      fs::remove_all(Aside(uuid));
      return files;
    });
  }

  void Remove(const std::string& uuid) override {
    std::error_code ignored;
    fs::remove_all(Aside(uuid), ignored);
    fs::remove_all(base_ / uuid, ignored);
  }

  void RemoveLeftovers() override {
    std::error_code ignored;
    std::vector<fs::path> leftovers;
    for (fs::directory_iterator it(base_, ignored), end; it != end; it.increment(ignored)) {
      const std::string name = it->path().filename().string();
      if (name.rfind(temporary_prefix_, 0) == 0 &&
          base::IsUuid(name.substr(temporary_prefix_.size()))) {
        leftovers.push_back(it->path());
      }
    }
    for (const fs::path& path : leftovers) fs::remove_all(path, ignored);
  }

  std::vector<std::string> ListSaved(int64_t max_steps) override {
    std::vector<std::pair<int64_t, std::string>> found;
    std::error_code ignored;
    for (fs::directory_iterator it(base_, ignored), end; it != end; it.increment(ignored)) {
      const std::string uuid = it->path().filename().string();
      if (owner_.empty() || !base::IsUuid(uuid)) continue;
      const Json manifest = ReadJson(it->path() / kManifest);
      if (!manifest.contains("owner") || manifest["owner"] != owner_) continue;
      const Json metadata = ReadJson(it->path() / kMetadata);
      if (!metadata.contains("steps_completed")) continue;
      const Json& steps = metadata["steps_completed"];
      if (steps.is_number_integer() && steps <= max_steps) found.emplace_back(steps, uuid);
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<std::string> uuids;
    for (auto& [steps, uuid] : found) uuids.push_back(std::move(uuid));
    return uuids;
  }

  std::string Open(const std::string& uuid) override {
    if (!base::IsUuid(uuid)) throw Error("'" + uuid + "' is not the UUID of a checkpoint");
    const fs::path dir = base_ / uuid;
    const std::string manifest = (dir / kManifest).string();
    const absl::StatusOr<std::string> text = base::ReadFile(manifest);
    if (!text.ok()) {
      throw Error("checkpoint " + uuid +
                  " is not complete: " + std::string(text.status().message()));
    }
    for (const FileRecord& file : ParseManifest(manifest, *text).files) Verify(uuid, dir, file);
    return dir.string();
  }

  void CopyNextToCheckpoints(const std::string& folder, const std::string& name) override {
    ConvertErrors([&] {
      for (const fs::path& file : changed_.Find(folder)) {
        const fs::path to = base_ / name / file;
        fs::create_directories(base_);  // not for others
        CreateOpenDirectories(to.parent_path());
        if (!AddNewPart(folder / file, to)) {
          fs::path aside = to;
          aside.replace_filename(temporary_prefix_ + to.filename().string());
          fs::copy_file(folder / file, aside, fs::copy_options::overwrite_existing);
          fs::rename(aside, to);
        }
        changed_.MarkCopied(folder / file);
      }
    });
  }

 private:
  fs::path Aside(const std::string& uuid) const { return base_ / (temporary_prefix_ + uuid); }
  fs::path RankDir(const std::string& uuid, int rank) const {
    return Aside(uuid) / ("rank-" + std::to_string(rank));
  }

  std::vector<FileRecord> Merge(const std::string& uuid,
                                const std::vector<std::vector<FileRecord>>& by_rank,
                                const fs::path& merged) const {
    fs::create_directories(merged);
    std::vector<FileRecord> files;
    for (size_t rank = 0; rank < by_rank.size(); ++rank) {
      for (const FileRecord& file : by_rank[rank]) {
        const fs::path to = merged / file.path;
        fs::create_directories(to.parent_path());
        fs::rename(RankDir(uuid, static_cast<int>(rank)) / file.path, to);
        files.push_back(file);
      }
    }
    return files;
  }

  // Returns a JSON object; an empty one if the file is missing or invalid.
  static Json ReadJson(const fs::path& path) {
    const absl::StatusOr<std::string> text = base::ReadFile(path.string());
    Json json = Json::parse(text.value_or(""), nullptr, false);
    return json.is_object() ? json : Json::object();
  }

  static void WriteSynced(const fs::path& path, const std::string& text) {
    ThrowUnlessOk(base::WriteFileAtomically(path.string(), text));
  }

  static void SyncDirs(const fs::path& root) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_directory()) Sync(entry.path());
    }
    Sync(root);
  }

  const fs::path base_;
  const std::string owner_;
  const std::string temporary_prefix_;
  ChangedFiles changed_;
};

}  // namespace

std::unique_ptr<Storage> MakeSharedFs(std::string base, std::string owner) {
  return std::make_unique<SharedFs>(std::move(base), owner);
}

}  // namespace det::storage
