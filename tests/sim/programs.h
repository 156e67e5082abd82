// What runs inside the tasks: the rank on the first node trains in steps, reports, saves, yields to
// preemption, fails in many ways; the others wait for it and end with it.
//
// Owned by World. Talks to the master as the trial API does: a call is repeated until answered.
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

  // A process of the allocation has begun on the machine.
  void Begin(Machine& machine, const model::AllocationId& id);
  // The master tells those who watch an allocation.
  void Hear(const cluster::Effect& effect);
  // Every answered report must be in the rows, each metric once and as it was reported.
  void CheckAnswered();

 private:
  using Then = std::function<void()>;
  // One process: dead once its machine has none of that life.
  struct Rank {
    Machine* machine;
    model::AllocationId allocation;
    int64_t life;
    bool Lives() const { return machine->LifeOf(allocation) == life; }
  };

  void Watch(const Rank& rank);
  void OnNews(const Rank& rank, bool rendezvous, bool preempt);
  void Train(const Rank& rank, const experiment::Allocation& seen);
  void TrainStep(const Rank& rank, int64_t step);
  void Validate(const Rank& rank, int64_t step, const Then& then);
  void Save(const Rank& rank, int64_t step, const Then& then);
  void Yield(const Rank& rank);
  bool IsHeard(const Rank& rank) const;
  bool MayFail(const Rank& rank);
  void ExitAll(const model::AllocationId& id);
  void Call(const Rank& rank, const cluster::Event& event, const Then& then);
  // What a trial of a repeatable experiment reports, whatever happens to it; else chance.
  double Loss(const experiment::Trial& trial, int64_t step);
  int64_t StepsOf(const experiment::Trial& trial) const;
  void CheckMetrics(const experiment::Trial& trial);
  const experiment::Experiment& ExperimentOf(const experiment::Trial& trial) const;
  const experiment::Trial& TrialOf(const model::AllocationId& id) const;

  Stage& stage_;
  Master& master_;
  const std::vector<std::unique_ptr<Machine>>& machines_;
  std::set<int64_t> training_;   // by the life of the process
  std::set<int64_t> preempted_;  // told to yield
  std::set<model::CheckpointId> answered_;
  std::map<model::TrialId, std::set<int64_t>> validated_;  // steps, answered
};

// Its trials report the same for the same hyperparameters, and fail only with their machines: what
// its search decides must not depend on what else happens. Known by its creator's request.
bool IsRepeatable(const experiment::Experiment& experiment);
inline constexpr char kRepeatable[] = "repeatable";

}  // namespace det::sim

#endif  // TESTS_SIM_PROGRAMS_H_
