#include "cli/local_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "cli/api_client.h"
#include "cli/connection.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "det/api/v1/agent.pb.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kStartLimit = absl::Seconds(60);
constexpr absl::Duration kLook = absl::Milliseconds(5);
// An agent gives its tasks time to save a checkpoint, a master its PostgreSQL to write its pages.
constexpr absl::Duration kAgentPatience = absl::Seconds(20);
constexpr absl::Duration kMasterPatience = absl::Seconds(30);

// The program beside this one: in one folder when installed, in the folder of its target when
// built.
absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {here / name, here / ".." / folder / name}) {
    if (fs::exists(path, error)) return path.lexically_normal().string();
  }
  return absl::NotFoundError(absl::StrCat("there is no ", name, " beside ", here.string(),
                                          "/det; build it with `bazel build //", folder, ":", name,
                                          "`"));
}

absl::Status CheckPortIsFree(int port) {
  const base::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    return absl::OkStatus();
  }
  if (errno == EADDRINUSE) {
    return absl::FailedPreconditionError(
        absl::StrCat("port ", port, " is in use; choose another with --port"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot listen on port ", port, ": ", strerror(errno)));
}

// Held while `up` or `down` is at work on a data directory.
absl::StatusOr<base::Fd> LockDataDir(const std::string& data_dir) {
  const std::string path = absl::StrCat(data_dir, "/deploy.lock");
  base::Fd fd(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return absl::PermissionDeniedError(absl::StrCat("data directory ", data_dir,
                                                    " is not writable (", strerror(errno),
                                                    "); choose another with --data-dir"));
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return absl::FailedPreconditionError(
      absl::StrCat("another `det deploy local` is at work on ", data_dir, "; wait for its end"));
}

// The last thing that a program wrote, without its name and the log's prefix.
std::string LastWords(const std::string& log) {
  const auto text = base::ReadFile(log);
  if (!text.ok()) return "";
  std::string last;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) last = std::string(line);
  }
  absl::string_view words = last;
  if (!absl::ConsumePrefix(&words, "resolute-master: ")) {
    absl::ConsumePrefix(&words, "resolute-agent: ");
  }
  return std::string(words);
}

// The server process of the data directory's own PostgreSQL, if it lives: it works in its
// directory.
std::optional<Process> FindPostgres(const std::string& data_dir) {
  std::error_code error;
  for (const char* folder : {"postgres", "postgres/data"}) {
    const std::string data = absl::StrCat(data_dir, "/", folder);
    const auto text = base::ReadFile(absl::StrCat(data, "/postmaster.pid"));
    pid_t pid = 0;
    if (!text.ok() || !absl::SimpleAtoi(text->substr(0, text->find('\n')), &pid)) continue;
    const fs::path cwd = fs::read_symlink(absl::StrCat("/proc/", pid, "/cwd"), error);
    if (!error && fs::equivalent(cwd, data, error)) return FindProcess(pid);
  }
  return std::nullopt;
}

// What a member started and should have ended itself.
void EndLeftovers(const std::vector<Process>& processes) {
  for (const Process& process : processes) Signal(process, SIGKILL);
  for (const Process& process : processes) {
    WaitUntilGone(process, absl::Seconds(5)).IgnoreError();
  }
}

}  // namespace

LocalCluster::LocalCluster(const std::string& data_dir) {
  std::error_code error;
  data_dir_ = fs::absolute(data_dir, error).lexically_normal().string();
  while (data_dir_.size() > 1 && data_dir_.back() == '/') data_dir_.pop_back();
}

std::string LocalCluster::Path(const std::string& name) const {
  return absl::StrCat(data_dir_, "/", name);
}

absl::StatusOr<std::optional<ClusterState>> LocalCluster::Running() const {
  // Also where the data directory could never be; Up() says so.
  std::error_code error;
  if (!fs::exists(Path("cluster.json"), error)) return std::nullopt;
  absl::StatusOr<ClusterState> state = ReadClusterFile(Path("cluster.json"));
  DET_RETURN_IF_ERROR(state);
  if (!state->AnyAlive() && !FindPostgres(data_dir_)) return std::nullopt;
  return *std::move(state);
}

