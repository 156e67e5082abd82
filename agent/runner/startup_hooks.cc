#include "agent/runner/startup_hooks.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace det::agent {

std::string QuoteForShell(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", R"('\'')"}}), "'");
}

std::vector<std::string> FindStartupHooks(const std::string& run_dir) {
  std::vector<std::string> hooks;
  std::error_code error;
  const std::string context = std::filesystem::current_path(error);
  for (const std::string& hook : {run_dir + "/startup-hook.sh", context + "/startup-hook.sh"}) {
    if (::access(hook.c_str(), R_OK) == 0) hooks.push_back(hook);
  }
  return hooks;
}

std::vector<std::string> MakeHookCommand(const std::vector<std::string>& hooks,
                                         const std::vector<std::string>& next) {
  std::string script;
  for (const std::string& hook : hooks) {
    absl::StrAppend(&script, "det_hook=", QuoteForShell(hook), R"sh(
trap 'det_code=$?
  { set +x; } 2>/dev/null
  echo "startup hook $det_hook ended the task with exit code $det_code" >&2' EXIT
set -ex
. "$det_hook"
{ set +ex; trap - EXIT; } 2>/dev/null
)sh");
  }
  // Part of the script, because a hook could change the arguments of the shell.
  absl::StrAppend(&script, "exec");
  for (const std::string& word : next) absl::StrAppend(&script, " ", QuoteForShell(word));
  return {::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh", "-c", script, "startup-hook"};
}

}  // namespace det::agent
