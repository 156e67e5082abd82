// One life of a master: the real engine::Engine, with its committer, dispatcher and timers, on two
// loops that are turned one function at a time in virtual time, in front of a database whose
// commits fail; and the streams of the agents, held as the hub holds them.
//
// Owned by Master. It may be killed between any two steps; what was to leave it then never does.
#ifndef TESTS_SIM_MASTER_PROCESS_H_
#define TESTS_SIM_MASTER_PROCESS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "agent/core/event.h"
#include "agent/core/task.h"
#include "base/fake_event_loop.h"
#include "master/engine/engine.h"
#include "master/engine/sinks.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/faulty_store.h"
#include "tests/sim/stage.h"

namespace det::sim {

// What goes down a stream.
struct Registered {};
struct Closed {};  // another stream took its place, or the master is gone or refuses
using Down = std::variant<Registered, Closed, agent::Event>;

using Reply = std::function<void(const absl::StatusOr<engine::Applied>&)>;

class MasterProcess final : public engine::AgentSink,
                            public engine::TrialSink,
                            public engine::ExperimentSink,
                            public std::enable_shared_from_this<MasterProcess> {
 public:
  // Its surroundings.
  class Host {
   public:
    virtual ~Host() = default;
    virtual store::FaultyStore::Fault FateOfCommit(const MasterProcess& process) = 0;
    // A batch is in the database.
    virtual void OnCommitted(const MasterProcess& process,
                        const std::vector<cluster::Change>& changes) = 0;
    // Something leaves it.
    virtual void OnEffect(const MasterProcess& process, const cluster::Effect& effect) = 0;
    // A function of one of its loops has run. The place to bury it.
    virtual void OnStep(MasterProcess& process) = 0;
  };

  // Its clock is `ahead` of the stage's.
  MasterProcess(Stage& stage, Host& host, std::shared_ptr<store::FakeDatabase> database,
                absl::Duration ahead);
  ~MasterProcess() override { StopLoops(); }

  absl::Status Start();
  // Nothing leaves it from now on; it is to be killed after the step under way.
  void Die() { dead_ = true; }
  bool dead() const { return dead_; }
  // Its streams end. REQUIRES that none of its steps is under way.
  void Kill();
  void SetClock(absl::Duration ahead);
  // Its lease is over: it ends its streams, and goes on without them.
  void LetGo();

  void Submit(const cluster::Event& event, const Reply& reply);
  // The present state of an allocation (null: over), told once all that it shows is committed.
  void Watch(const model::AllocationId& id,
             const std::function<void(const experiment::Allocation*)>& done);

  // What an agent's stream brings.
  void Register(int64_t stream, model::Agent agent, std::vector<model::AllocationId> running,
                std::function<void(const Down&)> down);
  void Report(int64_t stream, const model::AgentId& agent, const agent::Report& report);
  void NoticeBreak(int64_t stream, const model::AgentId& agent);

  // Its memory, to be looked at between two steps; null until it has begun to work.
  const cluster::Cluster* cluster() const { return cluster_; }
  // Nothing is applied that is not committed, and nothing waits to leave.
  bool AtRest() const;

  // For orders of the engine's.
  void Start(const cluster::StartTask& order) override;
  void Stop(const cluster::StopTask& order) override;
  void Announce(const cluster::AnnounceRendezvous& news) override { Leave(news); }
  void Announce(const cluster::AnnouncePreemption& news) override { Leave(news); }
  void Close(const cluster::CloseAllocation& news) override { Leave(news); }
  void Changed(model::ExperimentId id) override { Leave(cluster::ExperimentChanged{id}); }
  void QueueChanged() override {}

 private:
  struct Worker {
    base::FakeEventLoop loop;
    absl::Duration slowest;                     // until it takes up what was posted
    bool called = false;                        // it will be turned for what is posted
    absl::Time timer = absl::InfiniteFuture();  // for which it will be turned
  };
  struct Stream {
    int64_t id = 0;  // 0: none
    std::function<void(const Down&)> down;
    std::optional<base::TimerId> patience;
  };

  void StopLoops();
  void CatchUp();
  void Wake();
  void Wake(Worker& worker);
  void Turn(Worker& worker);
  void CallLater(Worker& worker, absl::Duration delay);
  bool Leave(const cluster::Effect& effect);
  void Refuse(int64_t stream, const model::AgentId& agent);
  void Gone(const model::AgentId& agent);
  void StartPatience(const model::AgentId& agent);
  void Send(const model::AgentId& agent, const Down& message);

  Stage& stage_;
  Host& host_;
  absl::Duration ahead_;
  bool dead_ = false;
  int64_t last_made_ = 0;
  store::FakeStore fake_;
  store::FaultyStore store_;
  Worker main_, commit_;
  std::unique_ptr<engine::Engine> engine_;
  const cluster::Cluster* cluster_ = nullptr;
  std::map<model::AgentId, Stream> hub_;
  std::set<model::AllocationId> closed_;  // nobody is told to go on with these
};

}  // namespace det::sim

#endif  // TESTS_SIM_MASTER_PROCESS_H_
