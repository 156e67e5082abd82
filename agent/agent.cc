#include "agent/agent.h"

#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/core/supervisor.h"
#include "agent/driver/library_files.h"
#include "agent/driver/process_driver.h"
#include "agent/keeper/control_group.h"
#include "agent/link/context_cache.h"
#include "agent/link/log_shipper.h"
#include "agent/link/master_link.h"
#include "agent/parts.h"
#include "base/event_loop.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/uuid.h"

namespace det::agent {
namespace {

// How long the end of the agent waits for the master to acknowledge the last reports.
constexpr absl::Duration kAckPatience = absl::Seconds(3);

// Once, here: it is the same for every task.
std::string TasksGroup() {
  const absl::StatusOr<std::string> group = TakeDelegatedGroup();
  if (group.ok()) return *group;
  DET_LOG(WARNING) << "tasks are not held to the cpus and memory that they ask for"
                   << base::Field("reason", group.status().message());
  return "";
}

// Likewise.
LibraryPlaces TasksPlaces() {
  const absl::StatusOr<LibraryPlaces> places = PrepareLibraryPlaces();
  if (places.ok()) return *places;
  DET_LOG(WARNING)
      << "tasks have no /run/determined of their own, which programs need that use the "
         "existing library for tasks; run the agent as root for them"
      << base::Field("reason", places.status().message());
  return {};
}

class RealAgent final : public Agent, private LinkListener, private TaskListener {
 public:
  RealAgent(Parts parts, absl::AnyInvocable<void(absl::Status)> on_end)
      : options_(std::move(parts.options)),
        lock_(std::move(parts.lock)),
        host_(std::move(parts.host)),
        on_end_(std::move(on_end)),
        loop_(base::MakeAsioEventLoop("agent")),
        link_(MakeMasterLink({.masters = parts.masters,
                              .tls = options_.tls,
                              .agent_id = options_.id,
                              .token = options_.token,
                              .seed = std::random_device{}()},
                             loop_.get(), this)),
        contexts_(options_.work_dir + "/contexts", link_.get()),
        shipper_(loop_.get(), link_.get(), std::random_device{}(),
                 [this](const AllocationId& allocation, int64_t sequence) {
                   driver_->Delivered(allocation, sequence);
                 }),
        driver_(MakeProcessDriver({.work_dir = options_.work_dir,
                                   .keeper = options_.keeper,
                                   .spool_limit = options_.log_spool_limit,
                                   .group = TasksGroup(),
                                   .places = TasksPlaces(),
                                   .contexts = &contexts_,
                                   .listener = this})) {
    driver_->SetHost(host_);
    loop_->Post([this] { Begin(); });
  }

  ~RealAgent() override {
    loop_->Stop();  // From here on nobody calls the parts.
    driver_.reset();
    link_->Close();
    (void)::unlink(StateFile().c_str());
  }

  void Stop(bool stop_tasks) override {
    loop_->Post([this, stop_tasks] { End(absl::OkStatus(), stop_tasks); });
  }

 private:
  // ---- from the link, on the loop ----

  Registration OnConnecting() override {
    return {.agent_id = options_.id,
            .version = base::kVersion,
            .resource_pool = options_.resource_pool,
            .address = options_.address,
            .devices = host_.devices,
            .running = supervisor_.Running(),
            .incarnation = incarnation_,
            .cpus = options_.cpus,
            .memory = options_.memory,
            .network_switch = options_.network_switch,
            .labels = options_.labels};
  }

  void OnRegistered(const Registered& registered) override {
    host_.master_url = registered.master.Url();
    host_.master_host = registered.master.host;
    host_.master_port = registered.master.port;
    DET_LOG(INFO) << "registered" << base::Field("agent", options_.id)
                  << base::Field("master", host_.master_url)
                  << base::Field("cluster", registered.cluster_id)
                  << base::Field("slots", host_.devices.size());
    registered_ = true;
    outage_logged_ = false;
    id_in_use_since_ = absl::InfiniteFuture();
    host_.cluster_id = registered.cluster_id;
    driver_->SetHost(host_);
    const absl::Status written = base::WriteFileAtomically(
        StateFile(), absl::StrCat("{\"pid\": ", ::getpid(), ", \"id\": \"", options_.id,
                                  "\", \"registered\": true}\n"));
    if (!written.ok()) DET_LOG(WARNING) << written.message();
    for (const Report& report : supervisor_.Unacked()) link_->Send(report);
    shipper_.TryNow();
  }

