// A queue of records on disk: what waits for a master that is away.
//
// A folder of segments, `segment.N`, that are only appended to; a record in them is a frame of
// length, CRC-32 and bytes. `acknowledged` says up to where records were taken out; a segment
// behind it is removed, and with the last record the folder. `lock` is held while somebody has it
// open. Records are written, not synced: they survive the death of the process and of the master,
// not a power cut of the node. A frame that a dying process left unfinished is not a record.
//
// Owned by ReportQueue, under its lock; not thread-safe. A write costs what the page cache costs.
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
    std::string dir;                     // with those above it, made when they are absent
    int64_t limit = int64_t{64} << 20;   // bytes on disk
    int64_t segment = int64_t{1} << 20;  // bytes of one segment, about
    size_t memory = 1'000;               // records that are held while the disk takes none
  };

  // Takes up what is in the folder; none when another process has it open.
  static std::unique_ptr<Outbox> Open(const Options& options);
  // The folder stays, unless it is empty.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // False when the limit is reached, or the disk takes nothing (said once on stderr) and the memory
  // is full: nothing was added, try again later.
  bool Add(std::string_view record);

  // The first records in order: at least one if there is any, at most `count` or as many as fit
  // into `bytes`.
  std::vector<std::string> Front(size_t count, size_t bytes) const;
  // REQUIRES that there are as many.
  void RemoveFront(size_t count);
  // Forgets all of them.
  void Clear();

  bool empty() const { return size_ == 0; }
  int64_t size() const { return size_; }    // records
  int64_t bytes() const { return bytes_; }  // on disk

 private:
  struct Segment {
    int64_t number = 0;
    base::Fd fd;
    int64_t end = 0;  // of the last whole frame
  };
  enum class Written { kYes, kLimit, kDiskRefuses };

  Outbox(const Options& options, base::Fd lock);
  void Load();
  void LoadSegment(int64_t number, int64_t from);
  Written Write(std::string_view record);
  bool StartSegment();
  void Complain(const std::string& what);
  void RemoveDoneSegments();
  void NoteAcknowledged();
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
  std::deque<std::string> memory_;  // behind all that is on disk
  bool complained_ = false;
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_OUTBOX_H_
