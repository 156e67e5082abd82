#include "master/core/scheduler/estimate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/scheduler/scheduler.h"

namespace det::scheduler {
namespace {

using model::AllocationId;
using SlotKey = std::pair<model::AgentId, int>;

constexpr size_t kMaxNamed = 4;

// How the end of a gang is estimated.
enum class Basis { kUnknown, kTerminating, kMaxRunTime, kRuntimeStats };

struct Expected {
  absl::Time end;
  Basis basis = Basis::kUnknown;
};

std::string Named(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMaxNamed);
  std::string text = absl::StrJoin(names.begin(), names.begin() + shown, ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

class QueueSimulation {
 public:
  QueueSimulation(const Snapshot& snapshot, const RuntimeStats& runtime_stats,
                  const std::vector<AllocationId>& requested)
      : runtime_stats_(runtime_stats),
        now_(snapshot.now),
        // Gangs with an unknown end are assumed to end last.
        never_(snapshot.now + absl::Hours(24 * 365 * 1000)),
        pending_(requested.begin(), requested.end()) {
    for (const auto& pool : snapshot.pools) scheduler_.Put(pool);
    for (const Node& node : snapshot.nodes) scheduler_.Put(node);
    for (const Job& job : snapshot.jobs) scheduler_.Put(job);
    for (const Limit& limit : snapshot.limits) scheduler_.Put(limit);
    for (const Gang& gang : snapshot.gangs) {
      scheduler_.Put(gang);
      gangs_.emplace(gang.id, gang);
      if (!gang.running_on.empty()) Expect(gang);
    }
  }

  std::map<AllocationId, Estimate> Run(int max_steps) {
    for (int step = 0; step < max_steps && !pending_.empty(); ++step) {
      const Plan plan = scheduler_.Pass(now_);
      for (const Assignment& assignment : plan.assign) Start(assignment);
      for (const Preemption& preemption : plan.preempt) Leave(preemption.victim);
      if (pending_.empty()) break;
      stuck_ = !EndNext(plan.look_again);
      if (stuck_) break;
    }
    for (const AllocationId& id : pending_) estimates_[id] = Unreached(id);
    return std::move(estimates_);
  }

 private:
  void Expect(const Gang& gang) {
    Expected expected{.end = never_};
    if (gang.max_run_time < absl::InfiniteDuration()) {
      expected = {gang.started_at + gang.max_run_time, Basis::kMaxRunTime};
    }
    const auto known = runtime_stats_.find(gang.job);
    if (known != runtime_stats_.end() && gang.started_at + known->second < expected.end) {
      expected = {gang.started_at + known->second, Basis::kRuntimeStats};
    }
    if (gang.terminating) expected = {now_, Basis::kTerminating};
    expected.end = std::max(expected.end, now_);
    // Ties are broken by start time.
    if (expected.basis == Basis::kUnknown) expected.end += gang.started_at - absl::UnixEpoch();
    expected_[gang.id] = expected;
    ends_.emplace(expected.end, gang.id);
  }

  void Start(const Assignment& assignment) {
    Gang& gang = gangs_.at(assignment.gang);
    gang.running_on = assignment.on;
    gang.started_at = gang.saved_at = now_;
    gang.terminating = false;
    scheduler_.Put(gang);
    Expect(gang);
    if (pending_.erase(gang.id) > 0) estimates_[gang.id] = Reached(gang);
  }

  // It checkpoints and exits; the time for that is unknown and short.
  void Leave(const AllocationId& id) {
    Gang& gang = gangs_.at(id);
    const auto [begin, end] = ends_.equal_range(expected_.at(id).end);
    for (auto it = begin; it != end; ++it) {
      if (it->second != id) continue;
      ends_.erase(it);
      break;
    }
    gang.terminating = true;
    victims_.insert(id);
    Expect(gang);
    scheduler_.Put(gang);
  }

  // Advances to the next end, and all ends at the same time, or only the time. Returns false if
  // nothing more will happen.
  bool EndNext(std::optional<absl::Time> look_again) {
    if (look_again && (ends_.empty() || *look_again < ends_.begin()->first)) {
      // Time must advance, or the loop would not end.
      if (*look_again <= now_) return false;
      now_ = *look_again;
      return true;
    }
    if (ends_.empty()) return false;
    now_ = ends_.begin()->first;
    last_.clear();
    while (!ends_.empty() && ends_.begin()->first == now_) {
      End(ends_.begin()->second);
      ends_.erase(ends_.begin());
    }
    return true;
  }

  void End(const AllocationId& id) {
    Gang& gang = gangs_.at(id);
    for (const model::Placement& placement : gang.running_on) {
      for (const int slot : placement.slots) ended_[{placement.agent, slot}].push_back(id);
    }
    last_.push_back(id);
    if (victims_.erase(id) == 0) {
      scheduler_.RemoveGang(id);
      return;
    }
    gang.running_on.clear();
    gang.terminating = false;
    gang.queued_at = now_;
    scheduler_.Put(gang);
  }

  // The gangs whose slots it got; without slots, the gangs that ended last.
  std::vector<AllocationId> Before(const Gang& gang) const {
    std::vector<AllocationId> before;
    for (const model::Placement& placement : gang.running_on) {
      for (const int slot : placement.slots) {
        const auto it = ended_.find({placement.agent, slot});
        if (it == ended_.end()) continue;
        for (const AllocationId& id : it->second) {
          if (std::find(before.begin(), before.end(), id) == before.end()) before.push_back(id);
        }
      }
    }
    if (before.empty()) before = last_;
    std::stable_sort(before.begin(), before.end(),
                     [&](const AllocationId& a, const AllocationId& b) {
                       return expected_.at(a).end < expected_.at(b).end;
                     });
    return before;
  }

  Estimate Reached(const Gang& gang) const {
    Estimate estimate{.after = Before(gang)};
    std::vector<std::string> limited;
    std::vector<std::string> unknown;
    std::set<std::string> experienced;
    for (const AllocationId& id : estimate.after) {
      const Basis basis = expected_.at(id).basis;
      if (basis == Basis::kMaxRunTime) limited.push_back(id.value());
      if (basis == Basis::kUnknown) unknown.push_back(id.value());
      if (basis == Basis::kRuntimeStats) experienced.insert(gangs_.at(id).job.value());
    }
    if (now_ >= never_) {
      estimate.basis = absl::StrCat(Named(unknown), unknown.size() == 1 ? " has" : " have",
                                    " no max_run_time, and nothing like it has ended yet");
      return estimate;
    }
    estimate.start = now_;
    std::vector<std::string> parts;
    if (!limited.empty()) parts.push_back(absl::StrCat("by the max_run_time of ", Named(limited)));
    if (!experienced.empty()) {
      parts.push_back(absl::StrCat("by how long trials of ",
                                   Named({experienced.begin(), experienced.end()}), " took"));
    }
    estimate.basis = absl::StrJoin(parts, ", ");
    return estimate;
  }

  Estimate Unreached(const AllocationId& id) const {
    const std::optional<WaitReason> reason = scheduler_.GetWaitReason(id);
    if (reason && reason->kind == WaitReason::Kind::kInfeasible) {
      return {.basis = "it cannot start unless the cluster changes"};
    }
    return {.basis = stuck_ ? "no running allocation frees enough slots when it ends"
                            : "too many allocations are ahead of it"};
  }

  const RuntimeStats& runtime_stats_;
  Scheduler scheduler_;
  absl::Time now_;
  const absl::Time never_;
  std::set<AllocationId> pending_;  // requested and not started yet
  bool stuck_ = false;              // nothing more will happen
  std::map<AllocationId, Gang> gangs_;
  std::map<AllocationId, Expected> expected_;
  std::multimap<absl::Time, AllocationId> ends_;
  std::set<AllocationId> victims_;                      // preempted, and queued again
  std::map<SlotKey, std::vector<AllocationId>> ended_;  // who held a slot, in order
  std::vector<AllocationId> last_;                      // who ended just now
  std::map<AllocationId, Estimate> estimates_;
};

}  // namespace

std::map<AllocationId, Estimate> EstimateStarts(const Snapshot& snapshot,
                                                const RuntimeStats& runtime_stats,
                                                const std::vector<AllocationId>& gangs,
                                                int max_steps) {
  return QueueSimulation(snapshot, runtime_stats, gangs).Run(max_steps);
}

}  // namespace det::scheduler
