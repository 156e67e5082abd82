// Reads experiment config files for upload. Used by `experiment create` and similar commands. Never
// throws. Does not parse YAML: the master does, and applies overrides `--config a.b.c=YAML`.
#ifndef CLI_CONFIG_FILE_H_
#define CLI_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

// Returns the text of the file. Returns INVALID_ARGUMENT if the file cannot be read or is not UTF-8
// (with `path`:line), or if an override is not UTF-8.
absl::StatusOr<std::string> ReadConfig(const std::string& path,
                                       const std::vector<std::string>& overrides);

}  // namespace det::cli

#endif  // CLI_CONFIG_FILE_H_
