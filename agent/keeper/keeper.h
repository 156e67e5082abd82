// Runs one task: starts it, records its output, kills its orphaned processes, and records how it
// ended. It is a separate program (main.cc), so that a task outlives the agent that ordered it, and
// an agent of another version can reattach to it.
//
// The process has one thread, which sleeps until the task writes or ends or a signal arrives:
//   SIGTERM   is forwarded to the task's process group
//   SIGUSR1   kills every process of the task
// It is the subreaper of the task's processes. If the keeper is killed, the kernel kills the task's
// first process.
#ifndef AGENT_KEEPER_KEEPER_H_
#define AGENT_KEEPER_KEEPER_H_

#include <array>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/keeper/keeper_folder.h"
#include "agent/keeper/line_splitter.h"
#include "agent/keeper/process_table.h"
#include "agent/keeper/spool_writer.h"
#include "base/fd.h"
#include "base/subprocess.h"

namespace det::agent {

class Keeper {
 public:
  // Takes over the launch in a directory. Changes the signal mask of the process and makes it the
  // subreaper of its descendants. REQUIRES a process with one thread.
  static absl::StatusOr<Keeper> TakeOver(const std::string& folder);

  // Runs the task until it ends. Calls `started` once the task is running, or once it is known why
  // it does not start.
  void Run(absl::AnyInvocable<void()> started);

 private:
  struct Stream {
    base::Fd fd;
    OutputStream kind;
    LineSplitter splitter;
    absl::Time read_at = absl::InfinitePast();  // when it was last read
  };

  Keeper(KeeperFolder folder, KeeperFolder::Claim claim, base::Fd signals);

  absl::Status Launch();
  absl::StatusOr<base::ChildProcess> Spawn() const;
  // Runs until the first process has ended.
  void Watch();
  // Handles pending signals; returns true once the first process has ended.
  bool HandleSignals();
  bool ReapUntilFirst() const;
  RecordedExit EndTask();
  void LeaveGroup(RecordedExit& exit) const;

  bool ReadOnce(Stream& stream);
  // Spools the lines that end in \r of streams that are idle. Returns the milliseconds after which
  // it must be called again; -1 if no line waits.
  int SpoolPendingReturns();
  void Finish(Stream& stream);
  void Spool(const Stream& stream, const std::vector<std::string>& lines);
  void WriteExit(const RecordedExit& exit);
  void SendWakeup() const;

  KeeperFolder folder_;
  KeeperFolder::Claim claim_;
  base::Fd signals_;
  base::Fd wakeup_;
  TaskProcesses processes_;
  std::array<Stream, 2> streams_;
  SpoolWriter spool_;
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_KEEPER_H_
