#include "master/store/postgres/embedded_postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "master/store/postgres/layout.h"
#include <libpq-fe.h>

namespace det::store {
namespace {

namespace fs = std::filesystem;

constexpr char kUser[] = "resolute";

std::string ConnectionStringFor(const std::string& socket_dir) {
  return absl::StrCat("host=", socket_dir, " user=", kUser, " dbname=postgres");
}

// Recovery after a crash may take a while.
constexpr absl::Duration kStartTimeout = absl::Minutes(2);
constexpr absl::Duration kFastShutdown = absl::Seconds(20);
constexpr absl::Duration kImmediateShutdown = absl::Seconds(5);
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kMaxPause = absl::Seconds(5);

// The last lines of the server's log, in one line.
std::string ReadLastLogLines(const std::string& log_path) {
  const absl::StatusOr<std::string> text = base::ReadFile(log_path);
  if (!text.ok()) return "the log is empty or missing";
  std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n', absl::SkipWhitespace());
  const size_t first = lines.size() - std::min<size_t>(lines.size(), 3);
  return absl::StrJoin(lines.begin() + first, lines.end(), " | ",
                       [](std::string* out, absl::string_view line) {
                         absl::StrAppend(out, absl::StripAsciiWhitespace(line));
                       });
}

// Returns a descriptor that becomes readable when the process ends; invalid if there is no such
// process. Uses the number of the system call, because glibc 2.36's header lacks extern "C".
base::Fd OpenProcess(pid_t pid) {
  return base::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}
void Send(const base::Fd& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

// Waits for either descriptor; returns whether `process` has ended.
bool WaitForEnd(const base::Fd& process, absl::Duration timeout, int wake = -1) {
  pollfd polled[2] = {{process.get(), POLLIN, 0}, {wake, POLLIN, 0}};
  const absl::Time deadline = absl::Now() + timeout;
  while (true) {
    const bool endless = timeout == absl::InfiniteDuration();
    const auto left = absl::ToInt64Milliseconds(
        absl::Ceil(std::max(deadline - absl::Now(), absl::ZeroDuration()), absl::Milliseconds(1)));
    const int ready = ::poll(polled, 2, endless ? -1 : static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && polled[0].revents != 0;
  }
}

// Stops a server: cleanly first, then forcibly.
bool Shutdown(const base::Fd& process) {
  const std::pair<int, absl::Duration> steps[] = {
      {SIGINT, kFastShutdown}, {SIGQUIT, kImmediateShutdown}, {SIGKILL, kImmediateShutdown}};
  for (const auto& [signal, timeout] : steps) {
    Send(process, signal);
    if (WaitForEnd(process, timeout)) return true;
  }
  return false;
}

struct Server {
  pid_t pid = 0;
  base::Fd process;
};

// The server that an earlier master left running, if any. The working directory of a server is its
// cluster, which distinguishes it from an unrelated process with a reused pid.
std::optional<Server> FindLeftover(const std::string& cluster) {
  const absl::StatusOr<std::string> text = base::ReadFile(cluster + "/postmaster.pid");
  if (!text.ok()) return std::nullopt;
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  Server left;
  if (!absl::SimpleAtoi(lines[0], &left.pid) || left.pid <= 1) return std::nullopt;
  left.process = OpenProcess(left.pid);
  std::error_code error;
  const bool same =
      fs::equivalent(absl::StrCat("/proc/", left.pid, "/cwd"), cluster, error) && !error;
  if (!same || !left.process.valid()) return std::nullopt;
  return left;
}

// Whether a process has ended, though its parent has not waited for it yet. `proc`: "/proc/PID".
bool IsZombie(const std::string& proc) {
  const absl::StatusOr<std::string> text = base::ReadFile(proc + "/stat");
  if (!text.ok()) return false;
  // PID (NAME) STATE ...; the name may contain parentheses.
  const size_t name_end = text->rfind(") ");
  if (name_end == text->npos || name_end + 2 >= text->size()) return false;
  const char state = (*text)[name_end + 2];
  return state == 'Z' || state == 'X';
}

enum class Answer { kNo, kYes, kUnknown };

// Whether a process works in the cluster: a server, or one that has outlived it. Unknown if the
// master may not read the working directory: of another user without CAP_SYS_PTRACE, or hidden.
Answer WorksIn(const std::string& proc, const struct stat& cluster) {
  struct stat cwd = {};
  if (::stat((proc + "/cwd").c_str(), &cwd) == 0) {
    const bool same = cwd.st_dev == cluster.st_dev && cwd.st_ino == cluster.st_ino;
    return same ? Answer::kYes : Answer::kNo;
  }
  return IsZombie(proc) ? Answer::kNo : Answer::kUnknown;
}

// Whether any process may work in the cluster, as far as processes are visible.
bool IsInUse(const struct stat& cluster) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string proc = entry.path();
    struct stat process = {};
    if (!absl::ascii_isdigit(entry.path().filename().c_str()[0])) continue;
    const Answer works = WorksIn(proc, cluster);
    if (works == Answer::kYes) return true;
    // PostgreSQL runs as the owner of the cluster. A process that has just ended is not in use.
    if (works == Answer::kUnknown && ::stat(proc.c_str(), &process) == 0 &&
        process.st_uid == cluster.st_uid) {
      return true;
    }
  }
  return false;
}

// Whether the process in a lock file exists but is certainly no server of this cluster.
bool IsLockOfOther(const std::string& lock, const struct stat& cluster) {
  const absl::StatusOr<std::string> text = base::ReadFile(lock);
  if (!text.ok()) return false;
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  int64_t pid = 0;
  if (!absl::SimpleAtoi(lines[0], &pid) || pid == 0) return false;
  pid = std::abs(pid);  // negative: of a server in single-user mode
  return WorksIn(absl::StrCat("/proc/", pid), cluster) == Answer::kNo;
}

// Removes the lock files of a server that was killed if another process has the server's pid, such
// as the killed server itself until its parent has waited for it: PostgreSQL would not start. It
// removes those of absent processes itself, and first checks the server's shared memory. In doubt
// the files stay, since two servers would destroy the cluster.
void RemoveStaleLocks(const Layout& layout) {
  std::error_code error;
  const std::string locks[] = {layout.cluster + "/postmaster.pid",
                               layout.socket_dir + "/.s.PGSQL.5432.lock"};
  if (!fs::exists(locks[0], error) && !fs::exists(locks[1], error)) return;
  struct stat cluster = {};
  if (::stat(layout.cluster.c_str(), &cluster) != 0) return;
  // Processes of a killed server end within milliseconds.
  for (int i = 0; IsInUse(cluster); ++i) {
    if (i == 100) return;
    absl::SleepFor(absl::Milliseconds(20));
  }
  for (const std::string& lock : locks) {
    if (!IsLockOfOther(lock, cluster)) continue;
    DET_LOG(WARNING) << "removing a lock file of a PostgreSQL server that was killed"
                     << base::Field("path", lock);
    fs::remove(lock, error);
  }
}

absl::Status StopLeftoverServer(const Server& left) {
  DET_LOG(WARNING) << "stopping the PostgreSQL server that an earlier master left running"
                   << base::Field("pid", left.pid);
  if (Shutdown(left.process)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("PostgreSQL (pid ", left.pid, ") of an earlier master does not stop; kill it"));
}

// Whether the server has the settings of `argv`, runs the same program, and responds.
bool HasSameSettings(const Server& server, const std::vector<std::string>& argv,
                     const std::string& connection_string) {
  const std::string proc = absl::StrCat("/proc/", server.pid);
  const absl::StatusOr<std::string> line = base::ReadFile(proc + "/cmdline");
  const std::string expected(
      absl::StrCat(absl::StrJoin(argv, absl::string_view("\0", 1)), absl::string_view("\0", 1)));
  std::error_code error;
  // An upgrade replaces the program.
  if (!line.ok() || *line != expected || !fs::equivalent(proc + "/exe", argv[0], error) || error) {
    return false;
  }
  return ::PQping(absl::StrCat(connection_string, " connect_timeout=2").c_str()) == PQPING_OK;
}

base::SpawnOptions ServerProgram(const Layout& layout, std::vector<std::string> argv) {
  base::SpawnOptions options;
  options.argv = std::move(argv);
  options.argv[0] = absl::StrCat(layout.bin_dir, "/", options.argv[0]);
  options.env = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"};
  options.cwd = std::string("/");  // not "/": g++ 12 warns of an overlap there (PR 105651)
  // In its own process group, so that a terminal's Ctrl-C reaches only the master, which then stops
  // the server cleanly.
  options.group = base::ProcessGroup::kOwnSession;
  options.out = base::Redirect::File(layout.log_path);
  options.err = base::Redirect::File(layout.log_path);
  options.uid = layout.uid;
  options.gid = layout.gid;
  return options;
}

// Creates the cluster in a temporary folder and renames it, so that an interrupted start leaves
// none.
absl::Status MakeCluster(const Layout& layout) {
  if (::access((layout.cluster + "/PG_VERSION").c_str(), F_OK) == 0) return absl::OkStatus();
  const std::string draft = layout.cluster + "/new";
  std::error_code error;
  fs::remove_all(draft, error);
  // Written to disk in the background with syncfs, instead of fsync for each file.
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child,
                       base::Spawn(ServerProgram(
                           layout, {"initdb", "-D", draft, "-U", kUser, "-A", "trust", "-E", "UTF8",
                                    "--no-locale", "--no-sync", "--no-instructions"})));
  DET_ASSIGN_OR_RETURN(const base::ProcessExit exit, base::WaitForExit(child.pid));
  if (!exit.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "PostgreSQL's initdb failed in ", layout.cluster, ": ", ReadLastLogLines(layout.log_path),
        "; fix it and start the master again (log: ", layout.log_path, ")"));
  }
  // PG_VERSION last: it marks the cluster as complete.
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(draft, error)) entries.push_back(entry.path());
  std::stable_partition(entries.begin(), entries.end(),
                        [](const fs::path& path) { return path.filename() != "PG_VERSION"; });
  for (const fs::path& entry : entries) {
    if (error) break;
    fs::remove_all(layout.cluster / entry.filename(), error);
    fs::rename(entry, layout.cluster / entry.filename(), error);
  }
  if (!error) fs::remove(draft, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot fill ", layout.cluster, ": ", error.message()));
}

