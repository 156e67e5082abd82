// Writes a task's lines to disk, numbered, and keeps them within a limit: past it the oldest go.
// Owned by Keeper, on its only thread. Never waits for anybody who reads, and never for the disk's
// own cache: lines outlive the processes, not the machine.
#ifndef AGENT_KEEPER_SPOOL_WRITER_H_
#define AGENT_KEEPER_SPOOL_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/keeper/folder.h"
#include "agent/keeper/frame.h"
#include "base/fd.h"

namespace det::agent {

class SpoolWriter {
 public:
  SpoolWriter(KeepFolder folder, int64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  // Lines that cannot be written, as on a full disk, keep their numbers, and so are missed.
  void Append(OutputStream stream, absl::Time time, const std::vector<std::string>& lines);

  int64_t last_line() const { return last_line_; }

 private:
  // Whole frames, the first of which is line `first`.
  void Write(int64_t first, const std::string& bytes);
  bool WriteAll(const std::string& bytes);
  bool Open(int64_t first);

  KeepFolder folder_;
  int64_t limit_;
  int64_t last_line_ = 0;
  base::Fd file_;
  int64_t bytes_ = 0;  // in it
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_SPOOL_WRITER_H_
