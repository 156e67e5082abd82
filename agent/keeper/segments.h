// The segment files of a spool, and which of them may be removed. Each name contains the number of
// the first line, so missing lines can be counted from the names. Used by SpoolWriter, SpoolReader
// and ProcessDriver.
//
// PURE.
#ifndef AGENT_KEEPER_SEGMENTS_H_
#define AGENT_KEEPER_SEGMENTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace det::agent {

struct Segment {
  int64_t first = 0;  // number of its first line
  int64_t bytes = 0;
  friend bool operator==(const Segment&, const Segment&) = default;
};

// The name of a segment is, for example, "output.17". ParseSegmentName returns nullopt for the
// names of other files.
std::string SegmentName(int64_t first);
std::optional<int64_t> ParseSegmentName(absl::string_view name);

// Returns the size at which a new segment is started: small enough that a limit can be enforced by
// removing whole segments, and at most 1 MiB.
int64_t GetSegmentSize(int64_t limit);

// The functions below take `segments` in ascending order and return how many of the first ones may
// be removed. Never includes the last one, which is being written.

// Counts the segments to remove so that the rest has at most `limit` bytes. Their lines are lost.
size_t CountOverLimit(const std::vector<Segment>& segments, int64_t limit);

// Counts the segments whose lines are all <= `sequence`.
size_t CountDelivered(const std::vector<Segment>& segments, int64_t sequence);

}  // namespace det::agent

#endif  // AGENT_KEEPER_SEGMENTS_H_
