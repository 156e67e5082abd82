#include "agent/keeper/keeper_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

absl::Status MakeDamagedError(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the keeper's file ", what, " is damaged"));
}

struct flock MakeFileLock() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Writes in place without syncing: after a crash in between, the next agent removes the incomplete
// directory.
absl::Status Create(const std::string& path, const std::string& content) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.valid() &&
      ::write(file.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size())) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(file.valid() ? ENOSPC : errno, absl::StrCat("cannot write ", path));
}

}  // namespace

// Encodes each field as a letter and a value that ends with NUL: neither arguments nor environment
// variables can contain a NUL.
std::string Encode(const Launch& launch) {
  std::string text;
  const auto add = [&](char kind, absl::string_view value) {
    text += kind;
    text.append(value.data(), value.size());
    text += '\0';
  };
  for (const std::string& word : launch.argv) add('a', word);
  for (const std::string& entry : launch.env) add('e', entry);
  for (const int slot : launch.slots) add('s', absl::StrCat(slot));
  if (launch.fraction < 1) add('p', absl::StrFormat("%.17g", launch.fraction));
  add('w', launch.work_dir);
  add('m', launch.marker);
  add('l', absl::StrCat(launch.spool_limit));
  if (!launch.group.empty()) add('g', launch.group);
  if (launch.memory > 0) add('b', absl::StrCat(launch.memory));
  if (!launch.boot.empty()) add('o', launch.boot);
  for (const base::Mount& mount : launch.mounts) {
    add('f', mount.from);
    add('t', mount.to);
  }
  return text;
}

absl::StatusOr<Launch> DecodeLaunch(absl::string_view text) {
  Launch launch;
  if (text.empty() || text.back() != '\0') return MakeDamagedError("launch");
  text.remove_suffix(1);
  for (const absl::string_view entry : absl::StrSplit(text, '\0')) {
    if (entry.empty()) return MakeDamagedError("launch");
    const std::string value(entry.substr(1));
    int slot = 0;
    if (entry[0] == 'a') {
      launch.argv.push_back(value);
    } else if (entry[0] == 'e') {
      launch.env.push_back(value);
    } else if (entry[0] == 'w') {
      launch.work_dir = value;
    } else if (entry[0] == 'm') {
      launch.marker = value;
    } else if (entry[0] == 'g') {
      launch.group = value;
    } else if (entry[0] == 'o') {
      launch.boot = value;
    } else if (entry[0] == 'f') {
      launch.mounts.push_back({.from = value, .to = {}});
    } else if (entry[0] == 't' && !launch.mounts.empty()) {
      launch.mounts.back().to = value;
    } else if (entry[0] == 'b' && absl::SimpleAtoi(value, &launch.memory)) {
      continue;
    } else if (entry[0] == 'p' && absl::SimpleAtod(value, &launch.fraction)) {
      continue;
    } else if (entry[0] == 's' && absl::SimpleAtoi(value, &slot)) {
      launch.slots.push_back(slot);
    } else if (entry[0] != 'l' || !absl::SimpleAtoi(value, &launch.spool_limit)) {
      return MakeDamagedError("launch");
    }
  }
  return launch;
}

std::string Encode(const RecordedExit& exit) {
  return absl::StrCat(exit.code, " ", exit.signal, " ", exit.start_failed ? 1 : 0, " ",
                      exit.last_line, "\n", exit.message);
}

absl::StatusOr<RecordedExit> DecodeExit(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  const std::vector<absl::string_view> words = absl::StrSplit(parts.first, ' ');
  RecordedExit exit;
  if (words.size() != 4 || !absl::SimpleAtoi(words[0], &exit.code) ||
      !absl::SimpleAtoi(words[1], &exit.signal) ||
      !absl::SimpleAtob(words[2], &exit.start_failed) ||
      !absl::SimpleAtoi(words[3], &exit.last_line)) {
    return MakeDamagedError("exit");
  }
  exit.message = std::string(parts.second);
  return exit;
}

std::string KeeperFolder::File(absl::string_view name) const {
  return absl::StrCat(path_, "/", name);
}

