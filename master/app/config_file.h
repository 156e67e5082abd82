// The master's configuration file: docs/reference/master-config.md.
//
// Called by config.cc and by tests, before anything starts.
#ifndef MASTER_APP_CONFIG_FILE_H_
#define MASTER_APP_CONFIG_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/app/config.h"

namespace det::app {

// Puts what the file says over what `config` holds. INVALID_ARGUMENT with all problems at once, a
// line each: "master.yaml:12: resource_pools[0].scheduler.type: expected one of ...".
absl::Status ReadConfigFile(const std::string& path, Config* config);

// The same with the file's text; `path` is what messages call it. Reads no file but that of a
// password.
absl::Status ReadConfigText(std::string_view yaml, const std::string& path, Config* config);

// The first line of a file; INVALID_ARGUMENT where it is empty.
absl::StatusOr<std::string> ReadPasswordFile(const std::string& path);

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_FILE_H_
