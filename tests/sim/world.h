// A whole cluster in virtual time: a master that commits in groups and crashes, agents whose
// streams break and whose machines fail, programs that train, fail and are preempted, and users who
// change their minds. One seed is one history. After a while the faults stop, everybody comes
// back, and all work must end.
//
// Single-threaded; nothing sleeps.
#ifndef TESTS_SIM_WORLD_H_
#define TESTS_SIM_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
    kUndisturbed,  // the repeatable experiments of the same seed alone, without any fault
  };
  explicit World(uint64_t seed, Kind kind = Kind::kTroubled, bool verbose = false);

  // Until all work has ended. INTERNAL with the invariant that broke and when.
  absl::Status Run();
  const Counts& counts() const { return stage_.counts; }
  uint64_t digest() const { return stage_.Digest(); }
  // What the search of the seed's repeatable experiment has decided; empty: it has none.
  std::string decisions() const;

 private:
  void Plan();
  void PlanRepeatable();
  void PlanMachines();
  void Create(const std::shared_ptr<const model::ExperimentConfig>& config,
              const std::string& request);
  void Ask(const cluster::Event& request, const Master::Reply& reply);
  void Meddle();
  // Whether an end of it that somebody asks for may be compared with nothing.
  bool MayEnd(model::ExperimentId id) const;
  cluster::Event Govern();
  void Ungovern();
  void Trouble();
  void CalmDown();
  bool AllEnded() const;
  void CheckEnd();
  // What is not over, for who looks at a history that does not end.
  void NoteWhatLives() const;

  const uint64_t seed_;
  const Kind kind_;
  Stage stage_;
  Master master_;
  std::vector<std::unique_ptr<Machine>> machines_;
  Programs programs_;
  Searches searches_;
  size_t wanted_ = 0;                                   // experiments that users ask for
  std::map<std::string, cluster::Space> spaces_;        // by the workspace's name
  std::map<std::string, model::ExperimentId> created_;  // request -> what the user was told
};

}  // namespace det::sim

#endif  // TESTS_SIM_WORLD_H_
