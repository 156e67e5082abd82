// What the daemons of a local cluster started and what may outlive them: tasks, known by the mark
// that their environment carries (docs/task_environment.md), and PostgreSQL, known by the folder it
// works in.
// Called by local_cluster, on the main thread, which waits. Linux only (/proc). Never touches a
// process without such a sign, nor the caller's own.
#ifndef CLI_LEFTOVERS_H_
#define CLI_LEFTOVERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/process.h"

namespace det::cli {

// One process of a task.
struct TaskProcess {
  Process process;
  std::string agent;       // "agent-0", whether it lives or not
  std::string allocation;  // "3.1.0"
};

// Those that live now of the agents that work below <data_dir>/agents.
std::vector<TaskProcess> FindTasks(const std::string& data_dir);

// SIGTERM to those of some agents, SIGKILL to those that stay longer than `patience` and to what
// they start meanwhile. Without agents: to all.
void EndTasks(const std::string& data_dir, absl::Duration patience,
              const std::vector<std::string>& agents = {});

// The server process of the data directory's own PostgreSQL; not one that belongs to a live master
// other than `master`, as to one that was started by hand.
std::optional<Process> FindPostgres(const std::string& data_dir, const Process& master);

}  // namespace det::cli

#endif  // CLI_LEFTOVERS_H_
