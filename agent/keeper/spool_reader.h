// Reads a task's lines from disk while its keeper writes them, or afterwards. Owned by the thread
// of a task in ProcessDriver. Never blocks: an empty result means that no lines are available yet.
#ifndef AGENT_KEEPER_SPOOL_READER_H_
#define AGENT_KEEPER_SPOOL_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/keeper/frame.h"
#include "agent/keeper/keeper_folder.h"
#include "base/fd.h"

namespace det::agent {

struct SpooledLine {
  Frame frame;
  int64_t missing = 0;  // number of lost lines before this one
};

class SpoolReader {
 public:
  // Starts at line `next`.
  SpoolReader(KeeperFolder folder, int64_t next) : folder_(std::move(folder)), next_(next) {}

  // Returns the next lines, of about `bytes` bytes in total.
  std::vector<SpooledLine> Read(size_t bytes);

  // The number of the line that Read returns next, unless it is lost.
  int64_t next() const { return next_; }

 private:
  bool OpenNext();
  bool NewerExists() const;
  // Decodes the buffer; returns false if the rest of the segment is damaged.
  bool Decode(size_t bytes, size_t* taken, std::vector<SpooledLine>* lines);
  ssize_t Fill();

  KeeperFolder folder_;
  int64_t next_;
  int64_t segment_ = 0;  // number in the name of the segment; 0: none yet
  base::Fd file_;
  bool complete_ = false;  // a newer segment existed before the end was read
  bool damaged_ = false;
  std::string buffer_;  // bytes that are not decoded yet
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_SPOOL_READER_H_
