#include "master/checkpoint_storage/checkpoint_location.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace det::checkpoint_storage {
namespace {

namespace fs = std::filesystem;

// Folders in the root directory.
constexpr std::string_view kSystem[] = {"etc", "proc", "sys", "dev",   "boot",  "usr",
                                        "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

bool IsSystem(const fs::path& path) {
  const auto part = std::next(path.begin());  // after the root
  if (part == path.end() || part->empty()) return true;
  return std::find(std::begin(kSystem), std::end(kSystem), part->string()) != std::end(kSystem);
}

bool IsInside(const fs::path& path, const fs::path& folder) {
  if (folder.empty()) return false;
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

fs::path Resolve(const fs::path& path) {
  std::error_code error;
  fs::path resolved = path.empty() ? path : fs::weakly_canonical(path, error);
  return error ? path : resolved;
}

// Removes `.` and a trailing slash.
fs::path Words(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
}

// `form`: Words or Resolve, applied to all paths.
template <class Form>
absl::Status Check(const CheckpointLocations& locations, const std::string& given,
                   const Form& form) {
  const fs::path path = form(Words(given));
  const fs::path own = form(Words(locations.own));
  if (IsInside(path, own)) return absl::OkStatus();
  const std::string instead = absl::StrCat(", or leave it out for ", locations.own);
  if (!locations.roots.empty()) {
    for (const std::string& root : locations.roots) {
      if (IsInside(path, form(Words(root)))) return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("\"", given, "\" is not allowed by this cluster; choose a folder in ",
                     absl::StrJoin(locations.roots, " or "), instead));
  }
  if (IsSystem(path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", given, "\" belongs to the operating system; choose a folder of your own", instead));
  }
  if (IsInside(path, form(Words(locations.data_dir)))) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", given,
                     "\" is in the master's data directory; choose a folder outside "
                     "of ",
                     locations.data_dir, instead));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCheckpointLocation(const CheckpointLocations& locations,
                                     const model::CheckpointStorageConfig& storage) {
  if (checkpoint_storage::IsBucket(storage)) {
    if (checkpoint_storage::IsAmongRoots(locations.buckets, storage)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "this bucket is not allowed by this cluster; choose one of ",
        absl::StrJoin(locations.roots, " or "), ", or leave it out for the cluster's"));
  }
  const fs::path root = storage.type == "directory" ? storage.container_path : storage.host_path;
  if (std::find(root.begin(), root.end(), "..") != root.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", root.string(), "\" contains ..; write the path without it"));
  }
  const fs::path place = model::CheckpointDirectory(storage);
  for (const std::string& path : {root.string(), place.lexically_normal().string()}) {
    DET_RETURN_IF_ERROR(Check(locations, path, Words));
    DET_RETURN_IF_ERROR(Check(locations, path, Resolve));
  }
  return absl::OkStatus();
}

std::string GetCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                const model::CheckpointId& id) {
  if (checkpoint_storage::IsBucket(storage)) return checkpoint_storage::MakeAddress(storage, id);
  return (fs::path(model::CheckpointDirectory(storage)) / id.value()).string();
}

}  // namespace det::checkpoint_storage
