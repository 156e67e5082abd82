#include "agent/keeper/spool_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace det::agent {

void SpoolWriter::Append(OutputStream stream, absl::Time time,
                         const std::vector<std::string>& lines) {
  std::string bytes;
  int64_t first = last_line_ + 1;
  for (const std::string& line : lines) {
    AppendFrame({++last_line_, time, stream, line}, &bytes);
    const int64_t size = (file_.valid() ? bytes_ : 0) + static_cast<int64_t>(bytes.size());
    if (size < GetSegmentSize(limit_)) continue;
    Write(first, std::exchange(bytes, {}));
    file_.Close();
    first = last_line_ + 1;
  }
  if (!bytes.empty()) Write(first, bytes);
}

bool SpoolWriter::Open(int64_t first) {
  const std::string path = folder_.File(SegmentName(first));
  file_ = base::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  bytes_ = 0;
  const std::vector<Segment> segments = folder_.ListSegments();
  (void)folder_.RemoveSegments(segments, CountOverLimit(segments, limit_ - GetSegmentSize(limit_)));
  return file_.valid();
}

void SpoolWriter::Write(int64_t first, const std::string& bytes) {
  if (!file_.valid() && !Open(first)) return;
  if (WriteAll(bytes)) return;
  // The next lines start a new segment, because an incomplete frame would hide them.
  if (bytes_ == 0) (void)::unlink(folder_.File(SegmentName(first)).c_str());
  file_.Close();
}

bool SpoolWriter::WriteAll(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<size_t>(wrote);
  }
  bytes_ += static_cast<int64_t>(bytes.size());
  return true;
}

}  // namespace det::agent
