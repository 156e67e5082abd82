#include "cli/local_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/local_slots.h"
#include "cli/local_tls.h"
#include "cli/program.h"
#include "cli/token_cache.h"
#include "cli/trusted_certificates.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kLockPollInterval = absl::Milliseconds(50);
constexpr int kPort = 8080;
constexpr int kTlsPort = 8443;
// An agent lets its tasks save a checkpoint; a master lets its PostgreSQL write its pages.
constexpr absl::Duration kAgentGracePeriod = absl::Seconds(20);
constexpr absl::Duration kTaskGracePeriod =
    absl::Seconds(5);  // for tasks whose agent is not running
constexpr absl::Duration kMasterGracePeriod = absl::Seconds(30);

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

// Returns an error with the options that differ from the running cluster; OK if there are none.
absl::Status CheckSameOptions(const std::string& data_dir, const ClusterState& state,
                              const ClusterOptions& options) {
  std::vector<std::string> actual;
  std::vector<std::string> requested;
  const auto compare = [&](absl::string_view flag, const auto& is, const auto& expected) {
    if (!expected || *expected == is) return;
    const std::string text = absl::StrCat(is);
    actual.push_back(text.empty() ? absl::StrCat("no ", flag) : absl::StrCat(flag, " ", text));
    requested.push_back(absl::StrCat(flag, " ", *expected));
  };
  compare("--port", state.port(), options.port);
  if (options.agents != state.first_agents) compare("--agents", state.agents, options.agents);
  compare("--slots", state.slots, options.slots);
  compare("--master-config", state.master_config, options.master_config);
  if (options.gpu && *options.gpu != state.gpu) {
    actual.push_back(state.gpu ? "--gpu" : "--no-gpu");
    requested.push_back(state.gpu ? "--no-gpu" : "--gpu");
  }
  if (options.tls && !state.tls) {
    actual.push_back("no --tls");
    requested.push_back("--tls");
  }
  if (actual.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the cluster in ", data_dir, " runs with ", absl::StrJoin(actual, " "), ", not ",
                   absl::StrJoin(requested, " "),
                   "; stop it first with `det deploy local down`, or run `up` without these "
                   "options to keep it"));
}

// Stands for the hash of a password that could not be hashed.
constexpr char kUnknownHash[] = "unknown";

// Hashing fails without memory.
std::string HashSecret(const std::string& secret) {
  std::array<char, crypto_pwhash_STRBYTES> hash = {};
  if (sodium_init() < 0 || crypto_pwhash_str(hash.data(), secret.data(), secret.size(),
                                             crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                             crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0) {
    return kUnknownHash;
  }
  return hash.data();
}

// Whether the hash is known to be that of another password, or of none.
bool IsOtherSecret(const std::string& secret, const std::string& hash) {
  if (hash == kUnknownHash || sodium_init() < 0) return false;
  errno = 0;
  return hash.empty() ||
         (crypto_pwhash_str_verify(hash.c_str(), secret.data(), secret.size()) != 0 &&
          errno != ENOMEM);
}

// The variables apply to a master that is started, as if it were started without `det`. A running
// one is not compared with them: they may be exported for another cluster.
void AddPasswordVariables(ClusterOptions* options) {
  const std::string admin = GetEnv("DET_ADMIN_PASSWORD");
  const std::string user = GetEnv("DET_USER_PASSWORD");
  if (!options->admin_password && !admin.empty()) options->admin_password = admin;
  if (!options->user_password && !user.empty()) options->user_password = user;
}

// Passwords are set when a master starts; later they are changed with `det user`. The options that
// started the master change nothing.
absl::Status CheckSamePasswords(const std::string& data_dir, const ClusterState& state,
                                const ClusterOptions& options) {
  if (!state.IsRunning("master")) return absl::OkStatus();
  const char* other = nullptr;
  if (options.admin_password && IsOtherSecret(*options.admin_password, state.admin_password)) {
    other = "--admin-password";
  } else if (options.user_password && IsOtherSecret(*options.user_password, state.user_password)) {
    other = "--user-password";
  } else if (options.allow_blank_passwords && !state.allow_blank_passwords) {
    other = "--allow-blank-passwords";
  }
  if (other == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the cluster in ", data_dir, " is already running, and was not started with this ", other,
      "; change passwords with `det user change-password`, or stop it first with `det deploy local "
      "down`"));
}

