// The whole truth in memory and the one function that changes it. A router: each event goes to the
// machine that owns it; logic lives in experiment/, searcher/, scheduler/.
//
// Owned by engine::Engine and touched on its loop alone. Never does I/O, reads no clock. PURE.
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
  // Of the configuration file.
  std::vector<model::ResourcePool> pools;
  std::vector<model::Quota> quotas;
  std::string default_compute_pool = "default";  // of trials with slots that name no pool
  std::string default_aux_pool = "default";      // of those without slots
  friend bool operator==(const Settings&, const Settings&) = default;
};

// A resource pool, and who defined it: the configuration file, a request, or nobody (agents name
// it).
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

  // Rebuilds memory from what was committed. INTERNAL when rows contradict each other.
  absl::Status Restore(Image image);

  // The only way to change anything. A refusal (any error Status) changes nothing. A late or
  // repeated fact is OK with an empty outcome.
  absl::StatusOr<Outcome> Apply(const Event& event, absl::Time now);

  // Every effect that the present state still calls for; used after Restore. With an agent: only
  // what concerns that agent. AgentRegistered's outcome holds it already.
  std::vector<Effect> Regenerate() const;
  std::vector<Effect> RegenerateFor(const model::AgentId& agent) const;

  // Reads, for engine::Engine::Query. Pointers live until the next Apply.
  const experiment::Experiment* FindExperiment(model::ExperimentId id) const;
  const searcher::Searcher* FindSearcher(model::ExperimentId id) const;
  const experiment::Trial* FindTrial(model::TrialId id) const;
  const experiment::Allocation* FindAllocation(const model::AllocationId& id) const;
  const std::map<model::AgentId, model::Agent>& agents() const;
  // What people have decided about agents; absent: nothing.
  const std::map<model::AgentId, model::AgentState>& agent_states() const;
  std::vector<const experiment::Allocation*> live_allocations() const;
  std::vector<const experiment::Allocation*> live_allocations(model::ExperimentId id) const;
  bool HasAllocations(model::ExperimentId id) const;  // live ones
  std::vector<const experiment::Experiment*> live_experiments() const;
  // Why a queued allocation waits, as of the last ScheduleTick.
  std::optional<scheduler::WaitReason> FindWaitReason(const model::AllocationId& id) const;
  // Whether it started past one that goes before it in its pool, by this master.
  bool IsBackfilled(const model::AllocationId& id) const;
  std::vector<KnownPool> pools() const;        // by name
  const std::string& default_compute() const;  // pool of who names none and needs slots
  const std::string& default_aux() const;      // and of who needs none
  // By scope and name; with what is used of them, as of the last event.
  std::vector<scheduler::Limit> limits() const;
  const scheduler::Scheduler& scheduler() const;

  // INTERNAL where the scheduler was told something else than what is so. For tests.
  absl::Status CheckScheduler() const;

  // Memory as an Image, each searcher as a snapshot without a journal; what a Restore of the
  // committed rows dumps is equal. For tests.
  Image Dump() const;

  // Of this folder's sources alone: its members stand in state.h.
  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_CLUSTER_H_
