// Reads a context directory for upload. Used by `experiment create` on the main thread; blocks on
// disk reads. Never follows symbolic links and never reads outside of the directory.
#ifndef CLI_CONTEXT_DIR_H_
#define CLI_CONTEXT_DIR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

inline constexpr int64_t kContextLimit = 95 << 20;

struct ContextEntry {
  enum class Kind { kFile, kLink, kDirectory };
  std::string path;  // relative, '/' between names
  Kind kind = Kind::kFile;
  std::string content;  // content of a file, or target of a link
  int64_t mtime = 0;
  uint32_t mode = 0;
};

// Returns all entries except those excluded by .detignore and the built-in rules, sorted by path.
// Returns INVALID_ARGUMENT with the path if `directory` is not a directory, a link points outside
// of it, an entry is not a regular file (such as a socket), a name is not UTF-8, or the total size
// is over the limit (with the largest file).
absl::StatusOr<std::vector<ContextEntry>> ReadContextDir(const std::string& directory,
                                                         int64_t limit = kContextLimit);

// Adds a file, or a directory with its content, under its own name at the top of the context.
// Returns INVALID_ARGUMENT as above, and for a path that is already in the context.
absl::Status IncludeInContext(const std::string& path, std::vector<ContextEntry>* entries);

}  // namespace det::cli

#endif  // CLI_CONTEXT_DIR_H_
