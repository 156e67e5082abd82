// A master around the real cluster::Cluster: commits in groups, one batch in flight; lets effects
// and replies out after their commit; may crash at any moment and comes back from its rows. Holds
// the streams of the agents as the hub does.
//
// Used by World, Machine and Programs. After every event memory is compared with the rows.
#ifndef TESTS_SIM_MASTER_H_
#define TESTS_SIM_MASTER_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <variant>
#include <vector>

#include "agent/core/event.h"
#include "agent/core/task.h"
#include "master/cluster/cluster.h"
#include "master/cluster/testing/rows.h"
#include "tests/sim/stage.h"

namespace det::sim {

// What goes down a stream.
struct Registered {};
struct Closed {};  // another stream took its place
using Down = std::variant<Registered, Closed, agent::Event>;

class Master {
 public:
  using Reply = std::function<void(const absl::StatusOr<cluster::Outcome>&)>;
  // Told of rendezvous, preemptions and ends of allocations.
  using News = std::function<void(const cluster::Effect&)>;

  Master(Stage& stage, News news);

  // Applies the event and replies after its commit; silent when the master is down or goes down.
  void Submit(const cluster::Event& event, const Reply& reply = nullptr);
  // The present state of an allocation (null: over), told once all that it shows is committed.
  void Watch(const model::AllocationId& id,
             const std::function<void(const experiment::Allocation*)>& done);

  // What an agent's stream brings.
  void Register(int64_t stream, model::Agent agent, std::vector<model::AllocationId> running,
                std::function<void(const Down&)> down);
  void Report(int64_t stream, const model::AgentId& agent, const agent::Report& report);
  void NoticeBreak(int64_t stream, const model::AgentId& agent);

  void Crash();
  bool up() const { return cluster_ != nullptr; }
  const cluster::Rows& committed() const { return committed_; }
  const cluster::Cluster& cluster() const { return *cluster_; }
  // Whether nothing is applied that is not committed.
  bool AtRest() const { return up() && !committing_ && open_.empty(); }

 private:
  struct Entry {
    std::vector<cluster::Change> changes;
    std::vector<cluster::Effect> effects;
    std::function<void()> reply;
  };
  struct Stream {
    int64_t id = 0;
    std::function<void(const Down&)> down;
  };

  void Enqueue(Entry entry);
  void CommitNext();
  void Committed();
  void Restart();
  void AwaitReturn(const model::AgentId& id);
  void CheckMemory();

  void Release(const cluster::Effect& effect);
  void Do(const cluster::StartTask& order);
  void Do(const cluster::StopTask& order);
  void Do(const cluster::AnnounceRendezvous& news) { news_(news); }
  void Do(const cluster::AnnouncePreemption& news) { news_(news); }
  void Do(const cluster::CloseAllocation& news) { news_(news); }
  void Do(const cluster::SetDeadline& order);
  void Do(const cluster::ScheduleSoon&);
  void Do(const cluster::SetScheduleTimer& order);
  void Do(const cluster::SetCalendarTimer& order);
  void Do(const cluster::QueueChanged&) {}
  void Do(const cluster::ExperimentChanged&) {}
  void Do(const cluster::SweepSoon&) {}
  void Send(const model::AgentId& agent, const Down& message);

  Stage& stage_;
  const News news_;
  std::unique_ptr<cluster::Cluster> cluster_;  // null: down
  int64_t life_ = 0;
  cluster::Rows applied_, committed_;
  std::vector<Entry> open_, in_flight_;
  bool committing_ = false;
  bool tick_due_ = false;
  absl::Time look_again_, calendar_;  // of the newest timers
  std::map<model::AllocationId, absl::Time> deadlines_;
  std::map<model::AgentId, Stream> hub_;
  std::map<model::AgentId, absl::Time> away_since_;
  std::set<int64_t> broken_;  // streams that will never be taken
};

}  // namespace det::sim

#endif  // TESTS_SIM_MASTER_H_
