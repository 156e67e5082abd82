#include "master/checkpoint_storage/experiment_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/fd.h"
#include "base/objects/bucket.h"
#include "base/status_macros.h"
#include "base/uuid.h"

namespace det::checkpoint_storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kUuidLength = 36;

absl::Status CannotRemove(const std::string& folder, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("the master cannot remove the files of the experiment in ", folder, ": ",
                   std::generic_category().message(error),
                   "; give it access to the checkpoint storage, or remove them there"));
}

absl::Status RemoveFromBucket(objects::Bucket& bucket, std::string prefix,
                              const std::string& folder) {
  if (!prefix.empty() && prefix.back() != '/') prefix += '/';
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> keys,
                       bucket.List(absl::StrCat(prefix, folder, "/")));
  for (const std::string& key : keys) DET_RETURN_IF_ERROR(bucket.Remove(key));
  return absl::OkStatus();
}

// A folder of the storage. An administrator chose `top`, which may be a link; the links in `path`
// below it may be a task's.
struct Folder {
  std::string top;
  std::vector<std::string> path;
};

Folder FindFolder(const model::CheckpointStorageConfig& storage, const std::string& root,
                  const std::string& name) {
  const bool is_below = storage.type == "shared_fs" && root.starts_with(storage.host_path + "/");
  std::string top = is_below ? storage.host_path : root;
  std::vector<std::string> path =
      absl::StrSplit(absl::StrCat(root.substr(top.size()), "/", name), '/', absl::SkipEmpty());
  return {std::move(top), std::move(path)};
}

// Opens the folder; the result is invalid if it does not exist.
absl::StatusOr<base::Fd> OpenFolder(const std::string& top, const std::vector<std::string>& path) {
  base::Fd folder(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return CannotRemove(top, errno);
  for (const std::string& name : path) {
    base::Fd next(
        ::openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid() && errno == ENOENT) return next;
    if (!next.valid()) return CannotRemove(absl::StrCat(top, "/", absl::StrJoin(path, "/")), errno);
    folder = std::move(next);
  }
  return folder;
}

fs::path PathOf(const base::Fd& folder) { return absl::StrCat("/proc/self/fd/", folder.get()); }

absl::Status RemoveFolder(const Folder& folder) {
  std::vector<std::string> parent = folder.path;
  parent.pop_back();
  DET_ASSIGN_OR_RETURN(const base::Fd opened, OpenFolder(folder.top, parent));
  if (!opened.valid()) return absl::OkStatus();
  std::error_code error;
  // Removes links without following them.
  fs::remove_all(PathOf(opened) / folder.path.back(), error);
  if (!error) return absl::OkStatus();
  return CannotRemove(absl::StrCat(folder.top, "/", absl::StrJoin(folder.path, "/")),
                      error.value());
}

// Removes the entries of the folder whose names are a prefix and a UUID.
absl::Status RemoveIncomplete(const Folder& folder, const std::set<std::string>& prefixes) {
  DET_ASSIGN_OR_RETURN(const base::Fd opened, OpenFolder(folder.top, folder.path));
  if (!opened.valid()) return absl::OkStatus();
  std::error_code error;
  // Trailing slash: the path is a link of the kernel's.
  auto entry = fs::directory_iterator(PathOf(opened) / "", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    const size_t size = name.size() < kUuidLength ? 0 : name.size() - kUuidLength;
    if (!prefixes.contains(name.substr(0, size)) || !base::IsUuid(name.substr(size))) continue;
    fs::remove_all(entry->path(), error);
    if (error) break;
  }
  if (!error) return absl::OkStatus();
  return CannotRemove(absl::StrCat(folder.top, "/", absl::StrJoin(folder.path, "/")),
                      error.value());
}

// Removes the checkpoints that the owner has started and whose manifest, which is written last, is
// missing; and the names under which it started any.
absl::Status RemoveIncomplete(objects::Bucket& bucket, std::string prefix,
                              const std::string& owner) {
  if (!prefix.empty() && prefix.back() != '/') prefix += '/';
  const std::string started = absl::StrCat(prefix, "owners/", owner, "/");
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> entries, bucket.List(started));
  for (const std::string& entry : entries) {
    const std::string uuid = entry.substr(started.size());
    if (!base::IsUuid(uuid)) continue;
    DET_ASSIGN_OR_RETURN(const std::vector<std::string> keys,
                         bucket.List(absl::StrCat(prefix, uuid, "/")));
    const std::string manifest = absl::StrCat(prefix, uuid, "/manifest.json");
    if (std::find(keys.begin(), keys.end(), manifest) == keys.end()) {
      for (const std::string& key : keys) DET_RETURN_IF_ERROR(bucket.Remove(key));
    }
    DET_RETURN_IF_ERROR(bucket.Remove(entry));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RemoveTensorboardFiles(const Rules& rules,
                                    const model::CheckpointStorageConfig& storage,
                                    const std::string& cluster_id, model::ExperimentId id) {
  const std::string folder = absl::StrCat(cluster_id, "/tensorboard/experiment/", id.value());
  if (IsBucket(storage)) {
    DET_ASSIGN_OR_RETURN(const std::unique_ptr<objects::Bucket> bucket, Open(rules, storage));
    return RemoveFromBucket(*bucket, storage.prefix, folder);
  }
  const std::string root = model::CheckpointDirectory(storage);
  if (root.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the master cannot remove TensorBoard files from storage of type ",
                     storage.type, "; remove them there"));
  }
  return RemoveFolder(FindFolder(storage, root, folder));
}

absl::Status RemoveExperimentFiles(const Rules& rules,
                                   const model::CheckpointStorageConfig& storage,
                                   const std::string& cluster_id, model::ExperimentId id,
                                   const std::vector<model::TrialId>& trials) {
  const auto owner = [&](model::TrialId trial) {
    return absl::StrCat(cluster_id, "-trial-", trial.value());
  };
  if (IsBucket(storage)) {
    DET_RETURN_IF_ERROR(RemoveTensorboardFiles(rules, storage, cluster_id, id));
    DET_ASSIGN_OR_RETURN(const std::unique_ptr<objects::Bucket> bucket, Open(rules, storage));
    for (const model::TrialId trial : trials) {
      DET_RETURN_IF_ERROR(RemoveIncomplete(*bucket, storage.prefix, owner(trial)));
    }
    return absl::OkStatus();
  }
  const std::string root = model::CheckpointDirectory(storage);
  std::error_code error;
  if (root.empty() || !fs::exists(FindFolder(storage, root, "").top, error)) {
    return absl::OkStatus();
  }
  DET_RETURN_IF_ERROR(RemoveTensorboardFiles(rules, storage, cluster_id, id));
  std::set<std::string> prefixes;
  for (const model::TrialId trial : trials) {
    prefixes.insert(absl::StrCat(".tmp-", owner(trial), "-"));
  }
  return RemoveIncomplete(FindFolder(storage, root, ""), prefixes);
}

}  // namespace det::checkpoint_storage