// DET_MASTER_CERT_FILE takes precedence over the stored certificates of this cluster: if it names
// other certificates, this det could not connect.
absl::Status CheckTrust(const std::string& authority, const std::string& path) {
  const std::string file = GetEnv("DET_MASTER_CERT_FILE");
  if (file.empty() || file == "noverify") return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const Trust trust, GetTrust("https://localhost"));
  if (absl::StrContains(trust.certificates, absl::StripAsciiWhitespace(authority))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("DET_MASTER_CERT_FILE names ", file,
                   ", which is not the certificate authority of this cluster; unset it, ",
                   "or set it to ", path));
}

// Returns an empty Process if there is no master.
Process GetMaster(const ClusterState& state) {
  const ClusterMember* master = state.Find("master");
  return master == nullptr ? Process() : master->process;
}

// Kills processes that a member started and did not stop itself.
void KillProcesses(const std::vector<Process>& processes) {
  for (const Process& process : processes) Signal(process, SIGKILL);
  for (const Process& process : processes) {
    WaitForExit(process, absl::Seconds(5)).IgnoreError();
  }
}

}  // namespace

LocalCluster::LocalCluster(const std::string& data_dir) {
  std::error_code error;
  data_dir_ = fs::absolute(data_dir, error).lexically_normal().string();
  while (data_dir_.size() > 1 && data_dir_.back() == '/') data_dir_.pop_back();
}

absl::StatusOr<base::Fd> LocalCluster::LockDataDir(const std::string& data_dir, Progress progress) {
  const std::string path = absl::StrCat(data_dir, "/deploy.lock");
  base::Fd fd(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return absl::PermissionDeniedError(absl::StrCat("data directory ", data_dir,
                                                    " is not writable (", strerror(errno),
                                                    "); choose another with --data-dir"));
  }
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    progress(absl::StrCat("waiting for another `det deploy local` on ", data_dir));
    DET_RETURN_IF_ERROR(CheckInterrupt());
    WaitFor(-1, 0, kLockPollInterval).IgnoreError();
  }
  return fd;
}

std::string LocalCluster::Path(const std::string& name) const {
  return absl::StrCat(data_dir_, "/", name);
}

absl::StatusOr<std::optional<ClusterState>> LocalCluster::Running() const {
  absl::StatusOr<ClusterState> state = ReadClusterFile(Path("cluster.json"));
  // The data directory may not exist; Up() reports the error.
  std::error_code error;
  const bool started = fs::exists(Path("cluster.json"), error);
  if (!started) state = ClusterState();
  DET_RETURN_IF_ERROR(state);
  const bool postgres = started && FindPostgres(data_dir_, GetMaster(*state));
  if (!state->AnyAlive() && !postgres && FindTasks(data_dir_).empty()) return std::nullopt;
  return *std::move(state);
}

bool LocalCluster::IsRepairable(const ClusterState& state) const {
  return state.port() > 0 && (state.AnyAlive() || !FindTasks(data_dir_).empty());
}

std::vector<TaskProcess> LocalCluster::FindOrphanedTasks(const ClusterState& state) const {
  std::vector<TaskProcess> tasks = FindTasks(data_dir_);
  std::erase_if(tasks, [&](const TaskProcess& task) { return state.IsRunning(task.agent); });
  return tasks;
}

