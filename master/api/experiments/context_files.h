// The files of a stored context, read out of its archive one by one.
//
// Any thread. Works in memory, holds one file of it at a time; never touches the file system.
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
  int64_t size = 0;    // bytes; of files
  bool text = false;   // of files: UTF-8 without NUL
  std::string target;  // of links
};

// Folders before what is in them, and by name. INTERNAL for an archive that is none, that holds
// more than kContextLimit bytes, or whose paths leave the directory.
absl::StatusOr<std::vector<ContextFile>> ListContext(std::string_view tgz);

// What the file holds; links are followed. INVALID_ARGUMENT for a path that leaves the directory,
// by itself or by links, and for one of a folder; NOT_FOUND where nothing has it.
absl::StatusOr<std::string> ReadContextFile(std::string_view tgz, std::string_view path);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_CONTEXT_FILES_H_
