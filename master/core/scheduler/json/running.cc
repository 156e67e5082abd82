#include "master/core/scheduler/json/running.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace det::scheduler {
namespace {

constexpr double kFull = 1 + 1e-9;  // fractions add up to about 1

// The used fraction of each slot.
class Slots {
 public:
  Slots(const std::vector<Node>& nodes, Problems* problems) : problems_(problems) {
    for (const Node& node : nodes) {
      auto& slots = held_[node.id];
      for (const Slot& slot : node.slots) slots.emplace(slot.id, 0);
    }
  }

  void TakeNamed(double fraction, const RunningPart& part) {
    const std::string agent = absl::StrCat("agent \"", part.agent.value(), "\"");
    const auto it = held_.find(part.agent);
    if (it == held_.end()) return problems_->Add(part.path, absl::StrCat(agent, " does not exist"));
    for (const int id : part.slots) {
      const auto slot = it->second.find(id);
      if (slot == it->second.end()) {
        problems_->Add(part.path, absl::StrCat(agent, " has no slot ", id));
      } else if (slot->second + fraction > kFull) {
        problems_->Add(part.path, absl::StrCat("slot ", id, " of ", agent, " is already in use"));
      } else {
        slot->second += fraction;
      }
    }
  }

  void TakeCounted(double fraction, RunningPart& part) {
    const auto it = held_.find(part.agent);
    if (it == held_.end()) return;
    const int requested = part.count;
    for (auto& [id, held] : it->second) {
      if (part.count == 0) return;
      if (held + fraction > kFull) continue;
      held += fraction;
      part.slots.push_back(id);
      --part.count;
    }
    if (part.count == 0) return;
    problems_->Add(part.path,
                   absl::StrCat("agent \"", part.agent.value(), "\" has room for ",
                                requested - part.count, " of these ", requested, " slots"));
  }

 private:
  std::map<model::AgentId, std::map<int, double>> held_;
  Problems* problems_;
};

}  // namespace

void PlaceRunning(const std::vector<Node>& nodes, std::vector<std::vector<RunningPart>>& parts,
                  std::vector<Gang>& gangs, Problems* problems) {
  Slots slots(nodes, problems);
  for (size_t i = 0; i < gangs.size(); ++i) {
    for (const RunningPart& part : parts[i]) slots.TakeNamed(gangs[i].fraction, part);
  }
  for (size_t i = 0; i < gangs.size(); ++i) {
    std::set<model::AgentId> agents;
    for (RunningPart& part : parts[i]) {
      slots.TakeCounted(gangs[i].fraction, part);
      if (!agents.insert(part.agent).second) {
        problems->Add(part.path, absl::StrCat("agent \"", part.agent.value(),
                                              "\" appears twice; list its slots together"));
      }
      gangs[i].running_on.push_back({part.agent, std::move(part.slots)});
    }
  }
}

}  // namespace det::scheduler
