// Reads and writes small files as a whole, and creates directories. Called by components with I/O,
// on any thread; the calls block until the disk has answered. Never throws.
#ifndef BASE_FILE_H_
#define BASE_FILE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace det::base {

// Reads a whole file. Returns NOT_FOUND, PERMISSION_DENIED, or INTERNAL with the system's message.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Writes a temporary file, syncs it, renames it and syncs the directory: after a crash there is
// either the complete old file or the complete new one. `mode` is the file's permissions.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content,
                                 unsigned mode = 0644);

// Writes in place without syncing. For a new directory that nobody reads yet and that is discarded
// after a crash.
absl::Status WriteFile(const std::string& path, absl::string_view content, unsigned mode = 0644);

// Creates a directory with permissions `mode` (less the umask), and its missing parents with the
// default permissions. An existing directory is left unchanged.
absl::Status MakeDirs(const std::string& path, unsigned mode = 0777);

// Returns whether a symbolic link at `path`, which is relative to some directory and has no link on
// the way to it, points inside that directory. Only the texts are examined. A ".." after a name
// counts as outside, because that name may be a link to any place.
bool LinkStaysInside(absl::string_view path, absl::string_view target);

// A new directory below $TMPDIR, or /tmp. The destructor removes it with its contents.
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
