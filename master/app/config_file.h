// The master's configuration file: docs/reference/master-config.md.
//
// Called by config.cc and by tests, before anything starts.
#ifndef MASTER_APP_CONFIG_FILE_H_
#define MASTER_APP_CONFIG_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/app/config.h"
#include "master/app/config_overrides.h"

namespace det::app {

// Sets the fields of `config` that the file or the overrides contain. INVALID_ARGUMENT lists all
// problems, one line each: "master.yaml:12: resource_pools[0].scheduler.type: expected one of ...".
absl::Status ReadConfigFile(const std::string& path, Config* config,
                            const std::vector<Override>& overrides = {});

// The same for the file's text; `path` is its name in errors. Reads no other file than that of a
// password.
absl::Status ReadConfigText(std::string_view yaml, const std::string& path, Config* config,
                            const std::vector<Override>& overrides = {});

// Returns the first line of a file; INVALID_ARGUMENT if it is empty.
absl::StatusOr<std::string> ReadPasswordFile(const std::string& path);

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_FILE_H_
