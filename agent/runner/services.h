// The programs of notebooks, shells and TensorBoards: their command lines, variables and files.
//
// Called by main on its only thread. The files are below the task's private run directory.
#ifndef AGENT_RUNNER_SERVICES_H_
#define AGENT_RUNNER_SERVICES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::agent {

struct ServiceInput {
  std::string description;  // the content of service.json (docs/tasks.md)
  std::string run_dir;
  std::string work_dir;
  int port = 0;
  std::vector<std::string> env;  // "NAME=value", of the task
};

struct Service {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // in addition to that of the task
  // How it shows that it serves: it answers GET of this URL; empty: it sends an SSH banner.
  std::string url;
  std::vector<std::string> headers;  // of requests to it
  std::string idle_type;             // of a notebook; otherwise empty
};

// FAILED_PRECONDITION with instructions if the program is not installed.
absl::StatusOr<Service> PrepareNotebook(const ServiceInput& input);
absl::StatusOr<Service> PrepareShell(const ServiceInput& input);
absl::StatusOr<Service> PrepareTensorboard(const ServiceInput& input);

// The Python of the task: $DET_PYTHON_EXECUTABLE, else python3.
std::string GetPython();
// Returns whether this Python can import a module.
bool HasModule(const std::string& python, const std::string& module);

// Returns a script that exports the variables of the task which a session must not determine
// itself, such as HOME or TERM.
std::string MakeEnvironmentScript(const std::vector<std::string>& env);

}  // namespace det::agent

#endif  // AGENT_RUNNER_SERVICES_H_
