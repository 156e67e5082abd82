#include "trial_api/cpp/launch/launch.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/fd.h"
#include "base/file.h"
#include "trial_api/cpp/core/environment.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/trial_client.h"
#include "trial_api/cpp/launch/children.h"
#include "trial_api/cpp/launch/compile.h"
#include "trial_api/cpp/launch/rank_environment.h"
#include "trial_api/cpp/launch/unsent_reports.h"

namespace det::launch {
namespace {

namespace fs = std::filesystem;
using core::Node;
using core::TrialClient;

constexpr std::chrono::seconds kReportAfter(10);
// The trial ends anyway, so the launcher does not wait long for the master.
constexpr std::chrono::seconds kEarlyExitTimeout(30);

// The rendezvous, which arrives from the master while the trial is compiled.
class RendezvousWait {
 public:
  explicit RendezvousWait(TrialClient& client) : event_(::eventfd(0, EFD_CLOEXEC)) {
    TrialClient::Listener listener;
    listener.on_rendezvous = [this](const std::vector<Node>& nodes) { Notify(nodes, ""); };
    listener.on_end = [this](const std::string& why) { Notify({}, why); };
    watch_ = client.WatchAllocation(std::move(listener));
  }

  // Waits as long as the master wants this attempt, because the master may be unavailable.
  std::vector<Node> Get(Signals& signals) {
    const auto start = std::chrono::steady_clock::now();
    for (bool reported = false;;) {
      if (const std::optional<Answer> answer = FindAnswer()) {
        if (answer->nodes.empty()) throw Error("no rendezvous: " + answer->why);
        return answer->nodes;
      }
      if (!reported && std::chrono::steady_clock::now() - start >= kReportAfter) {
        std::fprintf(stderr, "INFO: waiting for the other nodes of this trial to start\n");
        reported = true;
      }
      signals.WaitOrStop(event_.get(), std::chrono::milliseconds(kReportAfter).count());
    }
  }

 private:
  struct Answer {
    std::vector<Node> nodes;
    std::string why;
  };

  void Notify(std::vector<Node> nodes, const std::string& why) {
    std::lock_guard lock(mutex_);
    if (answer_) return;
    answer_ = {std::move(nodes), why};
    ::eventfd_write(event_.get(), 1);
  }
  std::optional<Answer> FindAnswer() {
    std::lock_guard lock(mutex_);
    return answer_;
  }

