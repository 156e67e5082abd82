// The other programs of this installation.
// Called by commands that start one; on any thread.
#ifndef CLI_PROGRAM_H_
#define CLI_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

// The path of a program beside this one: in one folder when installed, in the folder of its target
// when built. NOT_FOUND says how to build it.
absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name);

// Becomes the program, with its standard streams. Returns only where that fails. `argv` without the
// program itself.
absl::Status ExecProgram(const std::string& path, const std::vector<std::string>& argv);

// This process's environment with `variables`, "NAME=value" each, in place of those it has.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& variables);

}  // namespace det::cli

#endif  // CLI_PROGRAM_H_
