// Reads a context directory for an upload.
// Called by `experiment create`, on the main thread, which waits for the disk.
// Never follows a link, never reads outside of the directory.
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
  std::string content;  // of a file; the target of a link
  int64_t mtime = 0;
  uint32_t mode = 0;
};

// All entries that .detignore and the built-in rules leave, in order of path. INVALID_ARGUMENT
// names the path: no directory, a link that leaves it, a file that is none (a socket), a name that
// is not UTF-8, or, over the limit, the largest file and the total.
absl::StatusOr<std::vector<ContextEntry>> ReadContextDir(const std::string& directory,
                                                         int64_t limit = kContextLimit);

// Adds a file, or a directory with what is in it, under its own name beside what is there.
// INVALID_ARGUMENT as above, and for a name that stands there already.
absl::Status IncludeInContext(const std::string& path, std::vector<ContextEntry>* entries);

}  // namespace det::cli

#endif  // CLI_CONTEXT_DIR_H_
