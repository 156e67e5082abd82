// The masters of one database. One is the leader; after a takeover, the previous one may still run
// for a while. Masters crash, lose their connection to the database, and have their clocks set; the
// database becomes unavailable, loses acknowledgements and rejects commits. A request is sent to
// the master that holds the lease, or is lost.
//
// Used by World, Machine and Programs. Compares the state in memory with the rows whenever the
// leader rests.
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
  // Receives the effects for trials: rendezvous, preemptions, and ends of allocations.
  using EffectCallback = std::function<void(const cluster::Effect&)>;

  Master(Stage& stage, EffectCallback news);

  // Creates a workspace with a project "p".
  cluster::ProjectRef MakeProjectRef(const std::string& workspace);

  // Applies the event and replies after its commit. Does not reply if the master is down or
  // crashes.
  void Submit(const cluster::Event& event, const Reply& reply = nullptr);
  // Calls `done` with the state of an allocation (null if it has ended) after that state is
  // committed.
  void Watch(const model::AllocationId& id,
             const std::function<void(const experiment::Allocation*)>& done);

  // Messages on the stream of an agent.
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
  // The validations as the API returns them.
  std::vector<model::MetricReport> Metrics(model::TrialId trial);
  // Whether everything that is applied is committed, and only one master is running.
  bool AtRest() const { return leader_ != nullptr && older_ == nullptr && leader_->AtRest(); }
  // Compares all of the state in memory with the rows. REQUIRES AtRest().
  void CheckAll();

 private:
  store::FaultyStore::Fault ChooseCommitFault(const MasterProcess& process) override;
  void OnCommitted(const MasterProcess& process,
                   const std::vector<cluster::Change>& changes) override;
  void OnEffect(const MasterProcess& process, const cluster::Effect& effect) override;
  void OnStep(MasterProcess& process) override;

  bool Responds(const MasterProcess* process) const;
  MasterProcess* FindProcess(int64_t stream);
  void StartLeader();
  void Succeed(const MasterProcess* disconnected);
  void Destroy(MasterProcess& process);
  void EndOlder();
  void CheckRest();

  Stage& stage_;
  const EffectCallback on_effect_;
  const std::shared_ptr<store::FakeDatabase> database_ = store::MakeFakeDatabase();
  store::FakeStore reader_;
  std::shared_ptr<MasterProcess> leader_;   // null if it is down
  std::shared_ptr<MasterProcess> older_;    // replaced, but still running
  cluster::Rows committed_, of_older_;      // of_older_: the rows at the takeover
  std::vector<cluster::Change> unchecked_;  // since the last rest
  int64_t rests_ = 0;
  absl::Duration ahead_;      // of the clock of the leader
  absl::Time database_back_;  // when the database is available again
  const MasterProcess* disconnected_ =
      nullptr;  // not connected to the database until disconnected_until_
  absl::Time disconnected_until_;
  absl::Time lease_until_;  // of the disconnected master
  std::map<int64_t, std::weak_ptr<MasterProcess>> streams_;
  std::set<int64_t> broken_;  // streams that will never be accepted
};

}  // namespace det::sim

#endif  // TESTS_SIM_MASTER_H_