absl::StatusOr<UpResult> LocalCluster::Up(const ClusterOptions& options, Progress progress) {
  if (!IsUtf8(data_dir_)) {
    return absl::InvalidArgumentError(absl::StrCat("data directory ", EscapeInvalidUtf8(data_dir_),
                                                   " is not UTF-8; choose another with "
                                                   "--data-dir"));
  }
  absl::Status made = base::MakeDirs(data_dir_, 0711);
  if (made.ok()) made = base::MakeDirs(Path("log"), 0700);
  if (!made.ok()) {
    return absl::PermissionDeniedError(absl::StrCat("data directory ", data_dir_,
                                                    " is not writable (", made.message(),
                                                    "); choose another with --data-dir"));
  }
  DET_ASSIGN_OR_RETURN(const base::Fd lock, LockDataDir(data_dir_, progress));
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> before, Running());
  UpResult up;
  ClusterState last;  // state of a cluster that Down() has not stopped, such as after a reboot
  int last_port = 0;
  if (before && IsRepairable(*before)) {
    DET_RETURN_IF_ERROR(CheckSameOptions(data_dir_, *before, options));
    DET_RETURN_IF_ERROR(CheckSamePasswords(data_dir_, *before, options));
    up.state = *before;
    up.repaired = true;
    if (up.state.AllAlive()) return up;
  } else {
    last = ReadClusterFile(Path("cluster.json")).value_or(ClusterState());
    const bool same =
        last.agents > 0 && options.agents.value_or(last.first_agents) == last.first_agents;
    up.state.agents = same ? last.agents : options.agents.value_or(1);
    up.state.first_agents = up.state.agents;
    if (same) up.state.first_agents = last.first_agents;
    // A master alone has chosen the slots of its first agent.
    const bool same_slots = same || (last.agents == 0 && up.state.agents <= 1);
    DET_ASSIGN_OR_RETURN(const bool kept, SetSlots(options, last, same_slots, &up));
    for (const ClusterMember& member : last.members) {
      if (!same || member.name == "master") continue;
      // The agents keep their names, under which the master knows them. An agent with the process
      // that it had is one that is restarted, and keeps its GPUs or CPU slots.
      up.state.members.push_back(kept ? member : ClusterMember{member.name, {}, member.log});
    }
    up.state.master_config = options.master_config.value_or(last.master_config);
    up.state.tls = options.tls || last.tls;
    up.state.allow_blank_passwords = options.allow_blank_passwords || last.allow_blank_passwords;
    up.state.admin_password = last.admin_password;
    up.state.user_password = last.user_password;
    if (last.tls == up.state.tls) last_port = last.port();
    if (before) StopAll(*before, progress);
  }
  const int usual = last_port > 0 ? last_port : up.state.tls ? kTlsPort : kPort;
  const int port = up.state.port() > 0 ? up.state.port() : options.port.value_or(usual);
  if (const absl::Status started = Start(port, options, progress, &up); !started.ok()) {
    RollBack(up, progress);
    // The previous options are kept, so that the next Up() can use them.
    if (last.agents > 0) WriteClusterFile(Path("cluster.json"), last).IgnoreError();
    return started;
  }
  return up;
}

absl::Status LocalCluster::Start(int port, const ClusterOptions& options, Progress progress,
                                 UpResult* up) {
  DET_ASSIGN_OR_RETURN(const std::string master, FindProgram("master", "resolute-master"));
  DET_ASSIGN_OR_RETURN(const std::string agent, FindProgram("agent", "resolute-agent"));
  ClusterState& state = up->state;
  std::optional<LocalTls> tls;
  if (state.tls) {
    DET_ASSIGN_OR_RETURN(tls, LocalTls::Open(Path("tls")));
    DET_RETURN_IF_ERROR(CheckTrust(tls->authority(), Path("tls/ca.crt")));
  }
  if (!state.IsRunning("master")) {
    DET_RETURN_IF_ERROR(CheckPortIsFree(port));
    progress("starting the master");
    ClusterOptions with_passwords = options;
    AddPasswordVariables(&with_passwords);
    if (const auto& admin = with_passwords.admin_password)
      state.admin_password = HashSecret(*admin);
    if (const auto& user = with_passwords.user_password) state.user_password = HashSecret(*user);
    if (options.allow_blank_passwords) state.allow_blank_passwords = true;
    DET_RETURN_IF_ERROR(StartMaster(master, port, with_passwords, tls ? &*tls : nullptr, up));
  }
  DET_RETURN_IF_ERROR(AwaitMaster(&state));
  if (tls) DET_RETURN_IF_ERROR(SaveCertificates(state.url, tls->authority()));
  for (const std::string& id : state.AgentNames()) {
    if (state.IsRunning(id)) continue;
    progress(absl::StrCat("starting ", id));
    DET_RETURN_IF_ERROR(
        StartAgent(id, agent, options.gpu.value_or(state.gpu), tls ? &*tls : nullptr, up));
  }
  progress("waiting for the agents");
  DET_RETURN_IF_ERROR(AwaitAgents(state));
  DET_ASSIGN_OR_RETURN(const std::string token, base::ReadFile(Path("admin.token")));
  return SaveToken(state.url, "admin", std::string(absl::StripAsciiWhitespace(token)),
                   /*activate=*/true);
}

