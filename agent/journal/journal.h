// Remembers on disk which tasks run, so that an agent that died finds what it left behind; and
// keeps a second agent out of the same folder. Owned by Agent, called on its loop; each change
// waits for the disk. Never starts or kills anything.
#ifndef AGENT_JOURNAL_JOURNAL_H_
#define AGENT_JOURNAL_JOURNAL_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/core/task.h"
#include "base/fd.h"

namespace det::agent {

class Journal {
 public:
  struct Entry {
    int pid = 0;
    uint64_t start_time = 0;  // in clock ticks since boot: with the pid, one process for ever
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // Takes the folder for this process, until it ends. FAILED_PRECONDITION if another agent has it.
  // A journal that cannot be read counts as empty: the mark in their environment still tells the
  // tasks.
  static absl::StatusOr<Journal> Open(const std::string& work_dir);

  const std::map<AllocationId, Entry>& entries() const { return entries_; }
  absl::Status Add(const AllocationId& allocation, const Entry& entry);
  absl::Status Remove(const AllocationId& allocation);
  absl::Status Clear();

 private:
  Journal(std::string path, base::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  absl::Status Write() const;

  std::string path_;
  base::Fd lock_;
  std::map<AllocationId, Entry> entries_;
};

}  // namespace det::agent

#endif  // AGENT_JOURNAL_JOURNAL_H_
