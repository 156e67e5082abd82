// The text of a configuration as it is sent. Called by `experiment create`. Never throws. Does not
// know what YAML is, nor which keys there are: the master does, and puts `--config a.b.c=YAML` in.
#ifndef CLI_CONFIG_FILE_H_
#define CLI_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

// The file's text. INVALID_ARGUMENT also for one that cannot be read or is not UTF-8, as `path`:line,
// and for an override that is not.
absl::StatusOr<std::string> ReadConfig(const std::string& path,
                                       const std::vector<std::string>& overrides);

}  // namespace det::cli

#endif  // CLI_CONFIG_FILE_H_
