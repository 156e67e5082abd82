// The format of a task's line on disk: a header with a checksum, followed by the text. A reader can
// distinguish a complete frame from an incomplete one while another process writes, or after a
// crash. Used by SpoolWriter and SpoolReader on one machine, so in its byte order. Does no I/O.
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
  int64_t sequence = 0;  // per task, from 1
  absl::Time time;       // when the line was read; nanosecond resolution
  OutputStream stream = OutputStream::kStdout;
  std::string text;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// The maximum length of a text. LineSplitter produces shorter lines.
inline constexpr size_t kMaxFrameText = 1 << 20;

void AppendFrame(const Frame& frame, std::string* bytes);

enum class FrameState {
  kWhole,
  kPartial,  // incomplete; more bytes may follow or not
  kDamaged,  // the rest of the file cannot be read
};

// Parses the frame at the beginning of `bytes` and removes it if it is complete.
FrameState ParseFrame(absl::string_view* bytes, Frame* frame);

}  // namespace det::agent

#endif  // AGENT_KEEPER_FRAME_H_
