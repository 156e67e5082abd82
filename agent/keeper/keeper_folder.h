// The directory <task>/keep, through which an agent and a task's keeper communicate (besides
// signals). Its files remain after both have ended.
//
//   launch      written by the agent: what to run. The keeper renames it to `launched` when it
//               starts; the next agent removes it: whichever is first decides if it runs
//   launched    the same file after the keeper has taken over
//   keeper      locked by the keeper while it runs; contains the task's first process
//   output.N    written by the keeper: the task's lines (frame.h); N is the number of the first
//   nudge       the wake-up FIFO (kWakeupFifo), to which the keeper writes when it has output
//   delivered   written by the agent: the number up to which the master has stored all lines
//   exit        written last by the keeper: how the task ended
//
// Used by keeper and driver, on any thread.
#ifndef AGENT_KEEPER_KEEPER_FOLDER_H_
#define AGENT_KEEPER_KEEPER_FOLDER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/keeper/segments.h"
#include "base/fd.h"
#include "base/subprocess.h"

namespace det::agent {

// The name "nudge" must not change: keepers of older versions use it.
inline constexpr char kWakeupFifo[] = "nudge";

struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"
  std::string work_dir;
  std::string marker;  // TaskProcesses::marker
  std::vector<int> slots;
  double fraction = 1;              // of each slot
  int64_t spool_limit = 0;          // bytes of output kept
  std::string group;                // control group (control_group.h); empty: none
  std::vector<base::Mount> mounts;  // private mounts of the task
  int64_t memory = 0;               // memory limit of the group in bytes; 0: no limit
  std::string boot;                 // GetBootId() when it was launched
  friend bool operator==(const Launch&, const Launch&) = default;
};

// The task's first process.
struct FirstProcess {
  pid_t pid = 0;
  uint64_t start_time = 0;  // result of StartTime(); 0: unknown
  friend bool operator==(const FirstProcess&, const FirstProcess&) = default;
};

struct RecordedExit {
  int code = 0;    // exit status, if no signal ended the process
  int signal = 0;  // signal that ended the first process, or 0
  bool start_failed = false;
  int64_t last_line = 0;  // number of the last line, including lost lines
  std::string message;
  friend bool operator==(const RecordedExit&, const RecordedExit&) = default;
};

std::string Encode(const Launch& launch);
absl::StatusOr<Launch> DecodeLaunch(absl::string_view text);
std::string Encode(const RecordedExit& exit);
absl::StatusOr<RecordedExit> DecodeExit(absl::string_view text);

class KeeperFolder {
 public:
  explicit KeeperFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;

  // Called first, by the agent. Writes `launch` last, so that a keeper finds either all files or no
  // launch.
  absl::Status Prepare(const Launch& launch) const;

  // Locks the directory for the calling process until it ends. Returns ALREADY_EXISTS if another
  // keeper has it, CANCELLED if the launch was cancelled, NOT_FOUND if the directory does not
  // exist.
  struct Claim {
    base::Fd lock;  // must be kept open
    Launch launch;
  };
  absl::StatusOr<Claim> TakeOver() const;

  // Cancels the launch. Returns false if a keeper has taken over at any time.
  bool CancelLaunch() const;

  // Returns the pid of the running keeper, as known to the kernel; 0 if there is none.
  pid_t GetKeeperPid() const;

  absl::StatusOr<Launch> ReadLaunch() const;  // NOT_FOUND unless a keeper has taken over
  absl::StatusOr<FirstProcess> ReadFirstProcess() const;  // NOT_FOUND unless it was started
  absl::StatusOr<RecordedExit> ReadExit() const;

  std::vector<Segment> ListSegments() const;  // in ascending order
  // Removes the first `count` of `segments`; returns true if all are gone.
  bool RemoveSegments(const std::vector<Segment>& segments, size_t count) const;

  int64_t ReadDelivered() const;
  absl::Status WriteDelivered(int64_t sequence) const;

 private:
  std::string path_;
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_KEEPER_FOLDER_H_
