#include "agent/runner/startup_hooks.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace det::agent {

std::vector<std::string> FindStartupHooks(const std::string& run_dir) {
  std::vector<std::string> hooks;
  for (const std::string& hook : {run_dir + "/startup-hook.sh", std::string("./startup-hook.sh")}) {
    if (::access(hook.c_str(), R_OK) == 0) hooks.push_back(hook);
  }
  return hooks;
}

std::vector<std::string> MakeHookCommand(const std::vector<std::string>& hooks,
                                         const std::vector<std::string>& next) {
  // The number of hooks is $1, then come the hooks, then the command. The hooks see no arguments.
  constexpr char kScript[] = R"sh(
run_hook() {
  det_hook=$1
  shift $#
  trap 'det_code=$?
    { set +x; } 2>/dev/null
    echo "startup hook $det_hook ended the task with exit code $det_code" >&2' EXIT
  set -ex
  . "$det_hook"
  { set +ex; trap - EXIT; } 2>/dev/null
}
)sh";
  std::string script = kScript;
  for (size_t i = 1; i <= hooks.size(); ++i) absl::StrAppend(&script, "run_hook \"$", i, "\"\n");
  absl::StrAppend(&script, "shift ", hooks.size(), "\nexec \"$@\"\n");
  std::vector<std::string> argv = {::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh", "-c",
                                   script, "startup-hook"};
  argv.insert(argv.end(), hooks.begin(), hooks.end());
  argv.insert(argv.end(), next.begin(), next.end());
  return argv;
}

}  // namespace det::agent
