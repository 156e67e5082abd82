#include "agent/agent.h"

#include <limits>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/agent_setup.h"
#include "agent/core/supervisor.h"
#include "agent/driver/library_files.h"
#include "agent/driver/process_driver.h"
#include "agent/keeper/control_group.h"
#include "agent/link/context_cache.h"
#include "agent/link/log_shipper.h"
#include "agent/link/master_link.h"
#include "base/event_loop.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/machine_id.h"
#include "base/status_macros.h"
#include "base/uuid.h"

namespace det::agent {
namespace {

// How long the end of the agent waits for the master to acknowledge the last reports.
constexpr absl::Duration kAckTimeout = absl::Seconds(3);

// Called once, because the control group is the same for all tasks.
std::string PrepareTaskGroup() {
  const absl::StatusOr<std::string> group = TakeDelegatedGroup();
  if (group.ok()) return *group;
  DET_LOG(WARNING) << "CPU and memory limits of tasks are not enforced"
                   << base::Field("reason", group.status().message());
  return "";
}

// Called once, because the mount points are the same for all tasks.
LibraryMountPoints PrepareTaskMountPoints() {
  const absl::StatusOr<LibraryMountPoints> mount_points = PrepareLibraryMountPoints();
  if (mount_points.ok()) return *mount_points;
  DET_LOG(WARNING) << "tasks have no private /run/determined, which programs that use the "
                      "determined library need; run the agent as root to provide it"
                   << base::Field("reason", mount_points.status().message());
  return {};
}

class RealAgent final : public Agent, private LinkListener, private TaskListener {
 public:
  RealAgent(AgentSetup setup, absl::AnyInvocable<void(absl::Status)> on_end)
      : options_(std::move(setup.options)),
        lock_(std::move(setup.lock)),
        host_(std::move(setup.host)),
        on_end_(std::move(on_end)),
        loop_(base::MakeAsioEventLoop("agent")),
        link_(MakeMasterLink({.masters = setup.masters,
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
                                   .runner = options_.runner,
                                   .spool_limit = options_.log_spool_limit,
                                   .group = PrepareTaskGroup(),
                                   .mount_points = PrepareTaskMountPoints(),
                                   .contexts = &contexts_,
                                   .listener = this})) {
    driver_->SetHost(host_);
    loop_->Post([this] { StartUp(); });
  }

  ~RealAgent() override {
    loop_->Stop();  // From here on, nothing calls the components.
    driver_.reset();
    link_->Close();
    (void)::unlink(StateFile().c_str());
  }

  void Stop(bool stop_tasks) override {
    loop_->Post([this, stop_tasks] { End(absl::OkStatus(), stop_tasks); });
  }

 private:
  // ---- Called by the link, on the loop. ----

  Registration OnConnecting() override {
    return {.agent_id = options_.id,
            .version = base::kVersion,
            .resource_pool = options_.resource_pool,
            .address = options_.address,
            .devices = host_.devices,
            .running = supervisor_.GetRunningTasks(),
            .incarnation = incarnation_,
            .cpus = options_.cpus,
            .memory = options_.memory,
            .network_switch = options_.network_switch,
            .labels = options_.labels,
            .machine_id = base::GetMachineId()};
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
    for (const Report& report : supervisor_.unacknowledged()) link_->Send(report);
    shipper_.RetryNow();
  }

  void OnOrder(const Event& order) override {
    // After all tasks were stopped, orders are ignored, not rejected: the next agent receives them
    // again.
    if (on_end_ != nullptr) Handle(order);
  }

  void OnShutdown(const std::string& reason) override {
    DET_LOG(ERROR) << "the master requested the shutdown of this agent: " << reason;
    End(absl::AbortedError(absl::StrCat("the master shut down this agent: ", reason)),
        options_.stop_tasks);
  }

  void OnDisconnected(const absl::Status& why) override {
    const bool refused = absl::IsUnauthenticated(why) || absl::IsPermissionDenied(why);
    if (absl::IsAlreadyExists(why)) {
      OnIdInUse(why);
    } else if (refused && host_.cluster_id.empty()) {
      // An error that names a flag already says what to do.
      const bool names_flag = absl::StrContains(why.message(), "--");
      End(absl::Status(
              why.code(),
              absl::StrCat("the master at ", host_.masters, " rejected this agent: ", why.message(),
                           names_flag ? "" : "; set the agent token with --token-file")),
          options_.stop_tasks);
    } else if (!std::exchange(outage_logged_, true)) {
      DET_LOG(WARNING) << (registered_ ? "lost the connection to the master"
                                       : "cannot reach the master")
                       << "; retrying" << base::Field("master", host_.masters)
                       << base::Field("reason", why.message());
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
                       << base::Field("retrying_for",
                                      absl::FormatDuration(options_.id_in_use_timeout));
    }
    if (now - id_in_use_since_ >= options_.id_in_use_timeout) End(why, options_.stop_tasks);
  }

  // ---- Called by the driver, on its threads. ----

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
      DET_LOG(INFO) << "task exited" << base::Field("allocation", allocation)
                    << base::Field("exit_code", exit.exit_code)
                    << base::Field("message", exit.message);
      if (exit.start_failed) AddAgentLine(allocation, "cannot start the task: " + exit.message);
      Handle(TaskExited{allocation, exit});
    });
  }

  void OnOutputEnded(const AllocationId& allocation) override {
    loop_->Post([this, allocation] { shipper_.End(allocation); });
  }

  // ---- On the loop. ----

  void StartUp() {
    const absl::StatusOr<std::vector<RunningTask>> adopted = driver_->Adopt();
    if (!adopted.ok()) return End(adopted.status(), /*stop_tasks=*/false);
    for (const RunningTask& task : *adopted) {
      DET_LOG(INFO) << "reattached to running task" << base::Field("allocation", task.allocation);
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

  // Adds a line of the agent to the task's log.
  void AddAgentLine(const AllocationId& allocation, std::string text) {
    OutputLine line;
    line.time = loop_->Now();
    line.level = LogLevel::kError;
    line.stdtype = "stderr";
    line.source = "agent";
    line.text = std::move(text);
    // Greater than the number of any line of the task.
    line.sequence = std::numeric_limits<int64_t>::max();
    shipper_.Add(allocation, {std::move(line)});
  }

  void End(const absl::Status& why, bool stop_tasks) {
    if (on_end_ == nullptr) return;
    if (!stop_tasks && !stopping_) return std::exchange(on_end_, nullptr)(why);
    const absl::Duration grace = stopping_ ? absl::ZeroDuration() : options_.stop_grace;
    if (!std::exchange(stopping_, true)) {
      result_ = why;
      stop_deadline_ = loop_->Now() + grace + Supervisor::kLogTimeout + kAckTimeout;
      loop_->PostAt(stop_deadline_, [this] { EndIfDone(); });
    }
    Handle(StopAll{grace});
  }

  void EndIfDone() {
    if (!stopping_ || on_end_ == nullptr) return;
    // Without a connection, lines and reports cannot be delivered; the next agent delivers them.
    const bool done = registered_ ? supervisor_.IsIdle() && supervisor_.unacknowledged().empty()
                                  : !supervisor_.HasProcesses();
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
  DET_ASSIGN_OR_RETURN(AgentSetup setup, PrepareAgent(options));
  return std::make_unique<RealAgent>(std::move(setup), std::move(on_end));
}

}  // namespace det::agent
