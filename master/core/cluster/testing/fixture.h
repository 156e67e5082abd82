// A cluster under test: applies events, keeps the rows, and checks after each event that a restart
// from the rows restores the same memory.
#ifndef MASTER_CORE_CLUSTER_TESTING_FIXTURE_H_
#define MASTER_CORE_CLUSTER_TESTING_FIXTURE_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/rows.h"

namespace det::cluster {

// Returns the canonical experiment: one trial, one slot, command `train`; each test changes only
// the fields that it tests.
std::shared_ptr<model::ExperimentConfig> MakeConfig();

class Fixture : public ::testing::Test {
 protected:
  Fixture();

  // Applies an event and expects success.
  Outcome Apply(const Event& event);
  absl::Status ExpectRejection(const Event& event);

  void AddAgent(const std::string& id, int slots, std::vector<std::string> running = {});
  // Creates an experiment and runs a scheduling pass.
  model::ExperimentId Create(std::shared_ptr<model::ExperimentConfig> config);
  Outcome Tick() { return Apply(ScheduleTick{}); }
  Outcome Start(const std::string& allocation, const std::string& agent = "a");
  Outcome Exit(const std::string& allocation, int code, const std::string& agent = "a",
               int signal = 0);
  void Restart();  // restores the cluster from its rows

  const experiment::Trial& trial(int id) const { return rows_.trials.at(model::TrialId(id)); }
  const experiment::Experiment& experiment(int id) const {
    return rows_.experiments.at(model::ExperimentId(id));
  }
  const experiment::Task& task(const std::string& id) const {
    return rows_.tasks.at(model::TaskId(id));
  }
  const experiment::Allocation& allocation(const std::string& id) const {
    return rows_.allocations.at(model::AllocationId(id));
  }

  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  Cluster cluster_{Settings{.cluster_id = "test"}};
  Rows rows_;
};

// Returns the report of a checkpoint that the trial of `allocation` saved.
CheckpointReported Checkpoint(const std::string& allocation, int trial, const std::string& id,
                              int64_t steps);

// Returns the effects of one kind, in order.
template <class T>
std::vector<T> GetEffects(const Outcome& outcome) {
  std::vector<T> found;
  for (const Effect& effect : outcome.effects) {
    if (const T* one = std::get_if<T>(&effect)) found.push_back(*one);
  }
  return found;
}

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_TESTING_FIXTURE_H_
