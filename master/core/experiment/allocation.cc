#include "master/core/experiment/allocation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/experiment/tables.h"

namespace det::experiment {
namespace {

using model::AllocationState;
using model::ExitReason;

// Long enough to close files; the other ranks of a gang that lost one cannot go on anyway.
constexpr absl::Duration kPeerGrace = absl::Seconds(2);

// Moves along the table; false when the event does not apply in this state.
bool Move(Allocation& a, AllocationEvent event) {
  const std::optional<AllocationState> next = base::Lookup(kAllocationTable, a.state, event);
  if (next) a.state = *next;
  return next.has_value();
}

Share* FindShare(Allocation& a, const model::AgentId& agent) {
  const auto it = std::find_if(a.shares.begin(), a.shares.end(),
                               [&](const Share& s) { return s.placement.agent == agent; });
  return it == a.shares.end() ? nullptr : &*it;
}

std::string SignalText(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal)
                         : absl::StrCat("signal ", signal, " (SIG", name, ")");
}

// "the task on agent-0 was killed by signal 9 (SIGKILL)".
std::string Describe(const Share& share) {
  const std::string agent = share.placement.agent.value();
  if (!share.message.empty()) return absl::StrCat(share.message, " (on ", agent, ")");
  if (share.signal != 0) {
    return absl::StrCat("the task on ", agent, " was killed by ", SignalText(share.signal));
  }
  return absl::StrCat("the task on ", agent, " ended with exit code ", share.exit_code);
}

bool AllStarted(const Allocation& a) {
  return std::all_of(a.shares.begin(), a.shares.end(), [](const Share& s) { return s.started; });
}

bool AllExited(const Allocation& a) {
  return std::all_of(a.shares.begin(), a.shares.end(), [](const Share& s) { return s.exited; });
}

AllocationActions StopRest(Allocation& a, absl::Duration grace, absl::Time now) {
  AllocationActions actions;
  for (const Share& share : a.shares) {
    if (!share.exited) actions.stop.push_back(share.placement.agent);
  }
  actions.grace = grace;
  a.deadline = now + grace;
  return actions;
}

// The first cause counts: what follows is only its consequence.
void Blame(Allocation& a, ExitReason reason, std::string message) {
  if (a.exit_reason != ExitReason::kNone) return;
  a.exit_reason = reason;
  a.exit_message = std::move(message);
}

void Terminate(Allocation& a, absl::Time now) {
  if (a.exit_reason == ExitReason::kNone) {
    const bool yielded = a.state == AllocationState::kPreempting && a.preemption_acked;
    a.exit_reason = yielded ? ExitReason::kPreempted : ExitReason::kFinished;
  }
  if (a.reported != ExitReason::kNone && a.exit_reason != ExitReason::kStopped) {
    a.exit_reason = a.reported;
  }
  // What the trial itself said explains more than an exit code does.
  if (!a.reported_message.empty() && a.exit_reason != ExitReason::kStopped &&
      a.exit_reason != ExitReason::kNodeLost) {
    a.exit_message = a.reported_message;
  }
  const bool known = a.exit_reason != ExitReason::kNodeLost;
  if (!a.exit_code && !a.shares.empty() && known) a.exit_code = 0;
  Move(a, a.shares.empty() ? AllocationEvent::kWithdraw : AllocationEvent::kAllExited);
  a.deadline.reset();
  a.ended_at = now;
}

// A share is over. `fault` says why that is a failure of the whole; kNone: it is none.
AllocationActions EndShare(Allocation& a, Share& share, ExitReason fault, absl::Time now) {
  share.exited = true;
  if (fault != ExitReason::kNone) {
    if (!a.exit_code && fault == ExitReason::kFailed) a.exit_code = share.exit_code;
    Blame(a, fault, Describe(share));
  }
  AllocationActions actions;
  if (AllExited(a)) {
    Terminate(a, now);
    actions.terminated = true;
    return actions;
  }
  if (fault != ExitReason::kNone && Move(a, AllocationEvent::kStop)) {
    return StopRest(a, kPeerGrace, now);
  }
  if (AllStarted(a) && Move(a, AllocationEvent::kAllStarted)) actions.announce = true;
  return actions;
}

}  // namespace

AllocationActions Assign(Allocation& a, std::vector<model::Placement> placements, absl::Time now) {
  AllocationActions actions;
  if (!Move(a, AllocationEvent::kAssign)) return actions;
  for (model::Placement& placement : placements) {
    a.granted += static_cast<int>(placement.slots.size());
    a.shares.push_back({.placement = std::move(placement), .message = "", .suspect = ""});
  }
  a.started_at = now;
  actions.start_shares = true;
  return actions;
}

AllocationActions ShareStarted(Allocation& a, const model::AgentId& agent) {
  AllocationActions actions;
  Share* share = FindShare(a, agent);
  if (share == nullptr || share->started || share->exited) return actions;
  share->started = true;
  if (!AllStarted(a)) return actions;
  Move(a, AllocationEvent::kAllStarted);
  actions.announce = a.state != AllocationState::kStopping;
  return actions;
}

AllocationActions ShareExited(Allocation& a, const model::AgentId& agent, const ShareExit& exit,
                              absl::Time now) {
  Share* share = FindShare(a, agent);
  if (share == nullptr || share->exited) return {};
  share->exit_code = exit.exit_code;
  share->signal = exit.signal;
  share->message = exit.message;
  // It ran, even if the news of its start was lost: its peers need not wait for that.
  if (!exit.start_failed) share->started = true;
  const bool failed = exit.exit_code != 0 || exit.signal != 0 || exit.start_failed;
  // While it is being stopped, a bad exit is what was asked for.
  const bool expected = a.state == AllocationState::kStopping;
  if (failed && expected && !a.exit_code) a.exit_code = exit.exit_code;
  return EndShare(a, *share, failed && !expected ? ExitReason::kFailed : ExitReason::kNone, now);
}

AllocationActions AgentLost(Allocation& a, const model::AgentId& agent, absl::Time now) {
  Share* share = FindShare(a, agent);
  if (share == nullptr || share->exited) return {};
  share->message = "the agent was lost";
  return EndShare(a, *share, ExitReason::kNodeLost, now);
}

AllocationActions Preempt(Allocation& a, const std::string& reason, absl::Duration timeout,
                          absl::Time now) {
  AllocationActions actions;
  if (!Move(a, AllocationEvent::kPreempt)) return actions;
  a.preemption_reason = reason;
  a.deadline = now + timeout;
  actions.notify_preempt = true;
  actions.set_timer = a.deadline;
  return actions;
}

bool AckPreemption(Allocation& a) {
  if (a.state != AllocationState::kPreempting || a.preemption_acked) return false;
  a.preemption_acked = true;
  return true;
}

AllocationActions Stop(Allocation& a, absl::Duration grace, absl::Time now,
                       const std::string& why) {
  AllocationActions actions;
  if (a.state == AllocationState::kQueued) {
    Blame(a, ExitReason::kStopped, why);
    Terminate(a, now);
    actions.terminated = true;
    return actions;
  }
  if (!Move(a, AllocationEvent::kStop)) return actions;
  Blame(a, ExitReason::kStopped, why);
  return StopRest(a, grace, now);
}

AllocationActions OnDeadline(Allocation& a, absl::Duration grace, absl::Time now) {
  if (a.state != AllocationState::kPreempting || !a.deadline || now < *a.deadline) return {};
  return Stop(a, grace, now);
}

}  // namespace det::experiment
