// A machine with an agent: the real agent::Supervisor, simulated processes, and a stream to the
// master that can break. A reboot ends all processes and loses all state. When the agent crashes,
// its state is lost but the processes continue; the next agent reattaches to them, and reads the
// exits of those that have ended from the records of their keepers.
//
// Owned by World. Programs decides what the processes do.
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
  // Called when a process of the allocation has started on the machine.
  using StartedCallback = std::function<void(Machine&, const model::AllocationId&)>;
  Machine(Stage& stage, Master& master, std::string id, int slots, StartedCallback on_started);

  const model::AgentId& id() const { return self_.id; }
  size_t slots() const { return self_.slots.size(); }
  bool Lives(const model::AllocationId& id) const { return processes_.contains(id); }
  bool Idle() const { return agent_lives_ && processes_.empty() && supervisor_.IsIdle(); }
  // Identifies the current process of the allocation; 0 if none is running here.
  int64_t GetProcessId(const model::AllocationId& id) const;

  void Connect();
  // Ends the process as if it had exited by itself.
  void Exit(const model::AllocationId& id, int code, int signal = 0);

  // Faults.
  void BreakStream();
  void Reboot(absl::Duration away);
  void CrashAgent(absl::Duration away);
  void Disconnect(absl::Duration away);  // Running, but not connected.

 private:
  struct Process {
    std::vector<int> slots;
    int64_t life = 0;
  };
  // The records of the keeper of a task, until the agent forgets the task.
  struct Kept {
    std::vector<int> slots;
    bool started = false;
    std::optional<agent::TaskExit> exit;
  };

  // Delivers a message after a delay. Messages of a stream stay in order.
  void SendUp(std::function<void()> arrive);
  void OnDown(int64_t stream, const Down& message);
  void Take(int64_t stream, const Down& message);
  void Handle(const agent::Event& event);
  void Execute(const agent::StartProcess& action);
  void Execute(const agent::SignalProcess& action);
  void Execute(const agent::FlushLogs& action);
  void Execute(const agent::SendReport& action);
  void Execute(const agent::ForgetTask& action) { kept_.erase(action.allocation); }
  void Begin(const agent::AllocationId& allocation);
  void End(const agent::AllocationId& allocation, const agent::TaskExit& exit);
  void StartAgent();
  void LoseStream();
  void Send(const agent::Report& report);
  void CheckSlots(const model::AllocationId& id, const std::vector<int>& slots);
  // Runs `act` unless the agent has crashed in the meantime.
  void After(absl::Duration delay, std::function<void()> act);
  // Runs `act` unless the machine has rebooted in the meantime.
  void AfterOnMachine(absl::Duration delay, std::function<void()> act);

  Stage& stage_;
  Master& master_;
  const StartedCallback on_started_;
  model::Agent self_;
  agent::Supervisor supervisor_;
  bool agent_lives_ = true;
  std::map<model::AllocationId, Process> processes_;
  std::map<agent::AllocationId, Kept> kept_;
  int64_t boot_ = 0;    // Counts boots of the machine.
  int64_t agent_ = 0;   // Counts starts of the agent.
  int64_t stream_ = 0;  // 0 if not connected
  bool registered_ = false;
  absl::Time away_until_;
  absl::Time last_up_, last_down_;
  absl::Time tick_ = absl::InfiniteFuture();
};

}  // namespace det::sim

#endif  // TESTS_SIM_MACHINE_H_
