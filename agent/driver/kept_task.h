// One task of ProcessDriver, from its folders to its last line: prepares it, starts its keeper, and
// follows what the keeper writes down; or takes up a keeper that is there already.
// Made and destroyed by ProcessDriver on the agent's loop. Has a thread, which sleeps until the
// keeper has news, a signal is to be sent, or there is room for more lines.
#ifndef AGENT_DRIVER_KEPT_TASK_H_
#define AGENT_DRIVER_KEPT_TASK_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/driver/output.h"
#include "agent/driver/process_driver.h"
#include "agent/keeper/folder.h"
#include "agent/keeper/spool_reader.h"
#include "base/fd.h"

namespace det::agent {

class KeptTask {
 public:
  // How much is told ahead of what was delivered, in bytes of memory.
  static constexpr size_t kAhead = 4 << 20;

  // To be started.
  KeptTask(TaskSpec spec, Host host, const ProcessDriverOptions& options);
  // Started by an agent before this one, and perhaps ended.
  KeptTask(AllocationId allocation, const ProcessDriverOptions& options);
  // The task goes on.
  ~KeptTask();

  // On the loop. A kill is never taken back by a later terminate.
  void Signal(StopSignal signal);
  void Delivered(int64_t sequence);
  // All has been told.
  bool done() const { return done_; }

 private:
  enum Wanted { kNothing, kTerminate, kKill };

  // All below: on the task's thread.
  void Run();
  absl::Status Prepare();
  absl::Status UnpackContext();
  absl::Status StartKeeper();
  absl::StatusOr<Launch> MakeLaunch() const;
  TaskExit NeverRan(const absl::Status& why) const;
  void Follow();
  void FindKeeper();
  void TellStart();
  // Tells what there is; false if there may be more, but no room for it.
  bool TellLines();
  void TellLost(int64_t count, int64_t sequence);
  void Tell(std::vector<OutputLine> lines);
  void TellExit();
  TaskExit ReadExit();
  TaskExit KeeperLost();
  void Wait();
  void SendSignal();
  void TakeDelivered();

  const AllocationId allocation_;
  const std::optional<TaskSpec> spec_;  // absent: adopted
  const Host host_;
  const ProcessDriverOptions options_;
  const TaskFolders folders_;
  const KeepFolder keep_;
  std::optional<SpoolReader> reader_;
  OutputReader output_;
  base::Fd keeper_;  // its pidfd; closed once it has ended
  pid_t keeper_pid_ = 0;
  base::Fd nudge_;
  bool started_ = false;
  bool exited_ = false;
  int64_t last_line_ = 0;  // known once it has exited
  int sent_ = kNothing;
  int64_t stored_delivered_ = 0;
  std::deque<std::pair<int64_t, size_t>> ahead_;  // last number and bytes of what was told
  size_t ahead_bytes_ = 0;

  std::stop_source prepare_stop_;
  std::atomic<bool> leaving_ = false;
  std::atomic<int> wanted_ = kNothing;
  std::atomic<int64_t> delivered_ = 0;
  std::atomic<bool> done_ = false;
  const base::Fd wake_;
  std::thread thread_;  // Last: it uses all the others.
};

}  // namespace det::agent

#endif  // AGENT_DRIVER_KEPT_TASK_H_
