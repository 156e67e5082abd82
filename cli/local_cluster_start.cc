// Starts the processes of a local cluster and waits until they are ready.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "cli/api_client.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/local_cluster.h"
#include "cli/local_slots.h"
#include "cli/local_tls.h"
#include "cli/program.h"
#include "det/api/v1/agent.pb.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kNoFile[] = "/dev/null";
constexpr absl::Duration kStartLimit = absl::Seconds(60);
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

// Returns the last message of a program in its log, without the program name and log prefix;
// several lines of one error are joined with `between`.
std::string ReadLastMessage(const std::string& log, absl::string_view between) {
  const auto text = base::ReadFile(log);
  if (!text.ok()) return "";
  std::vector<std::string> last;
  bool from_program = false;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    const bool begins = absl::ConsumePrefix(&line, "resolute-master: ") ||
                        absl::ConsumePrefix(&line, "resolute-agent: ");
    if (line.empty()) continue;
    if (begins || !from_program) last.clear();
    from_program = from_program || begins;
    last.emplace_back(line);
  }
  return absl::StrJoin(last, between);
}

// Returns the environment of a member. DET_* variables are settings of det and of tasks; for a
// member they would override the options of the cluster. Up() adds those of passwords for the
// master.
std::vector<std::string> MakeMemberEnvironment(const std::vector<std::string>& variables) {
  std::vector<std::string> all = MakeEnvironment({});
  // The Python of tasks comes from the environment.
  std::erase_if(all, [](const std::string& each) {
    return absl::StartsWith(each, "DET_") && !absl::StartsWith(each, "DET_PYTHON_EXECUTABLE=");
  });
  all.insert(all.end(), variables.begin(), variables.end());
  return all;
}

// Checks, before anything is started, for settings that `up` does not support. `address` is what
// the master printed about its port, "https://127.0.0.1:8443".
absl::Status CheckAddress(const std::string& address, bool tls, const std::string& file) {
  if (absl::StartsWith(address, "https://") && !tls) {
    return absl::FailedPreconditionError(
        absl::StrCat(file,
                     ": security.tls: agents and `det` would not trust these certificates; use "
                     "--tls, which creates certificates for the cluster, or start resolute-master "
                     "and resolute-agent yourself"));
  }
  absl::string_view host = address;
  host.remove_prefix(std::min(host.size(), host.find("://") + 3));
  host = host.substr(0, host.rfind(':'));
  for (const char* good : {"127.0.0.1", "0.0.0.0", "::1", "::", "localhost"}) {
    if (host == good) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(file, ": bind: ", host,
                   ": `deploy local` uses 127.0.0.1; remove the setting, or use 0.0.0.0 for all "
                   "addresses of this machine"));
}

}  // namespace

absl::Status LocalCluster::CheckConfig(const std::string& program, std::vector<std::string> flags,
                                       const ClusterState& state) const {
  if (state.master_config.empty()) return absl::OkStatus();
  flags.insert(flags.begin(), program);
  flags.push_back("--check");
  const std::string log = Path("log/check.log");
  base::SpawnOptions spawn;
  spawn.argv = std::move(flags);
  spawn.cwd = data_dir_;
  spawn.env = MakeMemberEnvironment({});
  spawn.out = base::Redirect::File(log);
  spawn.err = base::Redirect::File(log);
  std::error_code error;
  fs::remove(log, error);
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child, base::Spawn(spawn));
  DET_ASSIGN_OR_RETURN(const base::ProcessExit exit, base::WaitForExit(child.pid));
  const std::string words = ReadLastMessage(log, "\n");  // one problem per line
  fs::remove(log, error);
  if (!exit.ok()) return absl::FailedPreconditionError(words);
  return CheckAddress(words, state.tls, state.master_config);
}

absl::Status LocalCluster::StartMaster(const std::string& program, int port,
                                       const ClusterOptions& options, LocalTls* tls, UpResult* up) {
  std::vector<std::string> flags = {"--data-dir", data_dir_, "--port", absl::StrCat(port)};
  const std::string& config = up->state.master_config;
  // Without --master-config, a file in /etc does not apply either.
  flags.insert(flags.end(), {"--config", config.empty() ? kNoFile : config});
  if (tls != nullptr) DET_RETURN_IF_ERROR(tls->AddMasterFlags(&flags));
  DET_RETURN_IF_ERROR(CheckConfig(program, flags, up->state));
  flags.push_back(up->state.allow_blank_passwords ? "--allow-blank-passwords" : "--make-passwords");
  // Passwords are not passed as flags, because all users can list those.
  std::vector<std::string> passwords;
  if (options.admin_password) {
    passwords.push_back(absl::StrCat("DET_ADMIN_PASSWORD=", *options.admin_password));
  }
  if (options.user_password) {
    passwords.push_back(absl::StrCat("DET_USER_PASSWORD=", *options.user_password));
  }
  return StartMember("master", program, std::move(flags), passwords, {}, up);
}

