// Finds and stops processes of a local cluster that have outlived their agent or master: tasks,
// found by their task marker environment variable (docs/task_environment.md), and PostgreSQL, found
// by its working directory. Used by local_cluster on the main thread, which blocks. Linux only
// (/proc). Never touches a process without such a marker, nor the calling process.
#ifndef CLI_ORPHANED_PROCESSES_H_
#define CLI_ORPHANED_PROCESSES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/process.h"

namespace det::cli {

// One process of a task.
struct TaskProcess {
  Process process;
  std::string agent;       // "agent-0", running or not
  std::string allocation;  // "3.1.0"
};

// Returns the running task processes of agents that work below <data_dir>/agents.
std::vector<TaskProcess> FindTasks(const std::string& data_dir);

// Sends SIGTERM to the tasks of `agents`, or of all agents if it is empty; then SIGKILL to those
// that are still running after `grace_period`, and to the processes that they start meanwhile.
void StopTasks(const std::string& data_dir, absl::Duration grace_period,
               const std::vector<std::string>& agents = {});

// Returns the server process of the PostgreSQL in the data directory, except if its parent is a
// running master other than `master`, such as one that was started manually.
std::optional<Process> FindPostgres(const std::string& data_dir, const Process& master);

}  // namespace det::cli

#endif  // CLI_ORPHANED_PROCESSES_H_