// The size of the server's cache for frequently read data (indexes of runs and their summaries).
// Pages use memory only once they are touched, so a small machine keeps its memory for training.
int64_t SharedMegabytes() {
  int64_t bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  // The limit of a container; "max" if it has none.
  int64_t limit = 0;
  const absl::StatusOr<std::string> limit_text = base::ReadFile("/sys/fs/cgroup/memory.max");
  if (limit_text.ok() && absl::SimpleAtoi(*limit_text, &limit) && limit > 0)
    bytes = std::min(bytes, limit);
  return std::clamp<int64_t>((bytes >> 20) / 64, 64, 512);
}

}  // namespace

class EmbeddedPostgres::Impl {
 public:
  Impl(Layout layout, bool fsync)
      : layout_(std::move(layout)),
        fsync_(fsync),
        connection_string_(ConnectionStringFor(layout_.socket_dir)),
        wake_(::eventfd(0, EFD_CLOEXEC)) {}

  absl::Status Start();
  void Stop();

  const std::string& connection_string() const { return connection_string_; }
  int pid() const { return pid_; }

 private:
  std::vector<std::string> Command() const;
  // Handles a server that an earlier master left running. Returns true if it is reused, false if it
  // is not running anymore.
  absl::StatusOr<bool> TakeOver();
  absl::Status Launch();
  absl::Status AwaitReady();
  void Supervise();
  // Waits for `pause`, or until Stop.
  bool WaitForStop(absl::Duration pause);

