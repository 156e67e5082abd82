// The startup hooks of a task: scripts that run before its program and may set variables for it.
// Called by main on its only thread.
#ifndef AGENT_RUNNER_STARTUP_HOOKS_H_
#define AGENT_RUNNER_STARTUP_HOOKS_H_

#include <string>
#include <vector>

namespace det::agent {

// Quotes a text for a POSIX shell.
std::string QuoteForShell(const std::string& text);

// Returns the hooks that exist, in the order in which they run: that of the cluster's configuration
// in the run directory, and that of the context directory, which is the current one.
std::vector<std::string> FindStartupHooks(const std::string& run_dir);

// Returns a command line that sources the hooks in one shell, which prints each of their lines
// before it runs it, and then becomes `next`. If a line fails, the task ends with its exit code.
std::vector<std::string> MakeHookCommand(const std::vector<std::string>& hooks,
                                         const std::vector<std::string>& next);

}  // namespace det::agent

#endif  // AGENT_RUNNER_STARTUP_HOOKS_H_
