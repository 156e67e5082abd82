#include "master/core/scheduler/pool_state.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "master/core/scheduler/feasible.h"
#include "master/core/scheduler/wait_notes.h"

namespace det::scheduler {

bool SoonestEnd::operator()(const GangState* a, const GangState* b) const {
  if (a->ends_at() != b->ends_at()) return a->ends_at() < b->ends_at();
  return a != b && a->gang->id < b->gang->id;
}

int64_t CountFree(const Counted& counted, Horizon horizon) {
  if (counted.total < 0) return std::numeric_limits<int64_t>::max();
  const int64_t used =
      counted.used - (horizon == kSoon ? counted.terminating : 0) + counted.claimed;
  return std::max<int64_t>(0, counted.total - used);
}

PoolState::PoolState(std::string pool_name)
    : name(std::move(pool_name)), notes(std::make_unique<Notes>()) {
  config.name = name;
}

PoolState::~PoolState() = default;

void PoolState::Prepare(absl::Time time) {
  now = time;
  tree.Settle(now);
  if (stale) Rebuild();
  if (UpdateMaintenance()) ++version;
}

// Numbers devices by type and model; most slots are like the previous one.
void PoolState::NumberDevices() {
  std::map<std::pair<int, std::string>, std::vector<SlotState*>> slots_of;
  std::vector<SlotState*>* like = nullptr;
  const Slot* before = nullptr;
  for (NodeState* node : nodes) {
    for (size_t i = 0; i < node->slots.size(); ++i) {
      const Slot& slot = node->node->slots[i];
      if (before == nullptr || before->type != slot.type || before->model != slot.model) {
        like = &slots_of[{static_cast<int>(slot.type), absl::AsciiStrToLower(slot.model)}];
        before = &slot;
      }
      like->push_back(&node->slots[i]);
    }
  }
  devices.clear();
  for (const auto& [device, slots] : slots_of) {
    for (SlotState* slot : slots) slot->device = static_cast<int>(devices.size());
    devices.push_back(device);
  }
}

void PoolState::NumberNodes() {
  std::sort(nodes.begin(), nodes.end(),
            [](const NodeState* a, const NodeState* b) { return a->id < b->id; });
  absl::flat_hash_map<std::string_view, int> switch_of;
  for (const NodeState* node : nodes) switch_of.emplace(node->node->network_switch, 0);
  std::vector<std::string_view> names;
  for (const auto& [name, index] : switch_of) names.push_back(name);
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i) switch_of[names[i]] = static_cast<int>(i);
  switches.assign(switch_of.size(), {});
  for (int rank = 0; rank < static_cast<int>(nodes.size()); ++rank) {
    NodeState& node = *nodes[static_cast<size_t>(rank)];
    node.rank = rank;
    node.network_switch = switch_of.at(node.node->network_switch);
    switches[static_cast<size_t>(node.network_switch)].push_back(rank);
  }
}

void PoolState::Rebuild() {
  stale = false;
  ++version;
  NumberNodes();
  NumberDevices();
  for (Index& i : index) i = Index();
  with_maintenance.clear();
  for (NodeState* node : nodes) {
    for (SlotState& slot : node->slots) slot.offered[kNow] = slot.offered[kSoon] = 0;
    node->places_used[kNow] = node->places_used[kSoon] = -1;
    node->cpus.total =
        node->node->cpus ? static_cast<int64_t>(*node->node->cpus * 1000 + 1e-6) : -1;
    node->memory.total = node->node->memory ? std::max<int64_t>(0, *node->node->memory) : -1;
    node->places.total = std::max(0, std::min(node->node->aux, config.max_aux_per_agent));
    if (!node->node->maintenance.empty()) with_maintenance.push_back(node);
  }
  for (NodeState* node : nodes) Refresh(*node);
}

// Returns whether a maintenance window began or ended.
bool PoolState::UpdateMaintenance() {
  bool changed = false;
  for (NodeState* node : with_maintenance) {
    const bool before = node->in_maintenance;
    node->in_maintenance = false;
    node->next_maintenance = absl::InfiniteFuture();
    for (const Maintenance& window : node->node->maintenance) {
      if (now >= window.end) continue;
      if (now >= window.begin) {
        node->in_maintenance = true;
      } else {
        node->next_maintenance = std::min(node->next_maintenance, window.begin);
      }
    }
    if (node->in_maintenance != before) {
      changed = true;
      Refresh(*node);
    }
  }
  return changed;
}

