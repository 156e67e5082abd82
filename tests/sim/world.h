// A whole cluster in virtual time: masters that commit in groups and crash, agents whose streams
// break and whose machines fail, programs that train, fail and are preempted, and users who create
// and change experiments. Each seed gives one history. After a while the faults stop, all
// components return, and all work must end.
//
// Single-threaded; does not sleep.
#ifndef TESTS_SIM_WORLD_H_
#define TESTS_SIM_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/sim/machine.h"
#include "tests/sim/master.h"
#include "tests/sim/programs.h"
#include "tests/sim/searches.h"
#include "tests/sim/stage.h"

namespace det::sim {

class World {
 public:
  enum class Kind {
    kTroubled,
    kUndisturbed,  // only the repeatable experiments of the seed, without faults
  };
  explicit World(uint64_t seed, Kind kind = Kind::kTroubled, bool verbose = false);

  // Runs until all work has ended. Returns INTERNAL with the violated invariant and the time.
  absl::Status Run();
  const Counts& counts() const { return stage_.counts; }
  uint64_t digest() const { return stage_.Digest(); }
  // The decisions of the search of the repeatable experiment; empty if the seed has none.
  std::string decisions() const;

 private:
  void Plan();
  void PlanRepeatable();
  void PlanMachines();
  void Create(const std::shared_ptr<const model::ExperimentConfig>& config,
              const std::string& request);
  void CreateTask();
  void SendRequest(const cluster::Event& request, const Master::Reply& reply);
  void ActAsUser();
  // Whether a user may end the experiment, which is not allowed if its search will be compared.
  bool MayEnd(model::ExperimentId id) const;
  cluster::Event ActAsOperator();
  void UndoOperatorActions();
  void InjectFault();
  void CalmDown();
  void KillTasks();
  bool AllEnded() const;
  void CheckEnd();
  // Prints the work that has not ended, to debug a history that does not end.
  void RecordPendingWork() const;

  const uint64_t seed_;
  const Kind kind_;
  Stage stage_;
  Master master_;
  std::vector<std::unique_ptr<Machine>> machines_;
  Programs programs_;
  Searches searches_;
  size_t requested_tasks_ = 0;  // number of tasks that users create, besides trials
  std::set<model::TaskId> created_tasks_;  // in the response
  size_t requested_experiments_ = 0;  // number of experiments that users create
  std::map<std::string, cluster::ProjectRef> project_refs_;  // by workspace name
  std::map<std::string, model::ExperimentId> created_;  // request ID -> experiment in the response
};

}  // namespace det::sim

#endif  // TESTS_SIM_WORLD_H_