absl::StatusOr<bool> LocalCluster::SetSlots(const ClusterOptions& options, const ClusterState& last,
                                            bool same_agents, UpResult* up) {
  SlotRequest request = {.agents = up->state.agents, .slots = options.slots, .gpu = options.gpu};
  request.cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<Accelerator> accelerators;
  if (NeedsAccelerators(options.gpu, last)) {
    DET_ASSIGN_OR_RETURN(const std::string agent, FindProgram("agent", "resolute-agent"));
    DET_ASSIGN_OR_RETURN(accelerators, ListAccelerators(agent));
  }
  DET_ASSIGN_OR_RETURN(SlotChoice choice,
                       ChooseSlotsAgain(accelerators, request, last, same_agents));
  up->state.slots = choice.slots;
  up->state.gpu = choice.gpu;
  if (up->state.agents > 0) up->slots = std::move(choice.text);
  return choice.kept;
}

absl::StatusOr<std::string> LocalCluster::TakePasswords() {
  const std::string path = Path("passwords.new");
  absl::StatusOr<std::string> text = base::ReadFile(path);
  if (absl::IsNotFound(text.status())) return "";
  std::error_code error;
  if (text.ok() && !fs::remove(path, error)) {
    return absl::PermissionDeniedError(absl::StrCat("cannot remove ", path, ": ", error.message()));
  }
  return text;
}

absl::Status LocalCluster::Down(Progress progress) {
  std::error_code error;
  if (!fs::exists(data_dir_, error)) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const base::Fd lock, LockDataDir(data_dir_, progress));
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, Running());
  if (state) StopAll(*state, progress);
  fs::remove(Path("cluster.json"), error);
  return absl::OkStatus();
}

void LocalCluster::StopAgents(const ClusterState& state, Progress progress) {
  std::vector<ClusterMember> agents;
  std::vector<Process> tasks;
  for (const ClusterMember& member : state.members) {
    if (member.name == "master" || !IsAlive(member.process)) continue;
    const std::vector<Process> started = Descendants(member.process);
    tasks.insert(tasks.end(), started.begin(), started.end());
    agents.push_back(member);
    Signal(member.process, SIGTERM);
  }
  if (!agents.empty()) progress("stopping the agents");
  // All agents are signaled before the first wait.
  const absl::Time end = absl::Now() + kAgentGracePeriod;
  for (const ClusterMember& agent : agents) {
    Stop(agent.process, SIGTERM, std::max(end - absl::Now(), absl::ZeroDuration()));
  }
  KillProcesses(tasks);
  // Stops tasks that left the session of a killed agent.
  const std::vector<std::string> names = state.AgentNames();
  if (!names.empty()) StopTasks(data_dir_, kTaskGracePeriod, names);
}

void LocalCluster::StopAll(const ClusterState& state, Progress progress) {
  StopAgents(state, progress);
  StopTasks(data_dir_, kTaskGracePeriod);
  StopMaster(GetMaster(state), progress);
  if (!state.url.empty()) RemoveToken(state.url, "admin").IgnoreError();
  if (state.tls) SaveCertificates(state.url, "").IgnoreError();
  std::error_code error;
  fs::remove(Path("cluster.json"), error);
}

void LocalCluster::StopMaster(const Process& master, Progress progress) {
  progress("stopping the master");
  const std::vector<Process> servers = Descendants(master);
  const bool gentle = Stop(master, SIGTERM, kMasterGracePeriod);
  if (const std::optional<Process> postgres = FindPostgres(data_dir_, master)) {
    // Fast shutdown of PostgreSQL; committed data is not lost.
    Stop(*postgres, SIGQUIT, absl::Seconds(10));
  }
  if (!gentle) KillProcesses(servers);
}

void LocalCluster::RollBack(const UpResult& up, Progress progress) {
  if (up.started.size() == up.state.members.size()) return StopAll(up.state, progress);
  // The file keeps all members, so that the next Up() completes the cluster.
  for (auto name = up.started.rbegin(); name != up.started.rend(); ++name) {
    const Process process = up.state.Find(*name)->process;
    if (*name == "master") {
      StopMaster(process, progress);
    } else {
      Stop(process, SIGTERM, kAgentGracePeriod);
    }
  }
}

}  // namespace det::cli