  void OnOrder(const Event& order) override {
    // One that comes after all was stopped is not refused: the next agent gets it again.
    if (on_end_ != nullptr) Handle(order);
  }

  void OnShutdown(const std::string& reason) override {
    DET_LOG(ERROR) << "the master ends this agent: " << reason;
    End(absl::AbortedError(absl::StrCat("the master ended this agent: ", reason)),
        options_.stop_tasks);
  }

  void OnDisconnected(const absl::Status& why) override {
    const bool refused = absl::IsUnauthenticated(why) || absl::IsPermissionDenied(why);
    if (absl::IsAlreadyExists(why)) {
      OnIdInUse(why);
    } else if (refused && host_.cluster_id.empty()) {
      // One that is not about the token says itself what to do.
      const bool told = absl::StrContains(why.message(), "--");
      End(absl::Status(
              why.code(),
              absl::StrCat("the master at ", host_.masters, " refused this agent: ", why.message(),
                           told ? "" : "; give its agent token by --token-file")),
          options_.stop_tasks);
    } else if (!std::exchange(outage_logged_, true)) {
      DET_LOG(WARNING) << (registered_ ? "lost the master" : "cannot reach the master")
                       << "; trying again until it answers" << base::Field("master", host_.masters)
                       << base::Field("why", why.message());
    }
    if (!absl::IsAlreadyExists(why)) id_in_use_since_ = absl::InfiniteFuture();
    registered_ = false;
    EndIfDone();
  }

  void OnIdInUse(const absl::Status& why) {
    const absl::Time now = loop_->Now();
    if (id_in_use_since_ == absl::InfiniteFuture()) {
      id_in_use_since_ = now;
      DET_LOG(WARNING) << why.message()
                       << base::Field("asking_for", absl::FormatDuration(options_.id_patience));
    }
    if (now - id_in_use_since_ >= options_.id_patience) End(why, options_.stop_tasks);
  }

  // ---- from the driver, on its threads ----

  void OnStarted(const AllocationId& allocation, int pid) override {
    loop_->Post([this, allocation, pid] {
      DET_LOG(INFO) << "task started" << base::Field("allocation", allocation)
                    << base::Field("pid", pid);
      Handle(TaskStarted{allocation, pid});
    });
  }

  void OnOutput(const AllocationId& allocation, std::vector<OutputLine> lines) override {
    loop_->Post([this, allocation, lines = std::move(lines)]() mutable {
      shipper_.Add(allocation, std::move(lines));
    });
  }

  void OnExited(const AllocationId& allocation, const TaskExit& exit) override {
    loop_->Post([this, allocation, exit] {
      DET_LOG(INFO) << "task ended" << base::Field("allocation", allocation)
                    << base::Field("exit_code", exit.exit_code)
                    << base::Field("message", exit.message);
      if (exit.start_failed) Note(allocation, "cannot start the task: " + exit.message);
      Handle(TaskExited{allocation, exit});
    });
  }

  void OnOutputEnded(const AllocationId& allocation) override {
    loop_->Post([this, allocation] { shipper_.End(allocation); });
  }

  // ---- on the loop ----

  void Begin() {
    const absl::StatusOr<std::vector<RunningTask>> adopted = driver_->Adopt();
    if (!adopted.ok()) return End(adopted.status(), /*stop_tasks=*/false);
    for (const RunningTask& task : *adopted) {
      DET_LOG(INFO) << "task taken up" << base::Field("allocation", task.allocation);
      Handle(TaskAdopted{task.allocation, task.slots, task.fraction});
    }
    link_->Connect();
  }

