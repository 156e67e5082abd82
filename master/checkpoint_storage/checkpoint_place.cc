#include "master/checkpoint_storage/checkpoint_place.h"

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

// Below the root.
constexpr std::string_view kSystem[] = {"etc", "proc", "sys", "dev",   "boot",  "usr",
                                        "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

bool IsSystem(const fs::path& path) {
  const auto part = std::next(path.begin());  // behind the root
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

// The same with `.` and a last slash taken away.
fs::path Words(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
}

// `form`: Words or Resolve, for all paths alike.
template <class Form>
absl::Status Check(const CheckpointPlaces& places, const std::string& given, const Form& form) {
  const fs::path path = form(Words(given));
  const fs::path own = form(Words(places.own));
  if (IsInside(path, own)) return absl::OkStatus();
  const std::string instead = absl::StrCat(", or leave it out for ", places.own);
  if (!places.roots.empty()) {
    for (const std::string& root : places.roots) {
      if (IsInside(path, form(Words(root)))) return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("\"", given, "\" is not allowed by this cluster; name a folder below ",
                     absl::StrJoin(places.roots, " or "), instead));
  }
  if (IsSystem(path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", given, "\" belongs to the operating system; name a folder of your own", instead));
  }
  if (IsInside(path, form(Words(places.data_dir)))) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", given, "\" is the master's own; name a folder outside of ",
                     places.data_dir, instead));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCheckpointPlace(const CheckpointPlaces& places,
                                  const model::CheckpointStorageConfig& storage) {
  if (checkpoint_storage::IsBucket(storage)) {
    if (checkpoint_storage::IsAmongRoots(places.buckets, storage)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("this bucket is not allowed by this cluster; name a place of ",
                     absl::StrJoin(places.roots, " or "), ", or leave it out for the cluster's"));
  }
  const fs::path root = storage.type == "directory" ? storage.container_path : storage.host_path;
  if (std::find(root.begin(), root.end(), "..") != root.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", root.string(), "\" has ..; write the path without it"));
  }
  const fs::path place = model::CheckpointDirectory(storage);
  for (const std::string& path : {root.string(), place.lexically_normal().string()}) {
    DET_RETURN_IF_ERROR(Check(places, path, Words));
    DET_RETURN_IF_ERROR(Check(places, path, Resolve));
  }
  return absl::OkStatus();
}

std::string CheckpointFolder(const model::CheckpointStorageConfig& storage,
                             const model::CheckpointId& id) {
  if (checkpoint_storage::IsBucket(storage)) return checkpoint_storage::AddressOf(storage, id);
  return (fs::path(model::CheckpointDirectory(storage)) / id.value()).string();
}

}  // namespace det::checkpoint_storage
