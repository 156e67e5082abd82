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

void Check(bool condition, const std::string& message) {
  if (condition) return;
  std::cerr << message << "\n";
  std::abort();
}

fs::path UnpackFolder() {
  static const auto* const top = [] {
    ::setenv("TMPDIR", "/dev/shm", 0);  // Thirty times as many inputs per second.
    return new det::base::TempDir(*det::base::TempDir::Create("fuzz"));
  }();
  return fs::path(top->path()) / "unpacked";
}

det::base::Fd MakeFile(const std::string& bytes) {
  det::base::Fd file(::memfd_create("archive", MFD_CLOEXEC));
  Check(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
        "no memory");
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

void CheckInside(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat info {};
    ::lstat(entry.path().c_str(), &info);
    Check(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISLNK(info.st_mode),
          "not a file, directory or link: " + entry.path().string());
    Check((info.st_mode & (S_ISUID | S_ISGID)) == 0 || S_ISLNK(info.st_mode),
          "a set-uid or set-gid bit: " + entry.path().string());
    if (S_ISLNK(info.st_mode)) {
      std::error_code loop;  // A loop of links has no target.
      const fs::path target = fs::weakly_canonical(entry.path(), loop);
      if (loop) continue;
      const std::string inside = fs::canonical(folder).string() + "/";
      Check((target.string() + "/").starts_with(inside),
            "a link out of the folder: " + entry.path().string());
    }
  }
}

}  // namespace fuzz