absl::Status LocalCluster::StartAgent(const std::string& id, const std::string& program, bool gpu,
                                      const LocalTls* tls, UpResult* up) {
  const ClusterState& state = up->state;
  std::vector<std::string> flags = {"--master",      state.url,
                                    "--id",          id,
                                    "--config-file", kNoFile,
                                    "--work-dir",    Path(absl::StrCat("agents/", id)),
                                    "--token-file",  Path("agent.token"),
                                    "--stop-tasks"};
  // An agent that is restarted keeps its GPUs, which its tasks may be using.
  const ClusterMember* before = state.Find(id);
  std::vector<std::string> gpus;
  if (before != nullptr && before->process.pid != 0) {
    gpus = before->gpus;
  } else if (gpu && state.slots > 0) {
    DET_ASSIGN_OR_RETURN(const std::vector<Accelerator> accelerators, ListAccelerators(program));
    DET_ASSIGN_OR_RETURN(gpus, AssignGpus(accelerators, state.members, id, state.slots));
  }
  if (gpus.empty()) {
    flags.insert(flags.end(), {"--slots", absl::StrCat(state.slots)});
  } else {
    flags.insert(flags.end(), {"--visible-gpus", absl::StrJoin(gpus, ",")});
  }
  if (tls != nullptr) DET_RETURN_IF_ERROR(tls->AddAgentFlags(id, &flags));
  return StartMember(id, program, std::move(flags), {}, gpus, up);
}

absl::Status LocalCluster::StartMember(const std::string& name, const std::string& program,
                                       std::vector<std::string> flags,
                                       const std::vector<std::string>& variables,
                                       const std::vector<std::string>& gpus, UpResult* up) {
  base::SpawnOptions spawn;
  spawn.env = MakeMemberEnvironment(variables);
  spawn.argv = std::move(flags);
  spawn.argv.insert(spawn.argv.begin(), program);
  spawn.group = base::ProcessGroup::kOwnSession;
  spawn.cwd = data_dir_;
  const std::string log = Path(absl::StrCat("log/", name, ".log"));
  // Each start has its own log, so that the last line belongs to it; the previous log is kept.
  std::error_code error;
  if (fs::exists(log, error)) fs::rename(log, absl::StrCat(log, ".1"), error);
  spawn.out = base::Redirect::File(log);
  spawn.err = base::Redirect::File(log);
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child, base::Spawn(spawn));
  // A process that has already exited is detected by the wait.
  const ClusterMember member = {name, FindProcess(child.pid).value_or(Process{child.pid, 0}), log,
                                gpus};
  std::erase_if(up->state.members, [&](const ClusterMember& each) { return each.name == name; });
  // The master is the first member.
  up->state.members.insert(name == "master" ? up->state.members.begin() : up->state.members.end(),
                           member);
  up->started.push_back(name);
  return WriteClusterFile(Path("cluster.json"), up->state);
}

absl::Status LocalCluster::CheckMember(const ClusterMember& member) const {
  DET_RETURN_IF_ERROR(CheckInterrupt());
  if (IsAlive(member.process)) return absl::OkStatus();
  const std::string words = ReadLastMessage(member.log, " | ");
  return absl::FailedPreconditionError(
      absl::StrCat("the ", member.name == "master" ? "master" : absl::StrCat("agent ", member.name),
                   " exited at startup: ", words.empty() ? "no error message" : words,
                   " (log: ", member.log, ")"));
}

absl::Status LocalCluster::AwaitMaster(ClusterState* state) {
  const ClusterMember& master = *state->Find("master");
  const absl::Time end = absl::Now() + kStartLimit;
  while (absl::Now() < end) {
    const auto text = base::ReadFile(Path("master.json"));
    // The file can be from an earlier start.
    if (text.ok() && GetMember(*text, "pid") == absl::StrCat(master.process.pid)) {
      state->url = GetMember(*text, "url").value_or("");
      return WriteClusterFile(Path("cluster.json"), *state);
    }
    DET_RETURN_IF_ERROR(CheckMember(master));
    WaitFor(-1, 0, kPollInterval).IgnoreError();
  }
  return absl::DeadlineExceededError(absl::StrCat("the master was not ready within ",
                                                  absl::FormatDuration(kStartLimit), "; see ",
                                                  master.log, " for the cause, fix it and retry"));
}

absl::Status LocalCluster::AwaitAgents(const ClusterState& state) {
  DET_ASSIGN_OR_RETURN(const std::string token, base::ReadFile(Path("admin.token")));
  const ApiClient api(state.url, std::string(absl::StripAsciiWhitespace(token)));
  const absl::Time end = absl::Now() + kStartLimit;
  while (absl::Now() < end) {
    api::v1::GetAgentsResponse agents;
    DET_RETURN_IF_ERROR(api.Call("AgentService.GetAgents", api::v1::GetAgentsRequest(), &agents));
    const int64_t connected = std::count_if(
        agents.agents().begin(), agents.agents().end(), [&](const api::v1::Agent& agent) {
          return agent.connected() && state.Find(agent.id()) != nullptr;
        });
    if (connected >= state.agents) return absl::OkStatus();
    for (const ClusterMember& member : state.members) DET_RETURN_IF_ERROR(CheckMember(member));
    WaitFor(-1, 0, kPollInterval).IgnoreError();
  }
  return absl::DeadlineExceededError(absl::StrCat("the agents did not register within ",
                                                  absl::FormatDuration(kStartLimit), "; see ",
                                                  Path("log"), " for the cause, fix it and retry"));
}

}  // namespace det::cli