  void Handle(const Event& event) {
    for (const Action& action : supervisor_.Apply(event, loop_->Now())) {
      std::visit([this](const auto& what) { Perform(what); }, action);
    }
    const absl::Time deadline = supervisor_.NextDeadline();
    if (deadline != deadline_) {
      if (timer_.has_value()) loop_->Cancel(*timer_);
      timer_.reset();
      deadline_ = deadline;
      if (deadline != absl::InfiniteFuture()) {
        timer_ = loop_->PostAt(deadline, [this] {
          timer_.reset();
          deadline_ = absl::InfiniteFuture();
          Handle(Tick{});
        });
      }
    }
    EndIfDone();
  }

  void Perform(const StartProcess& action) { driver_->Start(action.spec); }
  void Perform(const SignalProcess& action) { driver_->Signal(action.allocation, action.signal); }
  void Perform(const FlushLogs& action) {
    shipper_.Flush(action.allocation, [this, allocation = action.allocation] {
      loop_->Post([this, allocation] { Handle(LogsPosted{allocation}); });
    });
  }
  void Perform(const SendReport& action) { link_->Send(action.report); }
  void Perform(const ForgetTask& action) { driver_->Forget(action.allocation); }

  // A line of the agent's own in the task's log.
  void Note(const AllocationId& allocation, std::string text) {
    OutputLine line;
    line.time = loop_->Now();
    line.level = LogLevel::kError;
    line.stdtype = "stderr";
    line.source = "agent";
    line.text = std::move(text);
    line.sequence = std::numeric_limits<int64_t>::max();  // After all that the task may ever say.
    shipper_.Add(allocation, {std::move(line)});
  }

  void End(const absl::Status& why, bool stop_tasks) {
    if (on_end_ == nullptr) return;
    if (!stop_tasks && !stopping_) return std::exchange(on_end_, nullptr)(why);
    const absl::Duration grace = stopping_ ? absl::ZeroDuration() : options_.stop_grace;
    if (!std::exchange(stopping_, true)) {
      result_ = why;
      stop_deadline_ = loop_->Now() + grace + Supervisor::kLogPatience + kAckPatience;
      loop_->PostAt(stop_deadline_, [this] { EndIfDone(); });
    }
    Handle(StopAll{grace});
  }

  void EndIfDone() {
    if (!stopping_ || on_end_ == nullptr) return;
    // Without a master nobody takes lines and reports; they stay for the next agent.
    const bool done = registered_ ? supervisor_.Idle() && supervisor_.Unacked().empty()
                                  : !supervisor_.AnyProcess();
    if (!done && loop_->Now() < stop_deadline_) return;
    std::exchange(on_end_, nullptr)(result_);
  }

  std::string StateFile() const { return options_.work_dir + "/agent.json"; }

  const AgentOptions options_;
  const std::string incarnation_ = base::NewUuid();
  const base::Fd lock_;
  Host host_;
  Supervisor supervisor_;
  absl::AnyInvocable<void(absl::Status)> on_end_;
  bool registered_ = false;
  bool outage_logged_ = false;
  absl::Time id_in_use_since_ = absl::InfiniteFuture();
  bool stopping_ = false;
  absl::Status result_;
  absl::Time stop_deadline_ = absl::InfiniteFuture();
  absl::Time deadline_ = absl::InfiniteFuture();
  std::optional<base::TimerId> timer_;

  const std::unique_ptr<base::EventLoop> loop_;
  const std::unique_ptr<MasterLink> link_;
  ContextCache contexts_;
  LogShipper shipper_;
  std::unique_ptr<ProcessDriver> driver_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(const AgentOptions& options,
                                                    absl::AnyInvocable<void(absl::Status)> on_end) {
  DET_ASSIGN_OR_RETURN(Parts parts, Prepare(options));
  return std::make_unique<RealAgent>(std::move(parts), std::move(on_end));
}

}  // namespace det::agent
