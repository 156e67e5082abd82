// The masters of one database: one leads, and where another took over an older one may go on for a
// while. They crash, are cut off, have their clocks set; the database goes away, loses answers and
// refuses. What is asked of "the master" reaches the one that holds the lease, or nobody.
//
// Used by World, Machine and Programs. Compares memory with the rows whenever the leader rests.
#ifndef TESTS_SIM_MASTER_H_
#define TESTS_SIM_MASTER_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "master/core/cluster/testing/rows.h"
#include "tests/sim/master_process.h"
#include "tests/sim/stage.h"

namespace det::sim {

class Master final : public MasterProcess::Host {
 public:
  using Reply = sim::Reply;
  // Told of rendezvous, preemptions and ends of allocations.
  using News = std::function<void(const cluster::Effect&)>;

  Master(Stage& stage, News news);

  // A new workspace with a project "p" in it.
  cluster::Space MakeSpace(const std::string& workspace);

  // Applies the event and replies after its commit; silent when the master is down or goes down.
  void Submit(const cluster::Event& event, const Reply& reply = nullptr);
  // The present state of an allocation (null: over), told once all that it shows is committed.
  void Watch(const model::AllocationId& id,
             const std::function<void(const experiment::Allocation*)>& done);

  // What an agent's stream brings.
  void Register(int64_t stream, const model::Agent& agent,
                const std::vector<model::AllocationId>& running,
                const std::function<void(const Down&)>& down);
  void Report(int64_t stream, const model::AgentId& agent, const agent::Report& report);
  void NoticeBreak(int64_t stream, const model::AgentId& agent);

  // Faults.
  void Crash();
  void TakeOver();
  void LoseDatabase(absl::Duration away);
  void SetClock(absl::Duration by);

  const cluster::Rows& committed() const { return committed_; }
  // Of the validations: what a person would read.
  std::vector<model::MetricReport> Metrics(model::TrialId trial);
  // Whether nothing is applied that is not committed, and one master leads alone.
  bool AtRest() const { return leader_ != nullptr && older_ == nullptr && leader_->AtRest(); }
  // All that memory and rows have to agree in. REQUIRES AtRest().
  void CheckAll();

 private:
  store::FaultyStore::Fault FateOfCommit(const MasterProcess& process) override;
  void OnCommitted(const MasterProcess& process, const std::vector<cluster::Change>& changes) override;
  void OnEffect(const MasterProcess& process, const cluster::Effect& effect) override;
  void OnStep(MasterProcess& process) override;

  bool Answers(const MasterProcess* process) const;
  MasterProcess* Of(int64_t stream);
  void Lead();
  void Succeed(const MasterProcess* cut_off);
  void Bury(MasterProcess& process);
  void EndOlder();
  void CheckRest();

  Stage& stage_;
  const News news_;
  const std::shared_ptr<store::FakeDatabase> database_ = store::MakeFakeDatabase();
  store::FakeStore reader_;
  std::shared_ptr<MasterProcess> leader_;   // null: down
  std::shared_ptr<MasterProcess> older_;    // has been succeeded and does not know it
  cluster::Rows committed_, of_older_;      // the rows when the older one was succeeded
  std::vector<cluster::Change> unchecked_;  // since the last rest
  int64_t rests_ = 0;
  absl::Duration ahead_;                    // of the clock of the machine that leads
  absl::Time database_back_;                // from then on it can be reached
  const MasterProcess* cut_off_ = nullptr;  // from the database, until
  absl::Time cut_until_;
  absl::Time lease_until_;  // of the one that is cut off
  std::map<int64_t, std::weak_ptr<MasterProcess>> streams_;
  std::set<int64_t> broken_;  // streams that will never be taken
};

}  // namespace det::sim

#endif  // TESTS_SIM_MASTER_H_
