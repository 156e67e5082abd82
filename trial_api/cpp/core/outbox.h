// A queue of records on disk, which are kept until the master has received them.
//
// The directory contains append-only segments, `segment.N`; a record in them is a frame of length,
// CRC-32 and data. `acknowledged` contains the position up to which records were removed; earlier
// segments are deleted, and with the last record the directory. `lock` is held while a process has
// the outbox open. Records are written but not synced: they survive a crash of the process and of
// the master, but not a power failure of the node. An incomplete frame at the end of a segment is
// ignored.
//
// Owned by ReportQueue, under its lock; not thread-safe. A write costs as much as the page cache.
#ifndef TRIAL_API_CPP_CORE_OUTBOX_H_
#define TRIAL_API_CPP_CORE_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace det::core {

class Outbox {
 public:
  struct Options {
    std::string dir;                     // created with its parents if missing
    int64_t limit = int64_t{64} << 20;   // maximum bytes on disk
    int64_t segment = int64_t{1} << 20;  // approximate bytes of one segment
    size_t memory = 1'000;  // maximum number of records in memory while the disk is full
  };

  // Opens an outbox with the records in its directory; returns null if another process has it open.
  static std::unique_ptr<Outbox> Open(const Options& options);
  // Keeps the directory unless it is empty.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Appends a record. Returns false if the limit is reached, or if the disk rejects writes (logged
  // once on stderr) and the memory is full: the record was not added, retry later.
  bool Add(std::string_view record);

  // Returns the first records in order: at least one if there is any, at most `count`, and as many
  // as fit into `bytes`.
  std::vector<std::string> Front(size_t count, size_t bytes) const;
  // Removes the first `count` records. REQUIRES that there are as many.
  void RemoveFront(size_t count);
  // Removes all records.
  void Clear();

  bool empty() const { return size_ == 0; }
  int64_t size() const { return size_; }    // records
  int64_t bytes() const { return bytes_; }  // on disk

 private:
  struct Segment {
    int64_t number = 0;
    base::Fd fd;
    int64_t end = 0;  // offset after the last complete frame
  };
  enum class Written { kYes, kLimit, kDiskFull };

  Outbox(const Options& options, base::Fd lock);
  void Load();
  void LoadSegment(int64_t number, int64_t from);
  Written Write(std::string_view record);
  bool StartSegment();
  void Warn(const std::string& what);
  void RemoveDoneSegments();
  void StoreAcknowledged();
  std::string Path(const std::string& name) const { return options_.dir + "/" + name; }
  std::string SegmentPath(int64_t number) const;

  const Options options_;
  base::Fd lock_;
  base::Fd acknowledged_;
  std::deque<Segment> segments_;
  int64_t head_ = 0;  // offset of the first record, in the first segment
  int64_t bytes_ = 0;
  int64_t size_ = 0;
  int64_t last_segment_ = 0;
  std::deque<std::string> memory_;  // records that follow those on disk
  bool warned_ = false;
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_OUTBOX_H_
