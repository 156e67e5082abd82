// Determines which files of a directory must be copied again. Used by
// Storage::CopyNextToCheckpoints; one thread at a time.
#ifndef TRIAL_API_CPP_STORAGE_CHANGED_FILES_H_
#define TRIAL_API_CPP_STORAGE_CHANGED_FILES_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

namespace det::storage {

class ChangedFiles {
 public:
  // Returns the regular files below `folder`, relative to it, whose size or time has changed since
  // they were copied. Returns an empty list if the directory does not exist. Throws
  // filesystem_error.
  std::vector<std::filesystem::path> Find(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> changed;
    if (!std::filesystem::is_directory(folder)) return changed;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      // The state before the copy: data that is added meanwhile is copied next time.
      const Stamp stamp{entry.file_size(), entry.last_write_time()};
      const auto copied = copied_.find(entry.path());
      if (copied != copied_.end() && copied->second == stamp) continue;
      seen_[entry.path()] = stamp;
      changed.push_back(entry.path().lexically_relative(folder));
    }
    return changed;
  }

  void MarkCopied(const std::filesystem::path& file) { copied_[file] = seen_[file]; }

 private:
  using Stamp = std::pair<uint64_t, std::filesystem::file_time_type>;

  std::map<std::filesystem::path, Stamp> seen_;
  std::map<std::filesystem::path, Stamp> copied_;
};

}  // namespace det::storage

#endif  // TRIAL_API_CPP_STORAGE_CHANGED_FILES_H_
