// A master process: the real engine::Engine, with its committer, dispatcher and timers, on two
// loops that run one function at a time in virtual time, and a database whose commits can fail; and
// the streams of the agents, as in the agent hub.
//
// Owned by Master. It can be killed between any two steps; effects that were not sent are lost.
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

// A message to an agent.
struct Registered {};
struct Closed {};  // Replaced by another stream, or the master ended or rejected it.
using Down = std::variant<Registered, Closed, agent::Event>;

using Reply = std::function<void(const absl::StatusOr<engine::Applied>&)>;

class MasterProcess final : public engine::AgentSink,
                            public engine::TrialSink,
                            public engine::ExperimentSink,
                            public std::enable_shared_from_this<MasterProcess> {
 public:
  // The environment of the process.
  class Host {
   public:
    virtual ~Host() = default;
    virtual store::FaultyStore::Fault ChooseCommitFault(const MasterProcess& process) = 0;
    // Called when a batch is in the database.
    virtual void OnCommitted(const MasterProcess& process,
                             const std::vector<cluster::Change>& changes) = 0;
    // Called when an effect is sent.
    virtual void OnEffect(const MasterProcess& process, const cluster::Effect& effect) = 0;
    // Called after each function of a loop; the process may be destroyed here.
    virtual void OnStep(MasterProcess& process) = 0;
  };

  // The clock of the process is `ahead` of that of the stage.
  MasterProcess(Stage& stage, Host& host, std::shared_ptr<store::FakeDatabase> database,
                absl::Duration ahead);
  ~MasterProcess() override { StopLoops(); }

  absl::Status Start();
  // Stops sending effects; the process must be killed after the current step.
  void RequestKill() { killed_ = true; }
  bool killed() const { return killed_; }
  // Ends the process and its streams. REQUIRES that no step is running.
  void Kill();
  void SetClock(absl::Duration ahead);
  // Called when the lease is lost: closes the streams and keeps running without them.
  void DisconnectAgents();

  void Submit(const cluster::Event& event, const Reply& reply);
  // Calls `done` with the state of an allocation (null if it has ended) after that state is
  // committed.
  void Watch(const model::AllocationId& id,
             const std::function<void(const experiment::Allocation*)>& done);

  // Messages on the stream of an agent.
  void Register(int64_t stream, model::Agent agent, std::vector<model::AllocationId> running,
                std::function<void(const Down&)> down);
  void Report(int64_t stream, const model::AgentId& agent, const agent::Report& report);
  void NoticeBreak(int64_t stream, const model::AgentId& agent);

  // The state in memory, to be read between two steps; null until the engine has started.
  const cluster::Cluster* cluster() const { return cluster_; }
  // Whether everything that is applied is committed, and no effect waits to be sent.
  bool AtRest() const;

  // Effects of the engine.
  void Start(const cluster::StartTask& order) override;
  void Stop(const cluster::StopTask& order) override;
  void Announce(const cluster::AnnounceRendezvous& news) override { Emit(news); }
  void Announce(const cluster::AnnouncePreemption& news) override { Emit(news); }
  void Close(const cluster::CloseAllocation& news) override { Emit(news); }
  void Changed(model::ExperimentId id) override { Emit(cluster::ExperimentChanged{id}); }
  void Changed(const model::TaskId& id) override { Emit(cluster::TaskChanged{id}); }
  void QueueChanged() override {}

 private:
  struct Worker {
    base::FakeEventLoop loop;
    absl::Duration slowest;                     // maximum delay until a posted function runs
    bool called = false;                        // a run for posted functions is scheduled
    absl::Time timer = absl::InfiniteFuture();  // the time of the scheduled timer
  };
  struct Stream {
    int64_t id = 0;  // 0 if not connected
    std::function<void(const Down&)> down;
    std::optional<base::TimerId> reconnect_timer;
  };

  void StopLoops();
  void AdvanceClocks();
  void Wake();
  void Wake(Worker& worker);
  void Turn(Worker& worker);
  void CallLater(Worker& worker, absl::Duration delay);
  bool Emit(const cluster::Effect& effect);
  void Refuse(int64_t stream, const model::AgentId& agent);
  void OnDisconnected(const model::AgentId& agent);
  void StartReconnectTimer(const model::AgentId& agent);
  void Send(const model::AgentId& agent, const Down& message);

  Stage& stage_;
  Host& host_;
  absl::Duration ahead_;
  bool killed_ = false;
  int64_t last_made_ = 0;
  store::FakeStore fake_;
  store::FaultyStore store_;
  Worker main_, commit_;
  std::unique_ptr<engine::Engine> engine_;
  const cluster::Cluster* cluster_ = nullptr;
  std::map<model::AgentId, Stream> hub_;
  std::set<model::AllocationId> closed_;  // must not be started or continued
};

}  // namespace det::sim

#endif  // TESTS_SIM_MASTER_PROCESS_H_
