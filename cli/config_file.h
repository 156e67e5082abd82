// The text of a configuration as it is sent: from its file, with `--config a.b.c=YAML` put in.
// Called by `experiment create`. Never throws. Does not know which keys there are: the master does.
#ifndef CLI_CONFIG_FILE_H_
#define CLI_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

// The file's text with the overrides. INVALID_ARGUMENT also for one that cannot be read or is not
// UTF-8, as `path`:line.
absl::StatusOr<std::string> ReadConfig(const std::string& path,
                                       const std::vector<std::string>& overrides);

// `yaml` unchanged if there are no overrides. INVALID_ARGUMENT: `path`:line for a text that is no
// YAML, the override's words for one that cannot be applied.
absl::StatusOr<std::string> ApplyOverrides(const std::string& path, const std::string& yaml,
                                           const std::vector<std::string>& overrides);

}  // namespace det::cli

#endif  // CLI_CONFIG_FILE_H_
