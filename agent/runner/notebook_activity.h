// Decides whether a notebook is idle, from the answers of Jupyter Server's API. PURE.
#ifndef AGENT_RUNNER_NOTEBOOK_ACTIVITY_H_
#define AGENT_RUNNER_NOTEBOOK_ACTIVITY_H_

#include <string>

#include "absl/status/statusor.h"

namespace det::agent {

struct NotebookActivity {
  int kernels = 0;
  int terminals = 0;
  int sessions = 0;
  int connections = 0;     // of all kernels
  bool busy = false;       // whether a kernel executes something
  std::string last_event;  // the latest `last_activity` of kernels and terminals; empty: none
};

// `kernels`, `terminals` and `sessions` are the bodies of GET api/kernels etc. INVALID_ARGUMENT if
// one is not a JSON list.
absl::StatusOr<NotebookActivity> ParseActivity(const std::string& kernels,
                                               const std::string& terminals,
                                               const std::string& sessions);

// `type` is `notebook_idle_type` of the configuration; `previous` is the activity at the check
// before.
bool IsIdle(const std::string& type, const NotebookActivity& now, const NotebookActivity& previous);

}  // namespace det::agent

#endif  // AGENT_RUNNER_NOTEBOOK_ACTIVITY_H_
