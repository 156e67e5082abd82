#include "agent/keeper/spool_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace det::agent {

std::vector<SpooledLine> SpoolReader::Read(size_t bytes) {
  std::vector<SpooledLine> lines;
  size_t taken = 0;
  while (taken < bytes) {
    if (!file_.valid() && !OpenNext()) break;
    if (!damaged_ && !Decode(bytes, &taken, &lines)) damaged_ = true;
    if (taken >= bytes) break;
    if (!damaged_ && Fill() > 0) continue;
    // The end of the segment is reached. Lines that were written before a newer segment was started
    // must be read first.
    if (complete_ || damaged_) {
      if (!NewerExists()) break;
      file_.Close();
    } else if (NewerExists()) {
      complete_ = true;
    } else {
      break;
    }
  }
  return lines;
}

bool SpoolReader::Decode(size_t bytes, size_t* taken, std::vector<SpooledLine>* lines) {
  absl::string_view rest = buffer_;
  FrameState state = FrameState::kWhole;
  while (*taken < bytes) {
    SpooledLine line;
    state = ParseFrame(&rest, &line.frame);
    if (state != FrameState::kWhole) break;
    if (line.frame.sequence < next_) continue;
    line.missing = line.frame.sequence - next_;
    next_ = line.frame.sequence + 1;
    *taken += sizeof(line) + line.frame.text.size();
    lines->push_back(std::move(line));
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return state != FrameState::kDamaged;
}

ssize_t SpoolReader::Fill() {
  std::array<char, 64 * 1024> chunk;
  ssize_t got = -1;
  do {
    got = ::read(file_.get(), chunk.data(), chunk.size());
  } while (got < 0 && errno == EINTR);
  if (got > 0) buffer_.append(chunk.data(), static_cast<size_t>(got));
  return got;
}

bool SpoolReader::NewerExists() const {
  const std::vector<Segment> segments = folder_.ListSegments();
  return !segments.empty() && segments.back().first > segment_;
}

// Opens the segment with the next line; if it is gone, the first segment after it.
bool SpoolReader::OpenNext() {
  while (true) {
    int64_t found = 0;
    for (const Segment& segment : folder_.ListSegments()) {
      if (segment.first <= segment_) continue;
      if (found == 0 || segment.first <= next_) found = segment.first;
    }
    if (found == 0) return false;
    segment_ = found;
    complete_ = damaged_ = false;
    buffer_.clear();
    file_ = base::Fd(::open(folder_.File(SegmentName(found)).c_str(), O_RDONLY | O_CLOEXEC));
    // The segment was removed meanwhile to enforce the limit; then there are newer ones.
    if (file_.valid() || errno != ENOENT) return file_.valid();
  }
}

}  // namespace det::agent