  const Layout layout_;
  const bool fsync_;
  const std::string connection_string_;
  const base::Fd wake_;
  std::atomic<int> pid_ = 0;
  base::Fd process_;  // descriptor of pid_; used by Start, then by the supervisor
  std::thread supervisor_;
};

std::vector<std::string> EmbeddedPostgres::Impl::Command() const {
  std::vector<std::string> argv = {"postgres", "-D", layout_.cluster};
  const auto set = [&argv](std::string setting) {
    argv.push_back("-c");
    argv.push_back(std::move(setting));
  };
  set("listen_addresses=");
  set(absl::StrCat("unix_socket_directories=", layout_.socket_dir));
  set("unix_socket_permissions=0700");
  set("port=5432");
  set("log_line_prefix=%m [%p] ");
  // The server is small: one master with few connections, on a machine that also trains.
  set("max_connections=32");
  set(absl::StrCat("shared_buffers=", SharedMegabytes(), "MB"));
  set("max_wal_size=512MB");
  set("checkpoint_timeout=15min");
  set("huge_pages=off");
  set("jit=off");
  // A new cluster has no statistics, so the first read of a long log would scan the whole table.
  set("autovacuum_naptime=10s");
  set("max_parallel_workers_per_gather=0");
  set("max_logical_replication_workers=0");
  set("autovacuum_max_workers=2");
  if (!fsync_) {
    set("fsync=off");
    set("full_page_writes=off");
  }
  return argv;
}

absl::StatusOr<bool> EmbeddedPostgres::Impl::TakeOver() {
  std::optional<Server> left = FindLeftover(layout_.cluster);
  if (!left) return false;
  const base::SpawnOptions ours = ServerProgram(layout_, Command());
  if (HasSameSettings(*left, ours.argv, connection_string_)) {
    DET_LOG(INFO) << "reusing the PostgreSQL server that an earlier master left running"
                  << base::Field("pid", left->pid);
    pid_ = left->pid;
    process_ = std::move(left->process);
    return true;
  }
  DET_RETURN_IF_ERROR(StopLeftoverServer(*left));
  return false;
}

