// Finds and runs the other programs of this installation. Used by commands on any thread.
#ifndef CLI_PROGRAM_H_
#define CLI_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

// Returns the path of a program: in the directory of det if installed, in the directory of its
// target if built. Returns NOT_FOUND with build instructions.
absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name);

// Returns the absolute path of this program.
absl::StatusOr<std::string> GetOwnPath();

// Replaces this process with the program; standard streams are kept. Returns only on error. `argv`
// does not include the program.
absl::Status ExecProgram(const std::string& path, const std::vector<std::string>& argv);

// Returns the environment of this process, with `variables` ("NAME=value") replaced or added.
std::vector<std::string> MakeEnvironment(const std::vector<std::string>& variables);

}  // namespace det::cli

#endif  // CLI_PROGRAM_H_
