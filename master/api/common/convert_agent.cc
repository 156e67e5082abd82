#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/api/common/convert.h"
#include "master/api/common/convert_resources.h"

namespace det::api {

v1::Device ToDevice(const model::Device& device) {
  static constexpr v1::Device::Type kTypes[] = {v1::Device::TYPE_CPU, v1::Device::TYPE_CUDA,
                                                v1::Device::TYPE_ROCM,
                                                v1::Device::TYPE_UNSPECIFIED /* TPU */};
  v1::Device out;
  out.set_id(device.id);
  out.set_brand(device.brand);
  out.set_uuid(device.uuid);
  out.set_type(kTypes[static_cast<int>(device.type)]);
  out.set_island(device.island);
  return out;
}

namespace {

using model::AgentState;

v1::Container ToContainer(const experiment::Allocation& allocation,
                          const experiment::LocalTask& local_task) {
  v1::Container out;
  out.set_id(allocation.id.value());
  out.set_parent(allocation.task.value());
  out.set_state(local_task.started ? v1::Container::STATE_RUNNING : v1::Container::STATE_STARTING);
  return out;
}

void CountSlot(const v1::Slot& slot, v1::SlotStats::PerType* stats) {
  stats->set_total(stats->total() + 1);
  stats->set_enabled(stats->enabled() + (slot.enabled() ? 1 : 0));
  stats->set_disabled(stats->disabled() + (slot.enabled() ? 0 : 1));
  stats->set_draining(stats->draining() + (slot.draining() ? 1 : 0));
  const v1::Container::State state =
      slot.has_container() ? slot.container().state() : v1::Container::STATE_UNSPECIFIED;
  ++(*stats->mutable_states())[v1::Container::State_Name(state)];
}

// Sets whether the slot accepts work, and if not, why: an administrator disabled it, or the master
// quarantined it.
void SetSlotStatus(const AgentState& state, const AgentState::SlotState* slot, v1::Slot* out) {
  const bool own = slot == nullptr || slot->enabled;
  out->set_quarantined(slot != nullptr && slot->quarantined);
  out->set_enabled(state.enabled && own && !out->quarantined());
  if (out->enabled()) return;
  // The slot is disabled but still in use, or its agent drains.
  out->set_draining(out->has_container() || (own && state.draining));
  if (out->quarantined()) {
    out->set_reason(slot->reason);
  } else {
    out->set_reason(own ? "the agent is disabled" : "the slot is disabled");
  }
}

void AddAdminState(const AgentState& state, absl::Time now, v1::Agent* out) {
  out->set_enabled(state.enabled);
  out->set_draining(state.draining);
  for (const model::Maintenance& window : state.maintenance) {
    if (window.end <= now) continue;
    v1::MaintenanceWindow* added = out->add_maintenance();
    *added->mutable_begin() = ToProto(window.begin);
    *added->mutable_end() = ToProto(window.end);
    added->set_note(window.note);
  }
}

void AddDescription(const model::Agent& agent, v1::Agent* out) {
  *out->mutable_registered_time() = ToProto(agent.registered_at);
  if (!agent.address.empty()) out->add_addresses(agent.address);
  out->set_version(agent.version);
  out->add_resource_pools(agent.resource_pool);
  out->set_connected(agent.connected);
  if (agent.cpus) out->set_cpus(*agent.cpus);
  if (agent.memory) out->set_memory(*agent.memory);
  out->set_network_switch(agent.network_switch);
  out->mutable_labels()->insert(agent.labels.begin(), agent.labels.end());
  for (const model::Device& device : agent.slots) {
    v1::Slot& slot = (*out->mutable_slots())[absl::StrCat(device.id)];
    slot.set_id(absl::StrCat(device.id));
    *slot.mutable_device() = ToDevice(device);
  }
}

void AddOccupants(const Occupants& occupants, const model::AgentId& id, v1::Agent* out) {
  const auto here = occupants.find(id);
  if (here == occupants.end()) return;
  for (const auto& [allocation, local_task] : here->second) {
    v1::Container container = ToContainer(*allocation, *local_task);
    for (const int slot : local_task->placement.slots) {
      *container.add_devices() = out->slots().count(absl::StrCat(slot)) > 0
                                     ? out->slots().at(absl::StrCat(slot)).device()
                                     : v1::Device();
    }
    for (const int number : local_task->placement.slots) {
      const auto slot = out->mutable_slots()->find(absl::StrCat(number));
      if (slot == out->mutable_slots()->end()) continue;
      if (!slot->second.has_container()) *slot->second.mutable_container() = container;
      *slot->second.add_containers() = container;
    }
    (*out->mutable_containers())[allocation->id.value()] = std::move(container);
  }
}

}  // namespace

Occupants FindOccupants(const cluster::Cluster& cluster) {
  Occupants occupants;
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    for (const experiment::LocalTask& local_task : allocation->local_tasks) {
      if (!local_task.exited)
        occupants[local_task.placement.agent].emplace_back(allocation, &local_task);
    }
  }
  return occupants;
}

std::optional<v1::Agent> FindAgent(const cluster::Cluster& cluster, const Occupants& occupants,
                                   const model::AgentId& id, absl::Time now) {
  const auto agent = cluster.agents().find(id);
  const auto decided = cluster.agent_states().find(id);
  const bool has_state = decided != cluster.agent_states().end();
  if (agent == cluster.agents().end() && !has_state) return std::nullopt;
  const AgentState state = has_state ? decided->second : AgentState{.id = id};
  v1::Agent out;
  out.set_id(id.value());
  AddAdminState(state, now, &out);
  if (agent != cluster.agents().end()) AddDescription(agent->second, &out);
  AddOccupants(occupants, id, &out);
  out.mutable_slot_stats();
  for (auto& [unused, slot] : *out.mutable_slots()) {
    const auto of_slot = state.slots.find(slot.device().id());
    SetSlotStatus(state, of_slot == state.slots.end() ? nullptr : &of_slot->second, &slot);
    const std::string type = v1::Device::Type_Name(slot.device().type());
    CountSlot(slot, &(*out.mutable_slot_stats()->mutable_type_stats())[type]);
    CountSlot(slot, &(*out.mutable_slot_stats()->mutable_brand_stats())[slot.device().brand()]);
  }
  return out;
}

}  // namespace det::api
