// The files that describe a complete checkpoint: metadata.json, and manifest.json with the size and
// SHA-256 of each file. All functions throw Error.
#ifndef TRIAL_API_CPP_STORAGE_MANIFEST_H_
#define TRIAL_API_CPP_STORAGE_MANIFEST_H_

#include <filesystem>
#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/storage/storage.h"

namespace det::storage {

inline constexpr char kMetadata[] = "metadata.json";
inline constexpr char kManifest[] = "manifest.json";

// Runs `step` and converts the exceptions of std::filesystem, which contain the file name.
template <class Function>
auto ConvertErrors(Function step) {
  try {
    return step();
  } catch (const std::filesystem::filesystem_error& e) {
    throw Error(std::string(e.what()) + "; check the free disk space and the permissions");
  }
}

FileRecord Describe(const std::filesystem::path& root, const std::filesystem::path& file);
FileRecord DescribeText(const std::string& name, const std::string& text);
// Describes all files below `root`, which must be regular files.
std::vector<FileRecord> DescribeAll(const std::filesystem::path& root);

std::string ManifestText(const std::string& owner, const std::vector<FileRecord>& files);
struct Manifest {
  std::string owner;
  std::vector<FileRecord> files;
};
// Parses a manifest. `where` is its location, for error messages.
Manifest ParseManifest(const std::string& where, const std::string& text);

// Throws if two ranks have files with the same name.
void RejectDuplicates(const std::vector<std::vector<FileRecord>>& by_rank);

// Compares the file dir/file.path with its size and SHA-256.
void Verify(const std::string& uuid, const std::filesystem::path& dir, const FileRecord& file);

}  // namespace det::storage

#endif  // TRIAL_API_CPP_STORAGE_MANIFEST_H_
