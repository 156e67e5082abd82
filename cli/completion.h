// Completions of a command line for shells, derived from the table of commands.
// Used by `det __complete`. Does no I/O: the caller provides names of objects of the master.
#ifndef CLI_COMPLETION_H_
#define CLI_COMPLETION_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "cli/command.h"

namespace det::cli {

struct Candidate {
  std::string word;
  std::string help;  // one line, may be empty
};

// Returns the names of objects of a kind: EXPERIMENT, AGENT, POOL, WORKSPACE, PROJECT, USER,
// TEMPLATE, MODEL; none for other kinds. `before` are the earlier positionals of the command.
using NameSource = absl::FunctionRef<std::vector<Candidate>(
    const std::string& kind, const std::vector<std::string>& before)>;

// Returns the completions of the last of `words`, which follow "det" and can be empty. Returns
// nothing where any text is allowed, such as a file name.
std::vector<Candidate> Complete(const std::vector<Command>& commands,
                                std::vector<std::string> words, NameSource names);

}  // namespace det::cli

#endif  // CLI_COMPLETION_H_