absl::StatusOr<ClusterState> LocalCluster::Up(const ClusterOptions& options, Progress progress) {
  if (const absl::Status made = base::MakeDirs(Path("log")); !made.ok()) {
    return absl::PermissionDeniedError(absl::StrCat("data directory ", data_dir_,
                                                    " is not writable (", made.message(),
                                                    "); choose another with --data-dir"));
  }
  DET_ASSIGN_OR_RETURN(const base::Fd lock, LockDataDir(data_dir_));
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> before, Running());
  if (before && before->AllAlive()) return *before;
  if (before) StopAll(*before, progress);
  DET_RETURN_IF_ERROR(CheckPortIsFree(options.port));
  ClusterState state;
  state.agents = options.agents;
  state.slots = options.slots;
  const absl::Status started = Start(options, progress, &state);
  if (!started.ok()) {
    StopAll(state, progress);
    return started;
  }
  return state;
}

absl::Status LocalCluster::Start(const ClusterOptions& options, Progress progress,
                                 ClusterState* state) {
  DET_ASSIGN_OR_RETURN(const std::string master, FindProgram("master", "resolute-master"));
  DET_ASSIGN_OR_RETURN(const std::string agent, FindProgram("agent", "resolute-agent"));
  progress("starting the master");
  DET_RETURN_IF_ERROR(StartMember(
      "master", master, {"--data-dir", data_dir_, "--port", absl::StrCat(options.port)}, state));
  DET_RETURN_IF_ERROR(AwaitMaster(state));
  for (int i = 0; i < options.agents; ++i) {
    const std::string id = absl::StrCat("agent-", i);
    progress(absl::StrCat("starting ", id));
    DET_RETURN_IF_ERROR(StartMember(
        id, agent,
        {"--master", state->url, "--id", id, "--slots", absl::StrCat(options.slots), "--work-dir",
         Path(absl::StrCat("agents/", id)), "--token-file", Path("agent.token")},
        state));
  }
  progress("waiting for the agents");
  DET_RETURN_IF_ERROR(AwaitAgents(*state, options.agents));
  DET_ASSIGN_OR_RETURN(const std::string token, base::ReadFile(Path("admin.token")));
  return RememberToken(state->url, std::string(absl::StripAsciiWhitespace(token)));
}

absl::Status LocalCluster::StartMember(const std::string& name, const std::string& program,
                                       std::vector<std::string> flags, ClusterState* state) {
  base::SpawnOptions spawn;
  spawn.argv = std::move(flags);
  spawn.argv.insert(spawn.argv.begin(), program);
  spawn.group = base::ProcessGroup::kOwnSession;
  spawn.cwd = data_dir_;
  const std::string log = Path(absl::StrCat("log/", name, ".log"));
  // The log of one run at a time, so that its last line is this run's; the one before is kept.
  std::error_code error;
  if (fs::exists(log, error)) fs::rename(log, absl::StrCat(log, ".1"), error);
  spawn.out = base::Redirect::File(log);
  spawn.err = base::Redirect::File(log);
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child, base::Spawn(spawn));
  // One that has ended already is told apart when it is waited for.
  state->members.push_back({name, FindProcess(child.pid).value_or(Process{child.pid, 0}), log});
  return WriteClusterFile(Path("cluster.json"), *state);
}

absl::Status LocalCluster::CheckMember(const ClusterMember& member) const {
  DET_RETURN_IF_ERROR(CheckInterrupt());
  if (IsAlive(member.process)) return absl::OkStatus();
  const std::string words = LastWords(member.log);
  return absl::FailedPreconditionError(
      absl::StrCat("the ", member.name == "master" ? "master" : absl::StrCat("agent ", member.name),
                   " ended at its start: ", words.empty() ? "without a word" : words,
                   " (log: ", member.log, ")"));
}