absl::Status KeeperFolder::Prepare(const Launch& launch) const {
  DET_RETURN_IF_ERROR(base::MakeDirs(path_, 0700));
  DET_RETURN_IF_ERROR(Create(File("keeper"), ""));
  if (::mkfifo(File(kWakeupFifo).c_str(), 0600) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", File(kWakeupFifo)));
  }
  return Create(File("launch"), Encode(launch));
}

absl::StatusOr<KeeperFolder::Claim> KeeperFolder::TakeOver() const {
  Claim claim{.lock = base::Fd(::open(File("keeper").c_str(), O_RDWR | O_CLOEXEC)), .launch = {}};
  struct flock lock = MakeFileLock();
  // A record lock ends with the process, is not inherited by children, and reports its holder.
  if (!claim.lock.valid() || ::fcntl(claim.lock.get(), F_SETLK, &lock) != 0) {
    if (errno == EACCES || errno == EAGAIN) {
      return absl::AlreadyExistsError(absl::StrCat(path_, " already has a keeper"));
    }
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", File("keeper")));
  }
  if (::rename(File("launch").c_str(), File("launched").c_str()) != 0) {
    return absl::CancelledError(absl::StrCat("no task to launch in ", path_));
  }
  DET_ASSIGN_OR_RETURN(claim.launch, ReadLaunch());
  return claim;
}

bool KeeperFolder::CancelLaunch() const { return ::unlink(File("launch").c_str()) == 0; }

pid_t KeeperFolder::GetKeeperPid() const {
  const base::Fd file(::open(File("keeper").c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock = MakeFileLock();
  if (!file.valid() || ::fcntl(file.get(), F_GETLK, &lock) != 0) return 0;
  return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

absl::StatusOr<Launch> KeeperFolder::ReadLaunch() const {
  DET_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(File("launched")));
  return DecodeLaunch(text);
}

absl::StatusOr<FirstProcess> KeeperFolder::ReadFirstProcess() const {
  DET_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(File("keeper")));
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  FirstProcess task;
  if (words.size() != 3 || words[2] != "\n" || !absl::SimpleAtoi(words[0], &task.pid) ||
      task.pid <= 1 || !absl::SimpleAtoi(words[1], &task.start_time)) {
    return absl::NotFoundError("no task has been started");
  }
  return task;
}

absl::StatusOr<RecordedExit> KeeperFolder::ReadExit() const {
  DET_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(File("exit")));
  return DecodeExit(text);
}

std::vector<Segment> KeeperFolder::ListSegments() const {
  std::vector<Segment> segments;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path_.c_str()), ::closedir);
  if (dir == nullptr) return segments;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::optional<int64_t> first = ParseSegmentName(entry->d_name);
    struct stat status = {};
    if (!first || ::fstatat(::dirfd(dir.get()), entry->d_name, &status, 0) != 0) continue;
    segments.push_back({*first, status.st_size});
  }
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.first < b.first; });
  return segments;
}

bool KeeperFolder::RemoveSegments(const std::vector<Segment>& segments, size_t count) const {
  bool all_removed = true;
  for (size_t i = 0; i < count; ++i) {
    const std::string path = File(SegmentName(segments[i].first));
    // Agent and keeper may remove the same file.
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) all_removed = false;
  }
  return all_removed;
}

int64_t KeeperFolder::ReadDelivered() const {
  const absl::StatusOr<std::string> text = base::ReadFile(File("delivered"));
  int64_t sequence = 0;
  return text.ok() && absl::SimpleAtoi(*text, &sequence) && sequence > 0 ? sequence : 0;
}

// Writes in place without syncing: the length is constant, and if an older number is found after a
// crash, lines are sent again and the master drops them.
absl::Status KeeperFolder::WriteDelivered(int64_t sequence) const {
  const std::string text = absl::StrFormat("%020d\n", sequence);
  const base::Fd file(::open(File("delivered").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (file.valid() &&
      ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", File("delivered")));
}

}  // namespace det::agent
