#include "trial_api/cpp/core/outbox.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace det::core {
namespace {

namespace fs = std::filesystem;

constexpr char kLock[] = "lock";
constexpr char kAcknowledged[] = "acknowledged";
constexpr char kSegmentPrefix[] = "segment.";
// Larger lengths indicate damage.
constexpr uint32_t kMaxRecordSize = uint32_t{1} << 30;

struct Header {
  uint32_t size = 0;
  uint32_t crc = 0;
};

uint32_t Crc(std::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

bool ReadAt(int fd, int64_t offset, void* to, size_t size) {
  char* out = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = ::pread(fd, out, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out += n;
    offset += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool WriteAt(int fd, int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    offset += n;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Reads the record at `offset`; returns false if there is no complete one before `end`.
bool ReadFrame(int fd, int64_t offset, int64_t end, std::string* record) {
  Header header;
  const int64_t begin = offset + static_cast<int64_t>(sizeof header);
  if (begin > end || !ReadAt(fd, offset, &header, sizeof header)) return false;
  if (header.size > kMaxRecordSize || begin + header.size > end) return false;
  record->resize(header.size);
  return ReadAt(fd, begin, record->data(), header.size) && Crc(*record) == header.crc;
}

int64_t FrameSize(std::string_view record) {
  return static_cast<int64_t>(sizeof(Header) + record.size());
}

}  // namespace

std::unique_ptr<Outbox> Outbox::Open(const Options& options) {
  std::error_code ignored;  // Add() reports a missing directory.
  fs::create_directories(options.dir, ignored);
  base::Fd lock(::open((options.dir + "/" + kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return nullptr;
  return std::unique_ptr<Outbox>(new Outbox(options, std::move(lock)));
}

Outbox::Outbox(const Options& options, base::Fd lock) : options_(options), lock_(std::move(lock)) {
  Load();
}

Outbox::~Outbox() {
  if (!empty()) return;
  Clear();
  ::unlink(Path(kAcknowledged).c_str());
  ::unlink(Path(kLock).c_str());
  ::rmdir(options_.dir.c_str());
}

std::string Outbox::SegmentPath(int64_t number) const {
  return Path(kSegmentPrefix + std::to_string(number));
}

void Outbox::Load() {
  std::array<char, 64> text = {};
  long long first = 0, head = 0;
  const base::Fd file(::open(Path(kAcknowledged).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.valid() && ::pread(file.get(), text.data(), text.size() - 1, 0) > 0 &&
      std::sscanf(text.data(), "%lld %lld", &first, &head) != 2) {
    first = head = 0;
  }
  last_segment_ = first;
  std::vector<int64_t> numbers;
  std::error_code ignored;
  for (fs::directory_iterator it(options_.dir, ignored), end; it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    int64_t number = 0;
    if (absl::StartsWith(name, kSegmentPrefix) &&
        absl::SimpleAtoi(name.substr(sizeof kSegmentPrefix - 1), &number)) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  for (const int64_t number : numbers) {
    last_segment_ = std::max(last_segment_, number);
    LoadSegment(number, number < first ? -1 : number == first ? head : 0);
  }
  RemoveDoneSegments();
}

// Counts the records of a segment from offset `from`; -1: none are left.
void Outbox::LoadSegment(int64_t number, int64_t from) {
  Segment segment{.number = number,
                  .fd = base::Fd(::open(SegmentPath(number).c_str(), O_RDWR | O_CLOEXEC)),
                  .end = std::max<int64_t>(from, 0)};
  struct stat info = {};
  if (!segment.fd.valid() || ::fstat(segment.fd.get(), &info) != 0) return;
  std::string record;
  int64_t records = 0;
  while (from >= 0 && ReadFrame(segment.fd.get(), segment.end, info.st_size, &record)) {
    segment.end += FrameSize(record);
    ++records;
  }
  if (records == 0) {
    ::unlink(SegmentPath(number).c_str());
    return;
  }
  if (segments_.empty()) head_ = from;
  size_ += records;
  bytes_ += segment.end;
  segments_.push_back(std::move(segment));
}

bool Outbox::Add(std::string_view record) {
  while (!memory_.empty() && Write(memory_.front()) == Written::kYes) memory_.pop_front();
  const Written written = memory_.empty() ? Write(record) : Written::kDiskFull;
  if (written == Written::kLimit) return false;
  if (written == Written::kDiskFull) {
    if (memory_.size() >= options_.memory) return false;
    memory_.emplace_back(record);
  }
  ++size_;
  return true;
}

Outbox::Written Outbox::Write(std::string_view record) {
  const int64_t size = FrameSize(record);
  const bool alone = size_ == static_cast<int64_t>(memory_.size());
  if (!alone && bytes_ + size > options_.limit) return Written::kLimit;
  if (segments_.empty() || segments_.back().end >= options_.segment) {
    if (!StartSegment()) return Written::kDiskFull;
  }
  Segment& segment = segments_.back();
  const Header header{.size = static_cast<uint32_t>(record.size()), .crc = Crc(record)};
  std::string frame(reinterpret_cast<const char*>(&header), sizeof header);
  frame += record;
  if (!WriteAt(segment.fd.get(), segment.end, frame)) {
    Warn("cannot write " + SegmentPath(segment.number) + ": " + std::strerror(errno));
    return Written::kDiskFull;
  }
  segment.end += size;
  bytes_ += size;
  return Written::kYes;
}

bool Outbox::StartSegment() {
  std::error_code ignored;
  fs::create_directories(options_.dir, ignored);
  Segment segment{.number = last_segment_ + 1};
  const std::string path = SegmentPath(segment.number);
  segment.fd = base::Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!segment.fd.valid()) {
    Warn("cannot create " + path + ": " + std::strerror(errno));
    return false;
  }
  ++last_segment_;
  if (segments_.empty()) head_ = 0;
  segments_.push_back(std::move(segment));
  return true;
}

void Outbox::Warn(const std::string& what) {
  if (std::exchange(warned_, true)) return;
  std::fprintf(stderr,
               "WARNING: %s; up to %zu reports are kept in memory, then training waits for the "
               "master\n",
               what.c_str(), options_.memory);
}

std::vector<std::string> Outbox::Front(size_t count, size_t bytes) const {
  std::vector<std::string> records;
  size_t sum = 0;
  // Returns whether there is space for more.
  const auto take = [&](std::string record) {
    sum += record.size();
    if (records.empty() || sum <= bytes) records.push_back(std::move(record));
    return records.size() < count && sum < bytes;
  };
  int64_t offset = head_;
  for (const Segment& segment : segments_) {
    std::string record;
    for (; ReadFrame(segment.fd.get(), offset, segment.end, &record); offset += FrameSize(record)) {
      if (!take(record)) return records;
    }
    offset = 0;
  }
  for (const std::string& record : memory_) {
    if (!take(record)) break;
  }
  return records;
}

void Outbox::RemoveFront(size_t count) {
  size_ -= static_cast<int64_t>(count);
  for (; count > 0; --count) {
    RemoveDoneSegments();
    if (segments_.empty() || head_ >= segments_.front().end) {
      memory_.pop_front();
      continue;
    }
    Header header;
    ReadAt(segments_.front().fd.get(), head_, &header, sizeof header);
    head_ += static_cast<int64_t>(sizeof header + header.size);
  }
  RemoveDoneSegments();
  StoreAcknowledged();
}

// The last segment is continued unless it is full.
void Outbox::RemoveDoneSegments() {
  while (!segments_.empty() && head_ >= segments_.front().end &&
         (segments_.size() > 1 || head_ >= options_.segment)) {
    ::unlink(SegmentPath(segments_.front().number).c_str());
    bytes_ -= segments_.front().end;
    segments_.pop_front();
    head_ = 0;
  }
}

void Outbox::StoreAcknowledged() {
  if (segments_.empty()) return;
  if (!acknowledged_.valid()) {
    acknowledged_ =
        base::Fd(::open(Path(kAcknowledged).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  }
  std::array<char, 64> text;
  const int length = std::snprintf(text.data(), text.size(), "%020lld %020lld\n",
                                   static_cast<long long>(segments_.front().number),
                                   static_cast<long long>(head_));
  // If this fails, some records are sent again, and the master drops them.
  if (acknowledged_.valid()) {
    (void)WriteAt(acknowledged_.get(), 0, {text.data(), static_cast<size_t>(length)});
  }
}

void Outbox::Clear() {
  for (const Segment& segment : segments_) ::unlink(SegmentPath(segment.number).c_str());
  segments_.clear();
  memory_.clear();
  head_ = bytes_ = size_ = 0;
}

}  // namespace det::core
