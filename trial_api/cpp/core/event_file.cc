#include "trial_api/cpp/core/event_file.h"

#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/uuid.h"
#include "trial_api/cpp/core/error.h"
#include <boost/crc.hpp>

namespace det::core {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little,
              "numbers are written in the host's byte order");

// CRC-32C with Castagnoli's polynomial, as in RFC 3720.
using Crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <class T>
std::string Raw(T value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value > 0x7F; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string Key(int field, Wire wire) { return Varint(static_cast<uint64_t>(field) << 3 | wire); }

// Appends a string field, or an embedded message.
std::string Bytes(int field, std::string_view bytes) {
  return Key(field, kBytes) + Varint(bytes.size()) + std::string(bytes);
}

uint32_t Masked(std::string_view bytes) {
  Crc32c crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const uint32_t sum = crc.checksum();
  return (sum >> 15 | sum << 17) + 0xA282EAD8;
}

std::string Frame(const std::string& event) {
  const std::string length = Raw(uint64_t{event.size()});
  return length + Raw(Masked(length)) + event + Raw(Masked(event));
}

// Returns the summary of an Event with one value: its tag and `rest`.
std::string Summary(const std::string& tag, const std::string& rest) {
  return Bytes(5, Bytes(1, Bytes(1, tag) + rest));
}

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

}  // namespace

EventFile::EventFile(const std::string& folder, WallClock now) : now_(std::move(now)) {
  std::error_code error;
  fs::create_directories(folder, error);
  // TensorBoard reads files in the order of their names, so the name starts with the time, and a
  // number orders those of one second.
  static std::atomic<int> files = 0;
  char number[16];
  std::snprintf(number, sizeof(number), "%04d", ++files);
  path_ = folder + "/events.out.tfevents." + std::to_string(static_cast<int64_t>(now_())) + "." +
          HostName() + "." + std::to_string(::getpid()) + "." + number + "." + base::NewUuid();
  errno = 0;
  file_.open(path_, std::ios::binary);
  if (!file_) throw Error("cannot write " + path_ + ": " + std::strerror(errno));
  Write(0, Bytes(3, "brain.Event:2"));
  Flush();
}

void EventFile::AddScalar(const std::string& tag, int64_t step, double value) {
  Write(step, Summary(tag, Key(2, kFixed32) + Raw(static_cast<float>(value))));
}

void EventFile::AddText(const std::string& tag, int64_t step, const std::string& text) {
  const std::string plugin = Bytes(9, Bytes(1, Bytes(1, "text")));
  // A tensor: type (string), shape (one element), value.
  const std::string tensor = Key(1, kVarint) + Varint(7) +
                             Bytes(2, Bytes(2, Key(1, kVarint) + Varint(1))) + Bytes(8, text);
  Write(step, Summary(tag, plugin + Bytes(8, tensor)));
}

void EventFile::AddStart(int64_t step) {
  Write(step, Bytes(7, Key(1, kVarint) + Varint(1)));  // a SessionLog whose status is START
}

void EventFile::Flush() {
  errno = 0;
  if (!file_.flush()) throw Error("cannot write " + path_ + ": " + std::strerror(errno));
}

void EventFile::Write(int64_t step, const std::string& rest) {
  const std::string event =
      Key(1, kFixed64) + Raw(now_()) + Key(2, kVarint) + Varint(static_cast<uint64_t>(step)) + rest;
  const std::string frame = Frame(event);
  bytes_ += static_cast<int64_t>(frame.size());
  errno = 0;
  if (!file_.write(frame.data(), static_cast<std::streamsize>(frame.size()))) {
    throw Error("cannot write " + path_ + ": " + std::strerror(errno));
  }
}

}  // namespace det::core
