#include "agent/journal/journal.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::agent {

// One line per task: "<allocation> <pid> <start time>".
absl::StatusOr<Journal> Journal::Open(const std::string& work_dir) {
  const std::string lock_path = absl::StrCat(work_dir, "/agent.lock");
  base::Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", lock_path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another agent uses ", work_dir, "; stop it or choose another folder with --work-dir"));
  }
  Journal journal(absl::StrCat(work_dir, "/journal"), std::move(lock));
  const absl::StatusOr<std::string> text = base::ReadFile(journal.path_);
  if (!text.ok()) return journal;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    Entry entry;
    if (words.size() == 3 && absl::SimpleAtoi(words[1], &entry.pid) && entry.pid > 1 &&
        absl::SimpleAtoi(words[2], &entry.start_time)) {
      journal.entries_.emplace(std::string(words[0]), entry);
    }
  }
  return journal;
}

absl::Status Journal::Add(const AllocationId& allocation, const Entry& entry) {
  entries_[allocation] = entry;
  return Write();
}

absl::Status Journal::Remove(const AllocationId& allocation) {
  if (entries_.erase(allocation) == 0) return absl::OkStatus();
  return Write();
}

absl::Status Journal::Clear() {
  entries_.clear();
  return Write();
}

absl::Status Journal::Write() const {
  std::string text;
  for (const auto& [allocation, entry] : entries_) {
    absl::StrAppend(&text, allocation.value(), " ", entry.pid, " ", entry.start_time, "\n");
  }
  return base::WriteFileAtomically(path_, text, 0600);
}

}  // namespace det::agent
