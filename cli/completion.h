// What may stand where the cursor is, for the shells' completion.
// Called by `det __complete`. Does no I/O: names that the master knows come from the caller.
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

// What the master has of a kind: EXPERIMENT, AGENT, POOL, WORKSPACE, PROJECT, USER, TEMPLATE,
// MODEL; of
// others nothing. `before` are the words of the command so far.
using NameSource = absl::FunctionRef<std::vector<Candidate>(
    const std::string& kind, const std::vector<std::string>& before)>;

// For the last of `words` (what follows "det", perhaps empty), those that begin with it. Nothing
// where any text may stand, as for a file.
std::vector<Candidate> Complete(const std::vector<Command>& commands,
                                std::vector<std::string> words, NameSource names);

}  // namespace det::cli

#endif  // CLI_COMPLETION_H_
