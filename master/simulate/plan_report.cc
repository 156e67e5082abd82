// Report of one pass of the scheduler.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/scheduler/json/snapshot_json.h"
#include "master/simulate/report.h"
#include "master/simulate/table.h"

namespace det::simulate {
namespace {

// Formats ids as "0-3,6": ascending, in ranges.
std::string Ids(std::vector<int> slots) {
  std::sort(slots.begin(), slots.end());
  std::vector<std::string> parts;
  for (size_t i = 0; i < slots.size();) {
    size_t end = i + 1;
    while (end < slots.size() && slots[end] == slots[end - 1] + 1) ++end;
    parts.push_back(end - i == 1 ? absl::StrCat(slots[i])
                                 : absl::StrCat(slots[i], "-", slots[end - 1]));
    i = end;
  }
  return absl::StrJoin(parts, ",");
}

// Formats a placement as "a 0-3, b 0,2".
std::string Where(const std::vector<model::Placement>& on) {
  const auto part = [](std::string* out, const model::Placement& p) {
    absl::StrAppend(out, p.agent.value(), p.slots.empty() ? "" : " ", Ids(p.slots));
  };
  constexpr size_t kMaxShown = 4;
  const size_t shown = std::min(on.size(), kMaxShown);
  const std::string text =
      absl::StrJoin(on.begin(), on.begin() + static_cast<std::ptrdiff_t>(shown), ", ", part);
  if (on.size() == shown) return text;
  return absl::StrCat(text, " and ", on.size() - shown, " more agents");
}

// Returns why a gang starts: the whole gang fits into the slots that are free and not claimed.
std::string WhyStarts(const scheduler::Assignment& assignment) {
  size_t slots = 0;
  for (const model::Placement& p : assignment.on) slots += p.slots.size();
  if (slots == 0) return "fits on one agent; needs no slots";
  const std::string what = absl::StrCat("all ", slots, slots == 1 ? " slot" : " slots");
  return absl::StrCat(
      "fits: ", slots == 1 ? "1 slot" : what, " on ",
      assignment.on.size() == 1 ? "one agent" : absl::StrCat(assignment.on.size(), " agents"));
}

}  // namespace

std::string PlanText(const scheduler::Snapshot& snapshot, const scheduler::Scheduled& scheduled,
                     bool bold) {
  std::map<model::AllocationId, const scheduler::Gang*> gangs;
  for (const scheduler::Gang& gang : snapshot.gangs) gangs[gang.id] = &gang;
  const auto slots = [&](const model::AllocationId& id) {
    const scheduler::Gang& gang = *gangs.at(id);
    return gang.fraction < 1 ? absl::StrCat(gang.fraction) : absl::StrCat(gang.slots);
  };
  std::vector<std::vector<std::string>> rows;
  for (const scheduler::Assignment& a : scheduled.plan.assign) {
    rows.push_back({"start", a.gang.value(), slots(a.gang), Where(a.on), WhyStarts(a)});
  }
  for (const scheduler::Preemption& p : scheduled.plan.preempt) {
    rows.push_back({"preempt", p.victim.value(), slots(p.victim),
                    Where(gangs.at(p.victim)->running_on), p.reason});
  }
  for (const auto& [id, reason] : scheduled.waiting) {
    rows.push_back(
        {"wait", id.value(), slots(id), std::string(ToString(reason.kind)), reason.text});
  }
  if (rows.empty()) return "No gang waits, and nothing changes.\n";
  std::string text =
      Table({{"DECISION"}, {"GANG"}, {"SLOTS", true}, {"WHERE"}, {"WHY"}}, rows, bold);
  if (scheduled.plan.look_again) {
    absl::StrAppend(
        &text, "\nThe plan may change without an event at ",
        absl::FormatTime(absl::RFC3339_sec, *scheduled.plan.look_again, absl::UTCTimeZone()),
        ".\n");
  }
  return text;
}

std::string PlanJson(const scheduler::Scheduled& scheduled) {
  std::map<model::AllocationId, std::string> started;
  for (const scheduler::Assignment& a : scheduled.plan.assign) started[a.gang] = WhyStarts(a);
  return scheduler::ToJson(scheduled, started);
}

}  // namespace det::simulate
