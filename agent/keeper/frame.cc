#include "agent/keeper/frame.h"

#include <zlib.h>

#include <cstring>
#include <type_traits>

namespace det::agent {
namespace {

struct Header {
  uint32_t check = 0;  // CRC-32 of the rest of the header and the text
  uint32_t size = 0;   // of the text
  int64_t sequence = 0;
  int64_t nanos = 0;
  uint64_t stream = 0;
};
static_assert(sizeof(Header) == 32 && std::is_trivially_copyable_v<Header>);

uint32_t ComputeCrc(const Header& header, absl::string_view text) {
  constexpr size_t kSkip = sizeof(header.check);
  const auto* bytes = reinterpret_cast<const Bytef*>(&header);
  uLong check = ::crc32(0, bytes + kSkip, sizeof(Header) - kSkip);
  check =
      ::crc32(check, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  return static_cast<uint32_t>(check);
}

}  // namespace

void AppendFrame(const Frame& frame, std::string* bytes) {
  Header header;
  header.size = static_cast<uint32_t>(frame.text.size());
  header.sequence = frame.sequence;
  header.nanos = absl::ToUnixNanos(frame.time);
  header.stream = static_cast<uint64_t>(frame.stream);
  header.check = ComputeCrc(header, frame.text);
  bytes->append(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes->append(frame.text);
}

FrameState ParseFrame(absl::string_view* bytes, Frame* frame) {
  Header header;
  if (bytes->size() < sizeof(header)) return FrameState::kPartial;
  std::memcpy(&header, bytes->data(), sizeof(header));
  if (header.size > kMaxFrameText || header.sequence <= 0 || header.stream > 1) {
    return FrameState::kDamaged;
  }
  if (bytes->size() < sizeof(header) + header.size) return FrameState::kPartial;
  const absl::string_view text = bytes->substr(sizeof(header), header.size);
  if (ComputeCrc(header, text) != header.check) return FrameState::kDamaged;
  frame->sequence = header.sequence;
  frame->time = absl::FromUnixNanos(header.nanos);
  frame->stream = static_cast<OutputStream>(header.stream);
  frame->text.assign(text.data(), text.size());
  bytes->remove_prefix(sizeof(header) + header.size);
  return FrameState::kWhole;
}

}  // namespace det::agent
