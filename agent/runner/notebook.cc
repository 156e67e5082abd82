#include <pwd.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/runner/services.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include <nlohmann/json.hpp>

namespace det::agent {
namespace {

using Json = nlohmann::json;

// The shell of terminals.
std::string GetLoginShell() {
  const passwd* user = ::getpwuid(::geteuid());
  const std::string shell = user == nullptr || user->pw_shell == nullptr ? "" : user->pw_shell;
  const bool can_log_in = ::access(shell.c_str(), X_OK) == 0 && !shell.ends_with("/nologin") &&
                          !shell.ends_with("/false");
  return can_log_in ? shell : "/bin/bash";
}

// The token is in this file, because command lines are visible to other users of the machine.
Json MakeConfig(const ServiceInput& input, const std::string& base_path, const std::string& token) {
  return {{"ServerApp",
           {{"ip", "127.0.0.1"},
            {"port", input.port},
            {"port_retries", 0},
            {"open_browser", false},
            {"use_redirect_file", false},
            {"allow_root", true},
            // Requests come from the proxy, which checks their origin and knows their host.
            {"allow_remote_access", true},
            {"allow_origin", "*"},
            {"trust_xheaders", true},
            {"base_url", base_path},
            {"root_dir", "/"}}},
          {"FileContentsManager", {{"preferred_dir", input.work_dir}}},
          {"IdentityProvider", {{"token", token}}},
          // A cluster may have no access to the internet.
          {"LabApp", {{"check_for_updates_class", "jupyterlab.NeverCheckForUpdate"}}}};
}

}  // namespace

std::string GetPython() {
  const char* python = ::getenv("DET_PYTHON_EXECUTABLE");
  return python == nullptr || *python == 0 ? "python3" : python;
}

bool HasModule(const std::string& python, const std::string& module) {
  const absl::StatusOr<base::ChildProcess> child =
      base::Spawn({.argv = {python, "-c",
                            absl::StrCat("import importlib.util as u; exit(u.find_spec('", module,
                                         "') is None)")}});
  return child.ok() && base::WaitForExit(child->pid).value_or(base::ProcessExit{1, 0}).ok();
}

absl::StatusOr<Service> PrepareNotebook(const ServiceInput& input) {
  const Json description = Json::parse(input.description, nullptr, /*allow_exceptions=*/false);
  const std::string base_path = description.value("base_path", "/");
  const std::string token = description.value("token", "");
  const std::string python = GetPython();
  if (!HasModule(python, "jupyterlab")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the Python of this task, ", python,
        ", has no JupyterLab; run `pip install jupyterlab` for it on the agent's machine or in "
        "startup-hook.sh, or set DET_PYTHON_EXECUTABLE to a Python that has it"));
  }
  const std::string folder = input.run_dir + "/jupyter";
  Service service;
  service.argv = {python, "-m", "jupyterlab", "--no-browser"};
  for (const char* kind : {"config", "data", "runtime"}) {
    DET_RETURN_IF_ERROR(base::MakeDirs(absl::StrCat(folder, "/", kind), 0700));
  }
  service.env = {{"JUPYTER_CONFIG_DIR", folder + "/config"},
                 {"JUPYTER_DATA_DIR", folder + "/data"},
                 {"JUPYTER_RUNTIME_DIR", folder + "/runtime"},
                 {"SHELL", GetLoginShell()}};
  DET_RETURN_IF_ERROR(base::WriteFile(folder + "/config/jupyter_server_config.json",
                                      MakeConfig(input, base_path, token).dump(), 0600));
  service.url = absl::StrCat("http://127.0.0.1:", input.port, base_path, "api/");
  service.headers = {absl::StrCat("Authorization: token ", token)};
  service.idle_type = description.value("idle_type", "kernels_or_terminals");
  return service;
}

}  // namespace det::agent
