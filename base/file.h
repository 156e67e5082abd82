// Small files and folders, whole.
// Called by edges: configuration, journals, tokens, tests; on any thread, which waits for the disk.
// Never throws.
#ifndef BASE_FILE_H_
#define BASE_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace det::base {

// NOT_FOUND, PERMISSION_DENIED, or INTERNAL with the system's words.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Writes aside, syncs, renames and syncs the folder: after a crash there is the old file or the new
// one, whole. `mode` is the file's permissions.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 unsigned mode = 0644);

// Writes in place, and syncs nothing: for a new folder that nobody reads yet, and that is worth
// nothing after a crash.
absl::Status WriteFile(const std::string& path, absl::string_view content, unsigned mode = 0644);

// Makes a folder with these permissions (less the umask) and those above it with the usual ones;
// one that exists is fine and stays as it is.
absl::Status MakeDirs(const std::string& path, unsigned mode = 0777);

// Whether a symbolic link at `path`, relative to some directory and with no link on the way to it,
// stays inside of that directory, judged by the words alone. ".." behind a name counts as leaving:
// the name may be a link itself, and then leads anywhere.
bool LinkStaysInside(absl::string_view path, absl::string_view target);

// A folder of its own below the system's temporary one ($TMPDIR, or /tmp), removed with all in it
// when this dies.
class TempDir {
 public:
  static absl::StatusOr<TempDir> Create(absl::string_view prefix = "det");

  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TempDir();

  const std::string& path() const { return path_; }

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace det::base

#endif  // BASE_FILE_H_
