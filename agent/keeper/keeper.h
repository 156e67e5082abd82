// Keeps one task: starts it, writes down what it says, ends what it leaves behind, and writes down
// how it ended. Its own program (main.cc), so that a task outlives the agent that ordered it and an
// agent of another version can follow it.
//
// One thread, which sleeps until the task writes or ends or a signal comes:
//   SIGTERM   goes to the task's process group
//   SIGUSR1   kills every process of the task
// It is the parent of whoever loses its parent among them. When it is killed itself, the kernel
// kills the task's first process with it.
#ifndef AGENT_KEEPER_KEEPER_H_
#define AGENT_KEEPER_KEEPER_H_

#include <array>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "agent/keeper/folder.h"
#include "agent/keeper/line_splitter.h"
#include "agent/keeper/process_table.h"
#include "agent/keeper/spool_writer.h"
#include "base/fd.h"
#include "base/subprocess.h"

namespace det::agent {

class Keeper {
 public:
  // The folder's launch, taken over by this process. Changes the process' signal mask and makes it
  // the reaper of its descendants. REQUIRES a process of one thread.
  static absl::StatusOr<Keeper> TakeOver(const std::string& folder);

  // Runs the task to its end. `started` once it runs, or once it is known why it does not.
  void Run(absl::AnyInvocable<void()> started);

 private:
  struct Stream {
    base::Fd fd;
    OutputStream kind;
    LineSplitter splitter;
  };

  Keeper(KeepFolder folder, KeepFolder::Claim claim, base::Fd signals);

  absl::Status Launch();
  absl::StatusOr<base::ChildProcess> Spawn() const;
  // Until the first process has ended.
  void Watch();
  // What has come in; true once the first process has ended.
  bool TakeSignals();
  bool ReapUntilFirst() const;
  KeptExit End();
  void LeaveGroup(KeptExit& exit) const;

  bool ReadOnce(Stream& stream);
  void Finish(Stream& stream);
  void Spool(const Stream& stream, const std::vector<std::string>& lines);
  void WriteExit(const KeptExit& exit);
  void Nudge() const;

  KeepFolder folder_;
  KeepFolder::Claim claim_;
  base::Fd signals_;
  base::Fd nudge_;
  TaskProcesses processes_;
  std::array<Stream, 2> streams_;
  SpoolWriter spool_;
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_KEEPER_H_
