// Glob patterns for the files of a checkpoint. `*` and `?` match any characters but '/', `[a-z]`
// and `[!a-z]` one such character, `\` escapes a character, `**` matches any number of directories.
// A pattern that ends with '/' matches everything below. Used by the API, which rejects patterns
// that cannot match, and by garbage collection, which removes matching files.
//
// PURE.
#ifndef MASTER_CORE_MODEL_FILE_GLOBS_H_
#define MASTER_CORE_MODEL_FILE_GLOBS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace det::model {

using Globs = std::vector<std::string>;
using Resources = std::map<std::string, int64_t>;  // relative path -> bytes; a folder ends with '/'

// INVALID_ARGUMENT, naming the pattern, if one cannot match a file of a checkpoint.
absl::Status CheckGlobs(const Globs& globs);
// Whether one pattern matches every file.
bool MatchesAllFiles(const Globs& globs);
// Returns the pattern that matches only this file.
std::string ToGlob(const std::string& path);
// Returns the resources without the matching files. A directory is removed with its last file.
Resources GetRemaining(const Resources& all, const Globs& globs);
// Whether there is a file, not only directories.
bool HasFiles(const Resources& resources);
// Whether a file matches, not only directories.
bool MatchesFiles(const Resources& all, const Globs& globs);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FILE_GLOBS_H_
