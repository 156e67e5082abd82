// What makes a checkpoint whole, wherever it lies: metadata.json and manifest.json, which names
// each file with its size and SHA-256. All throw Error.
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

// Runs `step`, whose std::filesystem calls name the file in what they throw.
template <class Function>
auto OrError(Function step) {
  try {
    return step();
  } catch (const std::filesystem::filesystem_error& e) {
    throw Error(std::string(e.what()) + "; check the space and the permissions there");
  }
}

FileRecord Describe(const std::filesystem::path& root, const std::filesystem::path& file);
FileRecord DescribeText(const std::string& name, const std::string& text);
// All files below `root`, which must be regular ones.
std::vector<FileRecord> DescribeAll(const std::filesystem::path& root);

std::string ManifestText(const std::string& owner, const std::vector<FileRecord>& files);
struct Manifest {
  std::string owner;
  std::vector<FileRecord> files;
};
// `where`: for the message.
Manifest ParseManifest(const std::string& where, const std::string& text);

// The ranks' files must have names of their own.
void RefuseDuplicates(const std::vector<std::vector<FileRecord>>& by_rank);

// Compares dir/file.path with what was saved.
void Verify(const std::string& uuid, const std::filesystem::path& dir, const FileRecord& file);

}  // namespace det::storage

#endif  // TRIAL_API_CPP_STORAGE_MANIFEST_H_
