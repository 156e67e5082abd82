// A task's line as it lies on disk: a header with a checksum, then the bytes. Whoever reads while
// another writes, or after a crash, can tell a whole frame from the beginning of one.
// Called by SpoolWriter and SpoolReader; on one machine only, so in its byte order. Does no I/O.
#ifndef AGENT_KEEPER_FRAME_H_
#define AGENT_KEEPER_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace det::agent {

enum class OutputStream : uint8_t { kStdout, kStderr };

struct Frame {
  int64_t sequence = 0;  // from 1, by task
  absl::Time time;       // when the line was read, in nanoseconds
  OutputStream stream = OutputStream::kStdout;
  std::string text;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// A longer line is no frame; LineSplitter makes none.
inline constexpr size_t kMaxFrameText = 1 << 20;

void AppendFrame(const Frame& frame, std::string* bytes);

enum class FrameState {
  kWhole,
  kPartial,  // more bytes may follow, or never will
  kDamaged,  // nothing that follows can be read
};

// Reads the frame that `bytes` begins with, and takes it off their front if it is whole.
FrameState TakeFrame(absl::string_view* bytes, Frame* frame);

}  // namespace det::agent

#endif  // AGENT_KEEPER_FRAME_H_
