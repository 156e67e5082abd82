// Archives of contexts, as the agent unpacks them.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "agent/driver/unpack.h"
#include "base/fd.h"
#include "base/file.h"

namespace {

namespace fs = std::filesystem;

void Promise(bool kept, const std::string& what) {
  if (kept) return;
  std::cerr << what << "\n";
  std::abort();
}

// Without compression: what is changed in the archive is changed in the file.
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

det::base::Fd FileOf(const std::string& bytes) {
  det::base::Fd file(::memfd_create("archive", MFD_CLOEXEC));
  Promise(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
          "no memory");
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

void CheckInside(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat info {};
    ::lstat(entry.path().c_str(), &info);
    Promise(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISLNK(info.st_mode),
            "a device: " + entry.path().string());
    Promise((info.st_mode & (S_ISUID | S_ISGID)) == 0 || S_ISLNK(info.st_mode),
            "a set-id bit: " + entry.path().string());
    if (S_ISLNK(info.st_mode)) {
      const fs::path target = fs::weakly_canonical(entry.path());
      const std::string inside = fs::canonical(folder).string() + "/";
      Promise((target.string() + "/").starts_with(inside), "a link out: " + entry.path().string());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const auto* const top = [] {
    ::setenv("TMPDIR", "/dev/shm", 0);  // In memory: thirty times as many.
    return new det::base::TempDir(*det::base::TempDir::Create("fuzz"));
  }();
  const fs::path place = fs::path(top->path()) / "place";
  const fs::path folder = place / "folder";
  fs::create_directories(folder);
  const std::string bytes = data[0] % 2 == 0
                                ? Gzip(data + 1, size - 1)
                                : std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::Status status = det::agent::Unpack(FileOf(bytes), folder.string());
  Promise(status.ok() || !status.message().empty(), "an error without a message");
  for (const auto& entry : fs::directory_iterator(place)) {
    Promise(entry.path() == folder, "outside: " + entry.path().string());
  }
  CheckInside(folder);
  fs::remove_all(place);
  return 0;
}
