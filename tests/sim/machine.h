// A machine with an agent: the real agent::Supervisor, processes that only exist as entries, and a
// stream to the master that breaks. A reboot forgets everything; the processes die with it. An
// agent that crashes forgets everything too, and the processes live on; the next one finds them,
// and how those ended that ended meanwhile, by what their keepers have written down.
//
// Owned by World. What its processes do is Programs' affair.
#ifndef TESTS_SIM_MACHINE_H_
#define TESTS_SIM_MACHINE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/supervisor.h"
#include "master/core/model/agent.h"
#include "tests/sim/master.h"
#include "tests/sim/stage.h"

namespace det::sim {

class Machine {
 public:
  // `begun`: a process of this allocation runs here from now on.
  using Begun = std::function<void(Machine&, const model::AllocationId&)>;
  Machine(Stage& stage, Master& master, std::string id, int slots, Begun begun);

  const model::AgentId& id() const { return self_.id; }
  size_t slots() const { return self_.slots.size(); }
  bool Lives(const model::AllocationId& id) const { return processes_.contains(id); }
  bool Idle() const { return agent_lives_ && processes_.empty() && supervisor_.IsIdle(); }
  // Tells one process of an allocation from another; 0: none lives here.
  int64_t LifeOf(const model::AllocationId& id) const;

  void Connect();
  // The process ends by itself.
  void Exit(const model::AllocationId& id, int code, int signal = 0);

  // Faults.
  void BreakStream();
  void Reboot(absl::Duration away);
  void CrashAgent(absl::Duration away);
  void Part(absl::Duration away);  // alive, but out of the master's reach

 private:
  struct Process {
    std::vector<int> slots;
    int64_t life = 0;
  };
  // What the keeper of a task has written down, until the agent forgets the task.
  struct Kept {
    std::vector<int> slots;
    bool started = false;
    std::optional<agent::TaskExit> exit;
  };

  // A message takes its time and overtakes no other of its stream.
  void Up(std::function<void()> arrive);
  void OnDown(int64_t stream, const Down& message);
  void Take(int64_t stream, const Down& message);
  void Handle(const agent::Event& event);
  void Do(const agent::StartProcess& action);
  void Do(const agent::SignalProcess& action);
  void Do(const agent::FlushLogs& action);
  void Do(const agent::SendReport& action);
  void Do(const agent::ForgetTask& action) { kept_.erase(action.allocation); }
  void Begin(const agent::AllocationId& allocation);
  void End(const agent::AllocationId& allocation, const agent::TaskExit& exit);
  void StartAgent();
  void LoseStream();
  void Send(const agent::Report& report);
  void CheckSlots(const model::AllocationId& id, const std::vector<int>& slots);
  // Runs in this life of the agent only.
  void After(absl::Duration delay, std::function<void()> act);
  // Whatever becomes of the agent, until the machine goes down.
  void AfterOnMachine(absl::Duration delay, std::function<void()> act);

  Stage& stage_;
  Master& master_;
  const Begun begun_;
  model::Agent self_;
  agent::Supervisor supervisor_;
  bool agent_lives_ = true;
  std::map<model::AllocationId, Process> processes_;
  std::map<agent::AllocationId, Kept> kept_;
  int64_t boot_ = 0;    // of the machine
  int64_t agent_ = 0;   // its life
  int64_t stream_ = 0;  // 0: none
  bool registered_ = false;
  absl::Time away_until_;
  absl::Time last_up_, last_down_;
  absl::Time tick_ = absl::InfiniteFuture();
};

}  // namespace det::sim

#endif  // TESTS_SIM_MACHINE_H_
