// The folder that an agent and a task's keeper share, <task>/keep: all that they ever say to each
// other, besides signals. What is in it stays after both are gone.
//
//   launch      by the agent: what to run. The keeper renames it to `launched` when it takes over,
//               the next agent removes it: whoever is first decides whether the task ever starts
//   launched    the same, from then on
//   keeper      locked by the keeper as long as it lives; then holds the task's first process
//   output.N    by the keeper: the task's lines (frame.h); N: number of the first
//   nudge       a FIFO into which the keeper writes when there is news
//   delivered   by the agent: up to which line the master has stored all
//   exit        by the keeper, last: how the task ended
//
// Used by keeper and driver, on any thread.
#ifndef AGENT_KEEPER_FOLDER_H_
#define AGENT_KEEPER_FOLDER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/keeper/segments.h"
#include "base/fd.h"
#include "base/subprocess.h"

namespace det::agent {

struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"
  std::string work_dir;
  std::string mark;  // TaskProcesses::mark
  std::vector<int> slots;
  double fraction = 1;              // of each slot
  int64_t spool_limit = 0;          // bytes of output kept
  std::string group;                // its control group (control_group.h); empty: none
  std::vector<base::Mount> mounts;  // what it sees elsewhere than others do
  int64_t memory = 0;               // to which the group bounds it, in bytes; 0: no limit
  friend bool operator==(const Launch&, const Launch&) = default;
};

// The task's first process.
struct FirstProcess {
  pid_t pid = 0;
  uint64_t start_time = 0;  // as StartTime() tells it; 0: unknown
  friend bool operator==(const FirstProcess&, const FirstProcess&) = default;
};

struct KeptExit {
  int code = 0;    // as given to exit(), if no signal
  int signal = 0;  // that ended the first process, or 0
  bool start_failed = false;
  int64_t last_line = 0;  // number of the last line, written or lost
  std::string message;
  friend bool operator==(const KeptExit&, const KeptExit&) = default;
};

std::string Encode(const Launch& launch);
absl::StatusOr<Launch> DecodeLaunch(absl::string_view text);
std::string Encode(const KeptExit& exit);
absl::StatusOr<KeptExit> DecodeExit(absl::string_view text);

class KeepFolder {
 public:
  explicit KeepFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;

  // The agent's first step; `launch` comes last, so that a keeper finds all or nothing.
  absl::Status Prepare(const Launch& launch) const;

  // Takes the folder for the calling process, until it ends. ALREADY_EXISTS if a keeper has it,
  // CANCELLED if the launch was taken back, NOT_FOUND if the folder is gone.
  struct Claim {
    base::Fd lock;  // to be kept open
    Launch launch;
  };
  absl::StatusOr<Claim> TakeOver() const;

  // Takes the launch back; false if a keeper has taken over, now or ever.
  bool TakeBack() const;

  // The keeper that has taken over and lives, as the kernel knows it; 0: none.
  pid_t Keeper() const;

  absl::StatusOr<Launch> Launched() const;    // NOT_FOUND unless a keeper has taken over
  absl::StatusOr<FirstProcess> Task() const;  // NOT_FOUND unless it was started
  absl::StatusOr<KeptExit> Exit() const;

  std::vector<Segment> Segments() const;  // in order
  // The first `count` of them; true if all are gone.
  bool RemoveSegments(const std::vector<Segment>& segments, size_t count) const;

  int64_t Delivered() const;
  absl::Status SetDelivered(int64_t sequence) const;

 private:
  std::string path_;
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_FOLDER_H_
