// The data types of the agent: what a task runs, how it ended, and what is reported about it. Used
// by all components of the agent, on any thread. link/messages.h converts them to and from
// protobuf.
//
// PURE.
#ifndef AGENT_CORE_TASK_H_
#define AGENT_CORE_TASK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "base/id.h"

namespace det::agent {

using AllocationId = base::Id<struct AllocationIdTag, std::string>;

enum class DeviceType { kCpu, kCuda, kRocm, kTpu };

// A slot that this agent offers.
struct Device {
  int id = 0;
  DeviceType type = DeviceType::kCpu;
  std::string brand;
  std::string uuid;
  int island = 0;  // devices of one island have the fastest links
  friend bool operator==(const Device&, const Device&) = default;
};

// A file to write below the task's run directory before it starts.
struct RunFile {
  std::string path;
  std::string content;
  uint32_t mode = 0600;
  friend bool operator==(const RunFile&, const RunFile&) = default;
};

// One agent's part of an allocation.
struct TaskSpec {
  AllocationId allocation;
  std::string task_id;
  std::vector<int> slots;
  double fraction = 1;  // of each slot; other tasks may use the rest
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::vector<RunFile> files;
  std::string context_hash;  // empty: an empty working directory
  std::string session_token;
  std::string user_token;
  friend bool operator==(const TaskSpec&, const TaskSpec&) = default;
};

struct RunningTask {
  AllocationId allocation;
  std::vector<int> slots;
  double fraction = 1;
  friend bool operator==(const RunningTask&, const RunningTask&) = default;
};

struct TaskStart {
  int pid = 0;
  friend bool operator==(const TaskStart&, const TaskStart&) = default;
};

struct TaskExit {
  int exit_code = 0;    // the code, or 128 + signal
  int signal = 0;       // not 0 when a signal ended the process
  std::string message;  // why the task never ran, or details beyond the code
  bool start_failed = false;
  bool system_failure = false;  // the machine or the agent failed, not the task
  friend bool operator==(const TaskExit&, const TaskExit&) = default;
};

// A change of a task that is reported to the master.
struct Report {
  int64_t sequence = 0;
  AllocationId allocation;
  absl::Time time;
  std::variant<TaskStart, TaskExit> event;
  friend bool operator==(const Report&, const Report&) = default;
};

// Same numbers as det.api.v1.LogLevel.
enum class LogLevel { kUnknown, kTrace, kDebug, kInfo, kWarning, kError, kCritical };

// One line that a task wrote, or that the agent wrote about it.
struct OutputLine {
  absl::Time time;
  std::optional<int> rank;
  LogLevel level = LogLevel::kInfo;
  std::string stdtype;          // "stdout" or "stderr"
  std::string source = "task";  // or "agent"
  std::string text;             // valid UTF-8 without NUL
  int64_t sequence = 0;         // per task, from 1; identifies repeated lines
  friend bool operator==(const OutputLine&, const OutputLine&) = default;
};

}  // namespace det::agent

#endif  // AGENT_CORE_TASK_H_
