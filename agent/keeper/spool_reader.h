// Follows a task's lines on disk while its keeper writes them, or after.
// Owned by a task's thread of ProcessDriver. Never waits: no lines means none are there yet.
#ifndef AGENT_KEEPER_SPOOL_READER_H_
#define AGENT_KEEPER_SPOOL_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/keeper/folder.h"
#include "agent/keeper/frame.h"
#include "base/fd.h"

namespace det::agent {

struct SpooledLine {
  Frame frame;
  int64_t missing = 0;  // how many lines before it are gone
};

class SpoolReader {
 public:
  // From line `next` on.
  SpoolReader(KeepFolder folder, int64_t next) : folder_(std::move(folder)), next_(next) {}

  // The next lines, of `bytes` or a little more.
  std::vector<SpooledLine> Read(size_t bytes);

  // The number of the line that Read gives next, if it was not lost.
  int64_t next() const { return next_; }

 private:
  bool OpenNext();
  bool NewerExists() const;
  // Decodes what was read; false if the rest of the segment is damaged.
  bool Decode(size_t bytes, size_t* taken, std::vector<SpooledLine>* lines);
  ssize_t Fill();

  KeepFolder folder_;
  int64_t next_;
  int64_t segment_ = 0;  // the number in its name; 0: none yet
  base::Fd file_;
  bool complete_ = false;  // a newer one was there before the last look at its end
  bool damaged_ = false;
  std::string buffer_;  // read and not decoded
};

}  // namespace det::agent

#endif  // AGENT_KEEPER_SPOOL_READER_H_