absl::Status EmbeddedPostgres::Impl::Launch() {
  RemoveStaleLocks(layout_);
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child,
                       base::Spawn(ServerProgram(layout_, Command())));
  process_ = OpenProcess(child.pid);
  if (!process_.valid()) return absl::ErrnoToStatus(errno, "cannot watch PostgreSQL");
  pid_ = child.pid;
  return absl::OkStatus();
}

absl::Status EmbeddedPostgres::Impl::AwaitReady() {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  absl::Duration pause = absl::Milliseconds(5);
  while (::PQping(connection_string_.c_str()) != PQPING_OK) {
    const bool ended = WaitForEnd(process_, pause);
    pause = std::min(pause * 3 / 2, absl::Milliseconds(100));
    if (!ended && absl::Now() < deadline) continue;
    if (!ended) Shutdown(process_);
    (void)base::WaitForExit(pid_);
    pid_ = 0;
    return absl::UnavailableError(
        absl::StrCat("PostgreSQL did not start: ", ReadLastLogLines(layout_.log_path),
                     "; fix it and start the master again (log: ", layout_.log_path,
                     ", settings: ", layout_.cluster, "/postgresql.conf)"));
  }
  return absl::OkStatus();
}

absl::Status EmbeddedPostgres::Impl::Start() {
  DET_ASSIGN_OR_RETURN(const bool taken_over, TakeOver());
  if (!taken_over) {
    DET_RETURN_IF_ERROR(MakeCluster(layout_));
    DET_RETURN_IF_ERROR(Launch());
    DET_RETURN_IF_ERROR(AwaitReady());
  }
  supervisor_ = std::thread([this] { Supervise(); });
  return absl::OkStatus();
}

void EmbeddedPostgres::Impl::Supervise() {
  if (fsync_) {
    // initdb ran without fsync.
    const base::Fd cluster(::open(layout_.cluster.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ::syncfs(cluster.get());
  }
  absl::Duration pause = kFirstPause;
  while (true) {
    if (pid_ != 0) {
      const absl::Time since = absl::Now();
      const bool ended = WaitForEnd(process_, absl::InfiniteDuration(), wake_.get());
      if (!ended) Shutdown(process_);
      (void)base::WaitForExit(pid_);  // a reused server is not a child process
      pid_ = 0;
      if (!ended) return;
      DET_LOG(ERROR) << "PostgreSQL exited unexpectedly; restarting it"
                     << base::Field("last", ReadLastLogLines(layout_.log_path));
      if (absl::Now() - since > absl::Minutes(1)) pause = kFirstPause;
    }
    if (WaitForStop(pause)) return;
    pause = std::min(2 * pause, kMaxPause);
    if (absl::Status status = Launch(); !status.ok()) {
      DET_LOG(ERROR) << "cannot start PostgreSQL" << base::Field("reason", status.message());
    }
  }
}

bool EmbeddedPostgres::Impl::WaitForStop(absl::Duration pause) { return WaitForEnd(wake_, pause); }

void EmbeddedPostgres::Impl::Stop() {
  if (!supervisor_.joinable()) return;
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof(one)) != sizeof(one)) {
    DET_LOG(ERROR) << "cannot wake the supervisor of PostgreSQL";
  }
  supervisor_.join();
}

EmbeddedPostgres::EmbeddedPostgres(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EmbeddedPostgres::~EmbeddedPostgres() { Stop(); }

std::string EmbeddedPostgres::ConnectionString(const std::string& data_dir) {
  return ConnectionStringFor(ChooseSocketDir(data_dir));
}

absl::Status EmbeddedPostgres::StopLeftover(const std::string& data_dir) {
  const std::optional<Server> left = FindLeftover(data_dir + "/postgres");
  return left ? StopLeftoverServer(*left) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EmbeddedPostgres>> EmbeddedPostgres::Start(const Options& options) {
  DET_ASSIGN_OR_RETURN(Layout layout, PrepareLayout(options.data_dir));
  auto impl = std::make_unique<Impl>(std::move(layout), options.fsync);
  DET_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<EmbeddedPostgres>(new EmbeddedPostgres(std::move(impl)));
}

void EmbeddedPostgres::Stop() { impl_->Stop(); }
const std::string& EmbeddedPostgres::connection_string() const {
  return impl_->connection_string();
}
int EmbeddedPostgres::pid() const { return impl_->pid(); }

}  // namespace det::store
