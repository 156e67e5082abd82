#include "master/store/postgres/layout.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "master/store/postgres/embedded_postgres.h"

namespace det::store {
namespace {

namespace fs = std::filesystem;

constexpr char kServerPrograms[] = "/usr/lib/postgresql";
constexpr char kSocketName[] = "/.s.PGSQL.5432.lock";

bool HasPrograms(const std::string& dir) {
  return ::access(absl::StrCat(dir, "/initdb").c_str(), X_OK) == 0 &&
         ::access(absl::StrCat(dir, "/postgres").c_str(), X_OK) == 0;
}

// FNV-1a: stable between builds, unlike the hash functions of the standard library.
uint64_t Hash(const std::string& text) {
  uint64_t hash = 14695981039346656037u;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211u;
  return hash;
}

struct User {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

std::optional<User> FindUser(const char* name) {
  struct passwd entry = {};
  struct passwd* found = nullptr;
  std::array<char, 4096> buffer;
  if (::getpwnam_r(name, &entry, buffer.data(), buffer.size(), &found) != 0) return std::nullopt;
  if (found == nullptr) return std::nullopt;
  return User{name, found->pw_uid, found->pw_gid};
}

// Whether `user` can enter every folder above `path`, according to the permission bits.
absl::Status CheckReachable(const std::string& path, const User& user) {
  for (fs::path dir = fs::path(path).parent_path();; dir = dir.parent_path()) {
    struct stat info = {};
    if (::stat(dir.c_str(), &info) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot access ", dir.string()));
    }
    const mode_t bit = info.st_uid == user.uid   ? S_IXUSR
                       : info.st_gid == user.gid ? S_IXGRP
                                                 : S_IXOTH;
    if ((info.st_mode & bit) == 0) {
      return absl::PermissionDeniedError(
          absl::StrCat("PostgreSQL runs as user ", user.name, ", who cannot enter ", dir.string(),
                       "; run 'chmod o+x ", dir.string(), "' or choose another data directory"));
    }
    if (dir == dir.root_path()) return absl::OkStatus();
  }
}

// Lets other users enter, but not list, the data directory, which contains the server's folder.
absl::Status MakeEnterable(const std::string& data_dir) {
  struct stat info = {};
  if (::stat(data_dir.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot access ", data_dir));
  }
  if ((info.st_mode & S_IXOTH) != 0) return absl::OkStatus();
  if (::chmod(data_dir.c_str(), (info.st_mode & 07777) | S_IXGRP | S_IXOTH) == 0) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot give PostgreSQL access to ", data_dir));
}

// Creates a folder that only its owner, or `user`, can access.
absl::Status MakePrivateDir(const std::string& path, const std::optional<User>& user) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    const bool denied = errno == EACCES || errno == EPERM || errno == EROFS;
    const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
    if (!denied) return status;
    return absl::PermissionDeniedError(
        absl::StrCat(status.message(), "; choose a data directory in which you can write"));
  }
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot access ", path));
  }
  const uid_t owner = user ? user->uid : ::geteuid();
  const bool foreign = info.st_uid != owner && info.st_uid != ::geteuid();
  if (!S_ISDIR(info.st_mode) || foreign) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " belongs to another user; remove it or choose another data directory"));
  }
  if (info.st_uid != owner && ::lchown(path.c_str(), user->uid, user->gid) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot give ", path, " to user ", user->name));
  }
  if (::chmod(path.c_str(), 0700) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot restrict access to ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<User>> ChooseUser() {
  if (::geteuid() != 0) return std::nullopt;
  for (const char* name : {"postgres", "nobody"}) {
    if (const std::optional<User> user = FindUser(name)) return user;
  }
  return absl::FailedPreconditionError(
      "PostgreSQL cannot run as root, and there is no user postgres or nobody; add one with "
      "'adduser --system postgres', or run the master as an ordinary user");
}

// The server must be able to append to the log, which the master may have created as another user.
absl::Status MakeLog(const std::string& path, const std::optional<User>& user) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  const bool given = !user || ::fchown(fd, user->uid, user->gid) == 0;
  const int error = errno;
  ::close(fd);
  return given ? absl::OkStatus()
               : absl::ErrnoToStatus(error, absl::StrCat("cannot change the owner of ", path));
}

}  // namespace

// Searches /usr/lib/postgresql, then $PATH.
absl::StatusOr<std::string> FindServerPrograms(const std::string& cluster) {
  std::error_code ignored;
  const absl::StatusOr<std::string> made_by = base::ReadFile(cluster + "/PG_VERSION");
  if (made_by.ok()) {
    // A cluster can only be read by the version that created it.
    const std::string version(absl::StripAsciiWhitespace(*made_by));
    const std::string bin = absl::StrCat(kServerPrograms, "/", version, "/bin");
    if (HasPrograms(bin)) return bin;
    if (fs::exists(kServerPrograms, ignored)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the database in ", cluster, " was created by PostgreSQL ", version,
                       ", which is not installed; run 'apt-get install postgresql-", version, "'"));
    }
  }
  int newest = -1;
  std::string best;
  for (const auto& entry : fs::directory_iterator(kServerPrograms, ignored)) {
    const std::string name = entry.path().filename().string();
    int version = -1;
    std::from_chars(name.data(), name.data() + name.size(), version);
    const std::string bin = entry.path().string() + "/bin";
    if (version > newest && HasPrograms(bin)) {
      newest = version;
      best = bin;
    }
  }
  if (!best.empty()) return best;
  const char* path = ::getenv("PATH");
  for (const auto dir : absl::StrSplit(path == nullptr ? "" : path, ':', absl::SkipEmpty())) {
    if (HasPrograms(std::string(dir))) return std::string(dir);
  }
  return absl::NotFoundError(
      "the programs of PostgreSQL (initdb, postgres) are not installed; run 'apt-get install "
      "postgresql', or point --db-url at a server");
}

std::string ChooseSocketDir(const std::string& data_dir) {
  std::string dir = absl::StrCat(data_dir, "/run");
  if (dir.size() + sizeof(kSocketName) <= sizeof(sockaddr_un::sun_path)) return dir;
  return absl::StrFormat("/tmp/resolute-%016x", Hash(data_dir));
}

absl::StatusOr<Layout> PrepareLayout(const std::string& data_dir) {
  Layout layout;
  layout.cluster = absl::StrCat(data_dir, "/postgres");
  DET_ASSIGN_OR_RETURN(layout.bin_dir, FindServerPrograms(layout.cluster));
  DET_ASSIGN_OR_RETURN(const std::optional<User> user, ChooseUser());
  if (absl::Status made = base::MakeDirs(data_dir); !made.ok()) {
    return absl::Status(made.code(), absl::StrCat(made.message(),
                                                  "; choose a data directory in which you can "
                                                  "write"));
  }
  layout.socket_dir = ChooseSocketDir(data_dir);
  layout.log_path = absl::StrCat(data_dir, "/postgres.log");
  if (user) {
    layout.uid = user->uid;
    layout.gid = user->gid;
    DET_RETURN_IF_ERROR(MakeEnterable(data_dir));
    DET_RETURN_IF_ERROR(CheckReachable(layout.cluster, *user));
  }
  for (const std::string& dir : {layout.cluster, layout.socket_dir}) {
    DET_RETURN_IF_ERROR(MakePrivateDir(dir, user));
  }
  DET_RETURN_IF_ERROR(MakeLog(layout.log_path, user));
  return layout;
}

}  // namespace det::store
