// One task of ProcessDriver. Prepares its directories, starts its keeper and follows the files that
// the keeper writes, or reattaches to a keeper that is running already. Created and destroyed by
// ProcessDriver on the agent's loop. Has a thread that sleeps until the keeper has news, a signal
// is to be sent, or more lines may be delivered.
#ifndef AGENT_DRIVER_PROCESS_TASK_H_
#define AGENT_DRIVER_PROCESS_TASK_H_

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
#include "absl/status/statusor.h"
#include "agent/driver/output_reader.h"
#include "agent/driver/process_driver.h"
#include "agent/keeper/keeper_folder.h"
#include "agent/keeper/spool_reader.h"
#include "base/fd.h"

namespace det::agent {

class ProcessTask {
 public:
  // The maximum size in memory of lines that were passed to the listener and are not delivered yet.
  static constexpr size_t kMaxUndelivered = 4 << 20;

  // A task to start.
  ProcessTask(TaskSpec spec, Host host, const ProcessDriverOptions& options);
  // A task that a previous agent started and that may have ended.
  ProcessTask(AllocationId allocation, const ProcessDriverOptions& options);
  // The task continues.
  ~ProcessTask();

  // Called on the loop. A later terminate does not revoke a kill.
  void Signal(StopSignal signal);
  void Delivered(int64_t sequence);
  // Whether all events were passed to the listener.
  bool done() const { return done_; }

 private:
  enum StopRequest { kNone, kTerminate, kKill };

  // The functions below run on the task's thread.
  void Run();
  absl::Status Prepare();
  absl::Status UnpackContext();
  absl::Status StartKeeper();
  std::vector<std::string> MakeArgv() const;
  absl::StatusOr<Launch> MakeLaunch() const;
  TaskExit MakeStartFailure(const absl::Status& why) const;
  void FollowKeeper();
  void FindKeeper();
  void NotifyStarted();
  // Delivers available lines; returns false if there may be more, but the limit is reached.
  bool DeliverLines();
  void DeliverLossNotice(int64_t count, int64_t sequence);
  void Deliver(std::vector<OutputLine> lines);
  void NotifyExited();
  TaskExit ReadExit();
  TaskExit HandleLostKeeper();
  void Wait();
  void SendSignal();
  void StoreDelivered();

  const AllocationId allocation_;
  const std::optional<TaskSpec> spec_;  // not set: reattached
  const Host host_;
  const ProcessDriverOptions options_;
  const TaskFolders folders_;
  const KeeperFolder keep_;
  // Whether the keeper was alive while this agent was: a task that kills its keeper fails, but if
  // agent and keeper ended together, the machine or an administrator ended them.
  bool watched_ = false;
  std::optional<SpoolReader> reader_;
  OutputReader output_;
  base::Fd keeper_;  // pidfd of the keeper; closed once it has ended
  pid_t keeper_pid_ = 0;
  base::Fd wakeup_;
  bool started_ = false;
  bool exited_ = false;
  int64_t last_line_ = 0;  // known once the task has exited
  int sent_signal_ = kNone;
  int64_t stored_delivered_ = 0;
  std::deque<std::pair<int64_t, size_t>> undelivered_;  // last line number and size of each batch
  size_t undelivered_bytes_ = 0;

  std::stop_source prepare_stop_;
  std::atomic<bool> detaching_ = false;
  std::atomic<int> requested_ = kNone;
  std::atomic<int64_t> delivered_ = 0;
  std::atomic<bool> done_ = false;
  const base::Fd wake_;
  std::thread thread_;  // Must be last, because it uses all other members.
};

}  // namespace det::agent

#endif  // AGENT_DRIVER_PROCESS_TASK_H_
