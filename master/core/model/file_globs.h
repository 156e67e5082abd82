// Which files of a checkpoint patterns name. `*` and `?` stand for what is no '/', `[a-z]` and
// `[!a-z]` for one such character, a `\` before one for itself, `**` for any number of folders. A
// '/' at the end stands for all that lies below. Read by the service, which refuses what names no
// file, and by the sweep, which removes what is named.
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

// INVALID_ARGUMENT says which of them can name no file of a checkpoint.
absl::Status CheckGlobs(const Globs& globs);
// Whether one of them names all files, whatever they are.
bool NamesAll(const Globs& globs);
// The pattern that names this file alone.
std::string GlobOf(const std::string& path);
// Without the files that are named. A folder goes with the last file that lies in it.
Resources LeftOf(const Resources& all, const Globs& globs);
// More than folders.
bool HasFiles(const Resources& resources);
// Whether a file is named, not folders alone.
bool TakesFiles(const Resources& all, const Globs& globs);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_FILE_GLOBS_H_
