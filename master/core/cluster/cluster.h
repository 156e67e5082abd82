// The state of all live experiments, agents and pools in memory, and the one function that changes
// it. A router: each event is handled by the component that owns it; the logic is in experiment/,
// searcher/ and scheduler/.
//
// Owned by engine::Engine and accessed only on its loop. Does no I/O and reads no clock. PURE.
#ifndef MASTER_CORE_CLUSTER_CLUSTER_H_
#define MASTER_CORE_CLUSTER_CLUSTER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/cluster/event.h"
#include "master/core/cluster/image.h"
#include "master/core/cluster/outcome.h"
#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/scheduler.h"
#include "master/core/searcher/searcher.h"

namespace det::cluster {

// Facts about the installation that decisions need.
struct Settings {
  std::string cluster_id;
  absl::Duration stop_grace = absl::Seconds(15);  // between SIGTERM and SIGKILL
  // The values of the configuration file.
  std::vector<model::ResourcePool> pools;
  std::vector<model::Quota> quotas;
  std::string default_compute_pool = "default";  // for trials with slots that name no pool
  std::string default_aux_pool = "default";      // for trials without slots that name no pool
  // Whether an experiment that requests more than its pool has is refused; otherwise it waits.
  bool launch_error = true;
  friend bool operator==(const Settings&, const Settings&) = default;
};

// A resource pool and where it was defined: in the configuration file, by a request, or nowhere
// (only agents name it).
struct KnownPool {
  enum class Source { kFile, kRuntime, kAgents };
  model::ResourcePool pool;
  Source source = Source::kFile;
};

class Cluster {
 public:
  explicit Cluster(Settings settings);
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  ~Cluster();

  // Rebuilds memory from the committed rows. INTERNAL if rows contradict each other.
  absl::Status Restore(Image image);

  // Applies an event; the only way to change the state. An error changes nothing. A late or
  // repeated fact returns OK with an empty outcome.
  absl::StatusOr<Outcome> Apply(const Event& event, absl::Time now);

  // Returns every effect that the current state still requires; used after Restore. With an agent,
  // only the effects that concern that agent; the outcome of AgentRegistered includes them.
  std::vector<Effect> Regenerate() const;
  std::vector<Effect> Regenerate(const model::AgentId& agent) const;

  // Reads, for engine::Engine::Query. Pointers are valid until the next Apply.
  const experiment::Experiment* FindExperiment(model::ExperimentId id) const;
  const searcher::Searcher* FindSearcher(model::ExperimentId id) const;
  const experiment::Trial* FindTrial(model::TrialId id) const;
  const experiment::Task* FindTask(const model::TaskId& id) const;  // not of a trial
  const experiment::Allocation* FindAllocation(const model::AllocationId& id) const;
  const std::map<model::AgentId, model::Agent>& agents() const;
  // The administrative states of agents (disabled, draining, maintenance); absent: enabled.
  const std::map<model::AgentId, model::AgentState>& agent_states() const;
  std::vector<const experiment::Allocation*> live_allocations() const;
  std::vector<const experiment::Allocation*> live_allocations(model::ExperimentId id) const;
  bool HasAllocations(model::ExperimentId id) const;  // live ones
  std::vector<const experiment::Experiment*> live_experiments() const;
  std::vector<const experiment::Task*> live_tasks() const;  // not trials; by id
  // Returns why a queued allocation waits, as of the last ScheduleTick.
  std::optional<scheduler::WaitReason> FindWaitReason(const model::AllocationId& id) const;
  // Whether this master started the allocation ahead of a higher-ranked one of its pool (backfill).
  bool IsBackfilled(const model::AllocationId& id) const;
  std::vector<KnownPool> pools() const;        // by name
  const std::string& default_compute() const;  // the pool for tasks with slots that name none
  const std::string& default_aux() const;      // the pool for tasks without slots that name none
  // The quotas by scope and name, with their usage as of the last event.
  std::vector<scheduler::Limit> limits() const;
  const scheduler::Scheduler& scheduler() const;

  // INTERNAL if the scheduler's copy of the state differs from the state. For tests.
  absl::Status CheckScheduler() const;

  // Returns the state as an Image, each searcher as a snapshot without a journal. Equals the Dump
  // of a cluster that was restored from the committed rows. For tests.
  Image Dump() const;

  // Private to this folder; defined in state.h.
  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_CLUSTER_H_