  base::Fd event_;
  std::mutex mutex_;
  std::optional<Answer> answer_;  // guarded by mutex_
  std::unique_ptr<core::AllocationWatch> watch_;
};

CompileRequest MakeRequest(const Options& options, const std::string& context_dir,
                           const std::string& source, const std::string& cache_dir) {
  CompileRequest request;
  request.context_dir = context_dir;
  request.source = source;
  request.class_name = options.class_name;
  request.sdk_dir = options.sdk_dir;
  request.cache_dir = cache_dir;
  request.compiler = core::EnvOr("DET_CXX", request.compiler);
  request.more_compile_flags = core::EnvOr("DET_CXXFLAGS", "");
  request.more_link_flags = core::EnvOr("DET_LDFLAGS", "");
  return request;
}

std::vector<Child> MakeChildren(const std::vector<Ranks>& all, const std::vector<std::string>& argv,
                                const RankExtras& extras) {
  std::vector<Child> children;
  for (const Ranks& ranks : all) {
    Child child;
    child.argv = argv;
    child.env = RankEnvironment(ranks, extras);
    child.line_prefix = absl::StrCat("[rank=", ranks.rank, "] ");
    children.push_back(std::move(child));
  }
  return children;
}

// How the ranks ended: an exit code, and a description of the first failure, if a rank failed by
// itself.
struct RanksExit {
  int code = 0;
  std::string failure;
};

// Returns "killed by SIGKILL", or "exit code 1: its last line".
std::string DescribeFailure(const Outcome& outcome) {
  std::string words = absl::StrCat("exit code ", outcome.exit.code);
  if (const int signal = outcome.exit.signal; signal != 0) {
    const char* name = ::sigabbrev_np(signal);
    words = name == nullptr ? absl::StrCat("killed by signal ", signal)
                            : absl::StrCat("killed by SIG", name);
  }
  absl::string_view last = outcome.last_line;
  absl::ConsumePrefix(&last, "ERROR: ");
  if (!last.empty()) absl::StrAppend(&words, ": ", last);
  return words;
}

// Runs the ranks; prints to stderr how the first failed rank ended.
RanksExit RunRanks(const std::vector<Ranks>& ranks, const std::vector<std::string>& argv,
                   const RankExtras& extras, Signals& signals) {
  const Outcome outcome = RunChildren(MakeChildren(ranks, argv, extras), signals);
  if (!outcome.failed) return {};
  const int rank = ranks[*outcome.failed].rank;
  if (outcome.stop_signal) {
    std::fprintf(stderr, "INFO: stopped by signal %d\n", *outcome.stop_signal);
    return {outcome.exit.signal != 0 ? 128 + outcome.exit.signal : outcome.exit.code, ""};
  }
  const int signal = outcome.exit.signal;
  const RanksExit exit = {signal != 0 ? 128 + signal : outcome.exit.code,
                          absl::StrCat("rank ", rank, " failed: ", DescribeFailure(outcome))};
  std::fprintf(stderr, "ERROR: %s\n", exit.failure.c_str());
  return exit;
}

// Reports to the master what the exit code cannot express.
void Report(TrialClient::Options client_options, core::EarlyExit reason,
            const std::string& message) {
  try {
    client_options.retry_timeout = std::min<std::chrono::milliseconds>(
        client_options.retry_timeout.value_or(kEarlyExitTimeout), kEarlyExitTimeout);
    TrialClient(client_options).ReportEarlyExit(reason, message);
  } catch (const Error& e) {
    std::fprintf(stderr, "WARNING: %s\n", e.what());
  }
}

std::string LocalCacheDir() {
  const std::string home = core::EnvOr("HOME", "/tmp");
  return core::EnvOr("DET_CACHE_DIR",
                     core::EnvOr("XDG_CACHE_HOME", home + "/.cache") + "/resolute");
}

}  // namespace

int LaunchLocal(const Options& options, Signals& signals) {
  const fs::path source = fs::absolute(options.source);
  if (!fs::is_regular_file(source)) {
    throw Error(absl::StrCat("file ", options.source, " does not exist; check --source"));
  }
  std::vector<std::string> argv = {Compile(
      MakeRequest(options, source.parent_path(), source.filename(), LocalCacheDir()), signals)};
  argv.insert(argv.end(), options.trial_arguments.begin(), options.trial_arguments.end());
  const absl::StatusOr<base::TempDir> dir = base::TempDir::Create("det-rendezvous");
  if (!dir.ok()) throw Error(std::string(dir.status().message()));
  RankExtras extras;
  extras.rendezvous_dir = dir->path();
  extras.single_thread = true;
  const std::vector<Ranks> ranks = GetRanksOfNode({{"local", "", options.slots}}, "local");
  return RunRanks(ranks, argv, extras, signals).code;
}

int LaunchOnCluster(const Options& options, Signals& signals) {
  const TrialClient::Options client_options = core::ClientOptionsFromEnvironment();
  TrialClient client(client_options);
  std::optional<RendezvousWait> rendezvous(std::in_place, client);
  std::string program;
  try {
    program = Compile(
        MakeRequest(options, fs::current_path(), options.source, core::RequireEnv("DET_CACHE_DIR")),
        signals);
  } catch (const InvalidCode& e) {
    Report(client_options, core::EarlyExit::kInvalidCode, e.what());
    throw;
  }
  const std::vector<Node> nodes = rendezvous->Get(signals);
  rendezvous.reset();  // The ranks have their own streams.
  const std::vector<Ranks> ranks = GetRanksOfNode(nodes, core::RequireEnv("DET_AGENT_ID"));
  RankExtras extras;
  extras.node_address = nodes[ranks.front().cross_rank].address;
  extras.single_thread = core::EnvOr("DET_SLOT_TYPE", "cpu") == "cpu";
  const RanksExit exit = RunRanks(ranks, {program}, extras, signals);
  if (!exit.failure.empty()) Report(client_options, core::EarlyExit::kFailed, exit.failure);
  SendUnsentReports(client_options, signals);
  return exit.code;
}

}  // namespace det::launch
