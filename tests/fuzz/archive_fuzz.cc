// Fuzzes the unpacking of context archives by the agent.
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "agent/driver/unpack.h"
#include "tests/fuzz/folder.h"

namespace fs = std::filesystem;

namespace {

// Stores the data without compression, so that a mutation of the input is one of the archive.
std::string Gzip(const uint8_t* data, size_t size) {
  z_stream stream{};
  deflateInit2(&stream, 0, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, size) + 64, '\0');
  stream.next_in = const_cast<uint8_t*>(data);
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const fs::path parent = fuzz::UnpackFolder();
  const fs::path folder = parent / "folder";
  fs::create_directories(folder);
  const std::string bytes = data[0] % 2 == 0
                                ? Gzip(data + 1, size - 1)
                                : std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::Status status = det::agent::Unpack(fuzz::MakeFile(bytes), folder.string());
  fuzz::Check(status.ok() || !status.message().empty(), "an error without a message");
  for (const auto& entry : fs::directory_iterator(parent)) {
    fuzz::Check(entry.path() == folder, "outside of the folder: " + entry.path().string());
  }
  fuzz::CheckInside(folder);
  fs::remove_all(parent);
  return 0;
}
