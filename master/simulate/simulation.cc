#include "master/simulate/simulation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/cluster/cluster.h"

namespace det::simulate {
namespace {

// An arbitrary start time, a Monday.
const absl::Time kBegin = absl::FromUnixSeconds(1'767'571'200);
// More passes at one time, or without a start while nothing runs, indicate a bug.
constexpr int kMaxPasses = 10'000;

// A timed event. Events at the same time are handled in the order of their creation.
struct Arrive {
  size_t job;
};
struct Finish {
  model::AllocationId run;
};
struct Save {
  model::AllocationId run;
};
struct Deadline {
  model::AllocationId run;
};
struct RetryPass {};
using Action = std::variant<Arrive, Finish, Save, Deadline, RetryPass>;

struct Due {
  absl::Time at;
  int64_t order;
  Action action;
  friend bool operator>(const Due& a, const Due& b) {
    return std::pair(a.at, a.order) > std::pair(b.at, b.order);
  }
};

std::shared_ptr<model::ExperimentConfig> MakeConfig(const Job& job, size_t number) {
  auto config = std::make_shared<model::ExperimentConfig>();
  config->name = absl::StrCat("job ", number);
  config->entrypoint = "train";
  config->searcher.name = "single";
  config->searcher.metric = "loss";
  config->checkpoint_storage.host_path = "/checkpoints";
  config->workspace = job.workspace;
  config->resources.slots_per_trial = job.slots;
  config->resources.priority = job.priority;
  config->resources.weight = job.weight;
  config->resources.resource_pool = job.pool;
  if (job.max_run_time) {
    config->resources.max_run_time =
        absl::ToInt64Seconds(absl::Ceil(*job.max_run_time, absl::Seconds(1)));
  }
  return config;
}

cluster::Settings MakeSettings(const Options& options) {
  cluster::Settings settings{.cluster_id = "simulated"};
  std::set<std::string> names;
  for (const AgentGroup& group : options.agents) {
    if (!names.insert(group.pool).second) continue;
    settings.pools.push_back(options.settings);
    settings.pools.back().name = group.pool;
  }
  settings.default_compute_pool = options.agents[0].pool;
  settings.default_aux_pool = options.agents[0].pool;
  return settings;
}

class World {
 public:
  World(const Workload& workload, const Options& options)
      : workload_(workload), options_(options), cluster_(MakeSettings(options)) {
    result_.jobs.resize(workload.size());
    for (const Job& job : workload) left_.push_back(job.length);
    for (const Job& job : workload) queued_since_.push_back(kBegin + job.arrival);
  }

  absl::StatusOr<Simulation> Run() {
    DET_RETURN_IF_ERROR(AddAgents());
    for (size_t i = 0; i < workload_.size(); ++i) Plan(kBegin + workload_[i].arrival, Arrive{i});
    int idle_passes = 0;
    while (!due_.empty() && ended_ < workload_.size() && idle_passes < kMaxPasses) {
      now_ = due_.top().at;
      const bool idle = runs_.empty() && std::holds_alternative<RetryPass>(due_.top().action);
      idle_passes = idle ? idle_passes + 1 : 0;
      while (!due_.empty() && due_.top().at == now_) {
        const Action action = due_.top().action;
        due_.pop();
        DET_RETURN_IF_ERROR(std::visit([&](const auto& a) { return Do(a); }, action));
      }
      DET_RETURN_IF_ERROR(Schedule());
    }
    RecordWaitReasons();
    return std::move(result_);
  }

 private:
  // A start of a job that has not ended.
  struct RunState {
    size_t job = 0;
    std::vector<model::AgentId> agents;
    std::optional<absl::Time> began;
    std::optional<absl::Time> deadline;
  };

  void Plan(absl::Time at, Action action) { due_.push({at, ++planned_, std::move(action)}); }

  absl::Status AddAgents() {
    now_ = kBegin;
    int number = 0;
    for (const AgentGroup& group : options_.agents) {
      for (int i = 0; i < group.agents; ++i) {
        cluster::AgentRegistered event;
        event.agent.id = model::AgentId(absl::StrCat("agent-", ++number));
        event.agent.address = event.agent.id.value();
        event.agent.resource_pool = group.pool;
        for (int slot = 0; slot < group.slots; ++slot) {
          event.agent.slots.push_back(
              {.id = slot, .type = model::DeviceType::kCuda, .brand = "GPU", .uuid = ""});
        }
        DET_RETURN_IF_ERROR(Apply(event));
      }
    }
    return absl::OkStatus();
  }

  // Like the engine, combines several requests to one pass after all events of this time.
  absl::Status Schedule() {
    for (int passes = 0; schedule_soon_; ++passes) {
      if (passes == kMaxPasses) return absl::InternalError("the scheduler does not converge");
      schedule_soon_ = false;
      ++result_.passes;
      DET_RETURN_IF_ERROR(Apply(cluster::ScheduleTick{}));
    }
    return absl::OkStatus();
  }

  // ---- timed events ----

  absl::Status Do(const Arrive& arrive) {
    const Job& job = workload_[arrive.job];
    cluster::CreateExperiment event;
    event.config = MakeConfig(job, arrive.job + 1);
    event.owner_name = job.user;
    arriving_ = arrive.job;
    const absl::Status applied = Apply(event);
    if (applied.ok()) return absl::OkStatus();
    JobRecord& record = result_.jobs[arrive.job];
    record.why = std::string(applied.message());
    ++ended_;
    return absl::OkStatus();
  }

  absl::Status Do(const Finish& finish) {
    const auto run = runs_.find(finish.run.value());
    if (run == runs_.end()) return absl::OkStatus();
    left_[run->second.job] = absl::ZeroDuration();
    result_.jobs[run->second.job].runs.back().end = now_ - kBegin;
    return Exit(finish.run, 0, 0);
  }

  absl::Status Do(const Save& save) {
    const auto run = runs_.find(save.run.value());
    if (run == runs_.end()) return absl::OkStatus();
    cluster::CheckpointReported event;
    event.allocation = save.run;
    event.checkpoint.id = model::CheckpointId(absl::StrCat("checkpoint-", ++saved_));
    event.checkpoint.allocation = save.run;
    const experiment::Trial* trial = GetTrial(save.run);
    if (trial == nullptr) return absl::OkStatus();
    event.checkpoint.trial = trial->id;
    event.checkpoint.steps_completed = saved_;
    Plan(now_ + options_.checkpoint_every, save);
    return Apply(event);
  }

  absl::Status Do(const Deadline& deadline) {
    const auto run = runs_.find(deadline.run.value());
    if (run == runs_.end() || run->second.deadline != now_) return absl::OkStatus();
    return Apply(cluster::AllocationDeadline{deadline.run});
  }

  absl::Status Do(const RetryPass&) {
    if (look_again_ == now_) schedule_soon_ = true;
    return absl::OkStatus();
  }

  // ---- effects of the cluster ----

  absl::Status Apply(const cluster::Event& event) {
    ++result_.events;
    DET_ASSIGN_OR_RETURN(cluster::Outcome outcome, cluster_.Apply(event, now_));
    if (outcome.created) job_of_[outcome.created->value()] = arriving_;
    for (const cluster::Change& change : outcome.changes) {
      if (const auto* put = std::get_if<cluster::PutTrial>(&change)) RecordTrialState(put->trial);
    }
    for (cluster::Effect& effect : outcome.effects) effects_.push_back(std::move(effect));
    if (working_) return absl::OkStatus();
    // Without recursion: new effects are handled after the existing ones.
    working_ = true;
    absl::Status status;
    while (status.ok() && !effects_.empty()) {
      const cluster::Effect effect = std::move(effects_.front());
      effects_.pop_front();
      status = std::visit([&](const auto& e) { return Do(e); }, effect);
    }
    working_ = false;
    return status;
  }

  // A job ends with its trial.
  void RecordTrialState(const experiment::Trial& trial) {
    if (!model::IsTerminal(trial.state)) return;
    JobRecord& record = result_.jobs[job_of_.at(trial.experiment.value())];
    record.completed = trial.state == model::TrialState::kCompleted;
    if (!record.completed) record.why = trial.reason;
    ++ended_;
  }

  absl::Status Do(const cluster::StartTask& start) {
    const model::AllocationId& id = start.spec.allocation;
    const experiment::Trial* trial = GetTrial(id);
    if (trial == nullptr) return absl::OkStatus();
    RunState& run = runs_[id.value()];
    run.job = job_of_.at(trial->experiment.value());
    run.agents.push_back(start.agent);
    return Apply(cluster::LocalTaskStarted{id, start.agent});
  }

  // All of its local tasks have started.
  absl::Status Do(const cluster::AnnounceRendezvous& announce) {
    const auto it = runs_.find(announce.allocation.value());
    if (it == runs_.end() || it->second.began) return absl::OkStatus();
    RunState& run = it->second;
    run.began = now_;
    JobRecord& record = result_.jobs[run.job];
    record.waited += now_ - queued_since_[run.job];
    record.runs.push_back({now_ - kBegin, now_ - kBegin + left_[run.job]});
    Plan(now_ + left_[run.job], Finish{announce.allocation});
    // Without preemption, checkpoints do not matter.
    if (options_.settings.preemption) {
      Plan(now_ + options_.checkpoint_every, Save{announce.allocation});
    }
    return absl::OkStatus();
  }

  // It exits at once with its last checkpoint; a job that is not preemptible is stopped later.
  absl::Status Do(const cluster::AnnouncePreemption& announce) {
    const auto run = runs_.find(announce.allocation.value());
    if (run == runs_.end() || !workload_[run->second.job].preemptible) return absl::OkStatus();
    Interrupt(announce.allocation, run->second);
    DET_RETURN_IF_ERROR(Apply(cluster::PreemptionAcked{announce.allocation}));
    return Exit(announce.allocation, 0, 0);
  }

  absl::Status Do(const cluster::StopTask& stop) {
    const auto run = runs_.find(stop.allocation.value());
    if (run == runs_.end()) return absl::OkStatus();
    Interrupt(stop.allocation, run->second);
    return Exit(stop.allocation, 0, 9);
  }

  absl::Status Do(const cluster::SetDeadline& deadline) {
    const auto run = runs_.find(deadline.allocation.value());
    if (run == runs_.end()) return absl::OkStatus();
    run->second.deadline = deadline.at;
    Plan(deadline.at, Deadline{deadline.allocation});
    return absl::OkStatus();
  }

  absl::Status Do(const cluster::CloseAllocation& close) {
    runs_.erase(close.allocation.value());
    return absl::OkStatus();
  }

  absl::Status Do(const cluster::ScheduleSoon&) {
    schedule_soon_ = true;
    return absl::OkStatus();
  }

  absl::Status Do(const cluster::SetScheduleTimer& timer) {
    look_again_ = timer.at;
    Plan(timer.at, RetryPass{});
    return absl::OkStatus();
  }

  // The simulation has no quotas, maintenance or watchers.
  absl::Status Do(const cluster::SetCalendarTimer&) { return absl::OkStatus(); }
  absl::Status Do(const cluster::QueueChanged&) { return absl::OkStatus(); }
  absl::Status Do(const cluster::ExperimentChanged&) { return absl::OkStatus(); }
  absl::Status Do(const cluster::TaskChanged&) { return absl::OkStatus(); }
  absl::Status Do(const cluster::CollectGarbageSoon&) { return absl::OkStatus(); }
  absl::Status Do(const cluster::DeliverWebhooksSoon&) { return absl::OkStatus(); }

  // Returns the trial of a live allocation; nullptr if it has ended.
  const experiment::Trial* GetTrial(const model::AllocationId& id) const {
    const experiment::Allocation* allocation = cluster_.FindAllocation(id);
    return allocation == nullptr ? nullptr : cluster_.FindTrial(allocation->trial);
  }

  // Accounts for a run that ends before its job does.
  void Interrupt(const model::AllocationId& id, const RunState& run) {
    queued_since_[run.job] = now_;
    if (!run.began) return;
    JobRecord& record = result_.jobs[run.job];
    const absl::Duration ran = now_ - *run.began;
    record.runs.back().end = now_ - kBegin;
    const experiment::Trial* trial = GetTrial(id);
    // A run that exceeds its max_run_time saves its work and does not count as preempted.
    if (trial == nullptr || trial->state == model::TrialState::kStopping) return;
    const absl::Duration kept = absl::Floor(ran, options_.checkpoint_every);
    left_[run.job] -= kept;
    record.runs.back().lost = ran - kept;
    record.lost += ran - kept;
    ++record.preemptions;
  }

  absl::Status Exit(const model::AllocationId& id, int code, int signal) {
    // A copy: the run is removed with its last local task.
    const std::vector<model::AgentId> agents = std::move(runs_.at(id.value()).agents);
    runs_.erase(id.value());
    for (const model::AgentId& agent : agents) {
      cluster::LocalTaskExited event{.allocation = id, .agent = agent, .message = ""};
      event.exit_code = code;
      event.signal = signal;
      DET_RETURN_IF_ERROR(Apply(event));
    }
    return absl::OkStatus();
  }

  void RecordWaitReasons() {
    for (const experiment::Allocation* allocation : cluster_.live_allocations()) {
      const experiment::Trial* trial = cluster_.FindTrial(allocation->trial);
      JobRecord& record = result_.jobs[job_of_.at(trial->experiment.value())];
      const auto reason = cluster_.FindWaitReason(allocation->id);
      record.why = reason ? reason->text : "it never started";
    }
  }

  const Workload& workload_;
  const Options& options_;
  cluster::Cluster cluster_;
  absl::Time now_ = kBegin;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  int64_t planned_ = 0;
  std::deque<cluster::Effect> effects_;
  bool working_ = false;
  bool schedule_soon_ = false;
  std::optional<absl::Time> look_again_;
  std::unordered_map<int32_t, size_t> job_of_;  // by experiment
  size_t arriving_ = 0;
  std::unordered_map<std::string, RunState> runs_;
  std::vector<absl::Duration> left_;      // remaining work of each job after its last checkpoint
  std::vector<absl::Time> queued_since_;  // of each job
  int64_t saved_ = 0;
  size_t ended_ = 0;
  Simulation result_;
};

absl::Status CheckPools(const Workload& workload, const Options& options) {
  std::set<std::string> pools;
  for (const AgentGroup& group : options.agents) pools.insert(group.pool);
  if (pools.empty()) return absl::InvalidArgumentError("there are no agents");
  for (size_t i = 0; i < workload.size(); ++i) {
    if (workload[i].pool.empty() || pools.contains(workload[i].pool)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("job ", i + 1, " requires pool \"", workload[i].pool,
                     "\", which has no agents; add some with --agents 4x8:", workload[i].pool));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Simulation> Simulate(const Workload& workload, const Options& options) {
  DET_RETURN_IF_ERROR(CheckPools(workload, options));
  return World(workload, options).Run();
}

}  // namespace det::simulate
