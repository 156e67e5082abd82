// The files that a spool consists of, and which of them may go. Each is named by its first line's
// number, so what is missing can be counted from the names alone.
// Called by SpoolWriter, SpoolReader and ProcessDriver.
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

// "output.17"; nothing for the name of another file.
std::string SegmentName(int64_t first);
std::optional<int64_t> ParseSegmentName(absl::string_view name);

// How large a segment becomes before the next is begun: so that a limit can be kept by removing
// whole ones, and 1 MiB at most.
int64_t SegmentBytes(int64_t limit);

// Below: `segments` in order; the answer is how many of the first may be removed. Never the last,
// which is being written.

// Until the rest keeps within `limit` bytes. Their lines are lost.
size_t OverLimit(const std::vector<Segment>& segments, int64_t limit);

// Whose lines are all among those up to `sequence`.
size_t UpTo(const std::vector<Segment>& segments, int64_t sequence);

}  // namespace det::agent

#endif  // AGENT_KEEPER_SEGMENTS_H_
