// Reads the files of a stored context directory from its archive.
//
// Any thread. Works in memory, with one file at a time, and does not access the file system.
#ifndef MASTER_API_EXPERIMENTS_CONTEXT_FILES_H_
#define MASTER_API_EXPERIMENTS_CONTEXT_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace det::api {

struct ContextFile {
  enum class Kind { kFile, kFolder, kLink };
  std::string path;  // "src/model.py", relative, without "." and ".."
  Kind kind = Kind::kFile;
  int64_t size = 0;    // in bytes; files only
  bool text = false;   // valid UTF-8 without NUL; files only
  std::string target;  // links only
};

// Lists all entries by name, a directory before its entries. Returns INTERNAL if `tgz` is not a
// valid archive, contains more than kContextLimit bytes, or has paths that leave the directory.
absl::StatusOr<std::vector<ContextFile>> ListContext(std::string_view tgz);

// Returns the content of a file; follows symbolic links. Returns INVALID_ARGUMENT if the path
// leaves the directory, by itself or through links, or is a directory; NOT_FOUND if it does not
// exist.
absl::StatusOr<std::string> ReadContextFile(std::string_view tgz, std::string_view path);

// Whether the content of a file is valid UTF-8 without NUL.
bool IsText(std::string_view data);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_CONTEXT_FILES_H_
