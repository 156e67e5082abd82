// The programs in the tasks. The rank on the first node trains in steps, reports, saves
// checkpoints, reacts to preemption, and fails in various ways; the other ranks wait for it and
// exit with it.
//
// Owned by World. Calls the master as the Trial API does: a call is repeated until it gets a
// response.
#ifndef TESTS_SIM_PROGRAMS_H_
#define TESTS_SIM_PROGRAMS_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/sim/machine.h"
#include "tests/sim/master.h"
#include "tests/sim/stage.h"

namespace det::sim {

class Programs {
 public:
  Programs(Stage& stage, Master& master, const std::vector<std::unique_ptr<Machine>>& machines)
      : stage_(stage), master_(master), machines_(machines) {}

  // Called when a process of the allocation has started on the machine.
  void Begin(Machine& machine, const model::AllocationId& id);
  // Called with the effects for trials that watch an allocation.
  void HandleEffect(const cluster::Effect& effect);
  // Checks that every acknowledged report is in the rows exactly once and unchanged.
  void CheckAcknowledged();

 private:
  using Then = std::function<void()>;
  // A process; it has ended if its machine has no process with this ID.
  struct Rank {
    Machine* machine;
    model::AllocationId allocation;
    int64_t life;
    bool Lives() const { return machine->GetProcessId(allocation) == life; }
  };

  // Programs of tasks that are not trials.
  void BeginTask(const Rank& rank, const experiment::Task& task);
  void OnTaskPreempted(const Rank& rank);
  // The program of a task that may not run twice has not run before.
  void CheckFirstRun(const experiment::Task& task, const model::AllocationId& id);
  void Watch(const Rank& rank);
  void OnNews(const Rank& rank, bool rendezvous, bool preempt);
  void Train(const Rank& rank, const experiment::Allocation& seen);
  void TrainStep(const Rank& rank, int64_t step);
  void Validate(const Rank& rank, int64_t step, const Then& then);
  void Save(const Rank& rank, int64_t step, const Then& then);
  void Yield(const Rank& rank);
  bool IsCurrent(const Rank& rank) const;
  bool MayFail(const Rank& rank);
  void ExitAll(const model::AllocationId& id);
  void Call(const Rank& rank, const cluster::Event& event, const Then& then);
  // For a repeatable experiment a function of the trial and step, otherwise random.
  double ComputeLoss(const experiment::Trial& trial, int64_t step);
  int64_t GetSteps(const experiment::Trial& trial) const;
  void CheckMetrics(const experiment::Trial& trial);
  const experiment::Experiment& GetExperiment(const experiment::Trial& trial) const;
  const experiment::Trial& GetTrial(const model::AllocationId& id) const;

  Stage& stage_;
  Master& master_;
  const std::vector<std::unique_ptr<Machine>>& machines_;
  std::set<int64_t> training_;   // process IDs
  std::set<int64_t> preempted_;  // process IDs of preempted ranks
  std::set<model::CheckpointId> acknowledged_;
  std::map<model::TrialId, std::set<int64_t>> validated_;  // acknowledged steps
};

// Whether the trials of the experiment report the same metrics for the same hyperparameters and
// fail only if their machines fail, so that the decisions of its search must not depend on other
// events. Such experiments are recognized by the ID of the create request.
bool IsRepeatable(const experiment::Experiment& experiment);
inline constexpr char kRepeatable[] = "repeatable";

}  // namespace det::sim

#endif  // TESTS_SIM_PROGRAMS_H_
