#include "base/uuid.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace det::base {

std::string NewUuid() {
  std::array<uint8_t, 16> bytes;
  // getrandom returns up to 256 bytes completely, once the system has gathered enough entropy at
  // boot.
  ssize_t got = -1;
  while (got < 0) {
    got = getrandom(bytes.data(), bytes.size(), 0);
    DET_CHECK(got >= 0 || errno == EINTR) << "getrandom failed";
  }
  DET_CHECK(got == static_cast<ssize_t>(bytes.size()));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 0x0f];
  }
  return text;
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (dash ? c != '-' : !digit) return false;
  }
  return true;
}

}  // namespace det::base
