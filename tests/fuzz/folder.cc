#include "tests/fuzz/folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <system_error>

#include "base/file.h"

namespace fuzz {

namespace fs = std::filesystem;

void Promise(bool kept, const std::string& what) {
  if (kept) return;
  std::cerr << what << "\n";
  std::abort();
}

fs::path Place() {
  static const auto* const top = [] {
    ::setenv("TMPDIR", "/dev/shm", 0);  // Thirty times as many.
    return new det::base::TempDir(*det::base::TempDir::Create("fuzz"));
  }();
  return fs::path(top->path()) / "place";
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
      std::error_code circle;  // which leads nowhere
      const fs::path target = fs::weakly_canonical(entry.path(), circle);
      if (circle) continue;
      const std::string inside = fs::canonical(folder).string() + "/";
      Promise((target.string() + "/").starts_with(inside), "a link out: " + entry.path().string());
    }
  }
}

}  // namespace fuzz