const Usage& PoolState::Total() const {
  if (total_version_ == version) return total_;
  total_version_ = version;
  Usage& total = total_ = Usage();
  for (const NodeState* node : nodes) {
    if (!IsOpen(*node)) continue;
    for (const SlotState& slot : node->slots) total.slots += slot.enabled ? kWhole : 0;
    total.cpus += std::max<int64_t>(0, node->cpus.total);
    total.memory += std::max<int64_t>(0, node->memory.total);
  }
  return total;
}

void PoolState::RefreshView(NodeState& node, View& view, Horizon horizon) {
  if (!IsOpen(node)) return view.Close(node.rank, node.network_switch);
  int capacity = 0;
  int free = 0;
  for (const SlotState& slot : node.slots) {
    if (!slot.enabled || !view.Matches(slot.device)) continue;
    ++capacity;
    if (FreePart(slot, horizon) == kWhole) ++free;
  }
  view.Set(node.rank, node.network_switch, capacity, free);
}

void PoolState::Refresh(NodeState& node) {
  if (stale) return;
  for (const Horizon horizon : {kNow, kSoon}) {
    for (const auto& view : index[horizon].views) RefreshView(node, *view, horizon);
    if (config.shared_devices) RefreshShared(node, horizon);
    RefreshPlaces(node, horizon);
  }
}

void PoolState::RefreshShared(NodeState& node, Horizon horizon) {
  const bool open = IsOpen(node);
  auto& shared = index[horizon].shared;
  for (int i = 0; i < static_cast<int>(node.slots.size()); ++i) {
    SlotState& slot = node.slots[static_cast<size_t>(i)];
    Micro& offered = slot.offered[horizon];
    Micro now_offered = open ? FreePart(slot, horizon) : 0;
    if (now_offered == kWhole) now_offered = 0;
    if (now_offered == offered) continue;
    if (offered > 0) shared.erase({offered, node.rank, i});
    if (now_offered > 0) shared.insert({now_offered, node.rank, i});
    offered = now_offered;
  }
}

void PoolState::RefreshPlaces(NodeState& node, Horizon horizon) {
  auto& by_places = index[horizon].by_places;
  int used = -1;
  if (IsOpen(node) && CountFree(node.places, horizon) > 0) {
    const int64_t terminating = horizon == kSoon ? node.places.terminating : 0;
    used = static_cast<int>(node.places.used - terminating);
  }
  int& before = node.places_used[horizon];
  if (used == before) return;
  if (before >= 0) by_places[static_cast<size_t>(before)].Erase(node.rank);
  if (used >= 0) {
    while (by_places.size() <= static_cast<size_t>(used)) {
      by_places.emplace_back(static_cast<int>(nodes.size()));
    }
    by_places[static_cast<size_t>(used)].Insert(node.rank);
  }
  before = used;
}

void PoolState::FindViews(const Shape& shape, View* (&found)[2]) {
  std::vector<bool> selected(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    selected[i] = (shape.slot_type < 0 || shape.slot_type == devices[i].first) &&
                  absl::StrContains(devices[i].second, shape.device);
  }
  for (const Horizon horizon : {kNow, kSoon}) {
    auto& views = index[horizon].views;
    const auto same = std::find_if(views.begin(), views.end(),
                                   [&](const auto& view) { return view->devices() == selected; });
    if (same != views.end()) {
      found[horizon] = same->get();
      continue;
    }
    views.push_back(std::make_unique<View>(selected, static_cast<int>(nodes.size()),
                                           static_cast<int>(switches.size())));
    for (NodeState* node : nodes) RefreshView(*node, *views.back(), horizon);
    found[horizon] = views.back().get();
  }
}

void PoolState::Compile(GangClass& gang_class) {
  if (gang_class.version == version) return;
  gang_class.version = version;
  FindViews(gang_class.shape, gang_class.views);
  gang_class.blocked.clear();
  if (!gang_class.shape.blocked.empty()) {
    gang_class.blocked.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      gang_class.blocked[i] = std::binary_search(gang_class.shape.blocked.begin(),
                                                 gang_class.shape.blocked.end(), nodes[i]->id);
    }
  }
  gang_class.feasible = FitsEmpty(*this, gang_class, /*all_nodes=*/true);
  gang_class.runnable = FitsEmpty(*this, gang_class, /*all_nodes=*/false);
}

}  // namespace det::scheduler
