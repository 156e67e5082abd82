// Writes a task's numbered lines to disk and enforces a limit by removing the oldest. Owned by
// Keeper, on its only thread. Never waits for a reader or for a sync of the disk: lines survive the
// processes, but not a crash of the machine.
#ifndef AGENT_KEEPER_SPOOL_WRITER_H_
#define AGENT_KEEPER_SPOOL_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/keeper/frame.h"
#include "agent/keeper/keeper_folder.h"
#include "base/fd.h"

namespace det::agent {

class SpoolWriter {
 public:
  SpoolWriter(KeeperFolder folder, int64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  // Lines that cannot be written, for example on a full disk, keep their numbers and count as lost.
  void Append(OutputStream stream, absl::Time time, const std::vector<std::string>& lines);

  int64_t last_line() const { return last_line_; }

 private:
  // Writes complete frames, beginning with line `first`.
  void Write(int64_t first, const std::string& bytes);
  bool WriteAll(const std::string& bytes);
  bool Open(int64_t first);

  KeeperFolder folder_;
  int64_t limit_;
  int64_t last_line_ = 0;
  base::Fd file_;
  int64_t bytes_ = 0;  // size of the file
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_SPOOL_WRITER_H_