absl::Status LocalCluster::AwaitMaster(ClusterState* state) {
  const ClusterMember& master = state->members[0];
  const absl::Time end = absl::Now() + kStartLimit;
  while (absl::Now() < end) {
    const auto text = base::ReadFile(Path("master.json"));
    // A file of an earlier run may still be there.
    if (text.ok() && MemberOf(*text, "pid") == absl::StrCat(master.process.pid)) {
      state->url = MemberOf(*text, "url").value_or("");
      return WriteClusterFile(Path("cluster.json"), *state);
    }
    DET_RETURN_IF_ERROR(CheckMember(master));
    WaitFor(-1, 0, kLook).IgnoreError();
  }
  return absl::DeadlineExceededError(absl::StrCat("the master did not answer within ",
                                                  absl::FormatDuration(kStartLimit), "; see ",
                                                  master.log));
}

absl::Status LocalCluster::AwaitAgents(const ClusterState& state, int wanted) {
  DET_ASSIGN_OR_RETURN(const std::string token, base::ReadFile(Path("admin.token")));
  const ApiClient api(state.url, std::string(absl::StripAsciiWhitespace(token)));
  const absl::Time end = absl::Now() + kStartLimit;
  while (absl::Now() < end) {
    api::v1::GetAgentsResponse agents;
    DET_RETURN_IF_ERROR(api.Call("AgentService.GetAgents", api::v1::GetAgentsRequest(), &agents));
    const int64_t connected =
        std::count_if(agents.agents().begin(), agents.agents().end(),
                      [](const api::v1::Agent& agent) { return agent.connected(); });
    if (connected >= wanted) return absl::OkStatus();
    for (const ClusterMember& member : state.members) DET_RETURN_IF_ERROR(CheckMember(member));
    WaitFor(-1, 0, kLook).IgnoreError();
  }
  return absl::DeadlineExceededError(absl::StrCat("the agents did not register within ",
                                                  absl::FormatDuration(kStartLimit), "; see ",
                                                  Path("log")));
}

absl::Status LocalCluster::Down(Progress progress) {
  std::error_code error;
  if (!fs::exists(data_dir_, error)) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const base::Fd lock, LockDataDir(data_dir_));
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, Running());
  if (state) StopAll(*state, progress);
  fs::remove(Path("cluster.json"), error);
  return absl::OkStatus();
}

void LocalCluster::StopAll(const ClusterState& state, Progress progress) {
  std::vector<ClusterMember> agents;
  std::vector<Process> tasks;
  for (size_t i = 1; i < state.members.size(); ++i) {
    const Process& process = state.members[i].process;
    if (!IsAlive(process)) continue;
    const std::vector<Process> started = Descendants(process);
    tasks.insert(tasks.end(), started.begin(), started.end());
    agents.push_back(state.members[i]);
    Signal(process, SIGTERM);
  }
  if (!agents.empty()) progress("stopping the agents");
  // They were all told before the first is waited for.
  const absl::Time end = absl::Now() + kAgentPatience;
  for (const ClusterMember& agent : agents) {
    Stop(agent.process, SIGTERM, std::max(end - absl::Now(), absl::ZeroDuration()));
  }
  EndLeftovers(tasks);
  if (!state.members.empty()) {
    progress("stopping the master");
    const std::vector<Process> servers = Descendants(state.members[0].process);
    const bool gentle = Stop(state.members[0].process, SIGTERM, kMasterPatience);
    if (const std::optional<Process> postgres = FindPostgres(data_dir_)) {
      // Its own quick stop, which loses nothing that was committed.
      Stop(*postgres, SIGQUIT, absl::Seconds(10));
    }
    if (!gentle) EndLeftovers(servers);
  }
  if (!state.url.empty()) RememberToken(state.url, "").IgnoreError();
  std::error_code error;
  fs::remove(Path("cluster.json"), error);
}

}  // namespace det::cli
