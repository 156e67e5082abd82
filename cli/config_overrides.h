// Puts `--config a.b.c=YAML` into the text of a configuration.
// Called by `experiment create`. Never throws. Does not know which keys there are: the master does.
#ifndef CLI_CONFIG_OVERRIDES_H_
#define CLI_CONFIG_OVERRIDES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

// `yaml` unchanged if there are no overrides. INVALID_ARGUMENT: `path`:line for a text that is no
// YAML, the override's words for one that cannot be applied.
absl::StatusOr<std::string> ApplyOverrides(const std::string& path, const std::string& yaml,
                                           const std::vector<std::string>& overrides);

}  // namespace det::cli

#endif  // CLI_CONFIG_OVERRIDES_H_
