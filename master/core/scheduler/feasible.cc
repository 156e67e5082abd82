#include "master/core/scheduler/feasible.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/scheduler/reason_text.h"

namespace det::scheduler {
namespace {

// What one gang of the class could use of an empty node.
struct Room {
  int slots = 0;         // matching slots with enough cpus and memory for each
  int right_device = 0;  // matching slots
  bool place = false;    // for a gang without slots
  int64_t cpus = 0;      // thousandths; of a node with matching slots
  int64_t memory = 0;
};

// If a node does not limit the resource, there is always enough.
int64_t Most(const Counted& counted) {
  return counted.total < 0 ? std::numeric_limits<int64_t>::max() : counted.total;
}

bool Enough(const Counted& counted, int64_t needed) {
  return counted.total < 0 || counted.total >= needed;
}

Room RoomOn(const NodeState& node, const GangClass& c, bool all_nodes) {
  Room room;
  const Shape& shape = c.shape;
  const auto& devices = c.view(kNow).devices();
  if (all_nodes && devices.size() == 1) {
    room.right_device = devices[0] ? static_cast<int>(node.slots.size()) : 0;
  } else if (!all_nodes && c.view(kNow).capacity(node.rank) >= 0) {
    room.right_device = c.view(kNow).capacity(node.rank);
  } else {
    for (const SlotState& slot : node.slots) {
      if ((slot.enabled || all_nodes) && c.Matches(slot.device)) ++room.right_device;
    }
  }
  room.slots = room.right_device;
  if (shape.cpus > 0 && node.cpus.total >= 0) {
    room.slots = static_cast<int>(std::min<int64_t>(room.slots, node.cpus.total / shape.cpus));
  }
  if (shape.memory > 0 && node.memory.total >= 0) {
    room.slots = static_cast<int>(std::min<int64_t>(room.slots, node.memory.total / shape.memory));
  }
  if (shape.slots == 0 || room.right_device > 0) {
    room.cpus = Most(node.cpus);
    room.memory = Most(node.memory);
  }
  room.place =
      node.places.total > 0 && Enough(node.cpus, shape.cpus) && Enough(node.memory, shape.memory);
  return room;
}

struct Rooms {
  int64_t slots = 0;
  int largest = 0;
  int64_t right_device = 0;
  int most_right_device = 0;
  bool place = false;
  int64_t most_cpus = 0;  // of one node
  int64_t most_memory = 0;
  std::map<int, int> nodes_of;  // key: slots; value: nodes with exactly that many
};

void AddRoom(const PoolState& pool, const Room& room, Rooms& rooms) {
  rooms.slots += room.slots;
  rooms.largest = std::max(rooms.largest, room.slots);
  rooms.right_device += room.right_device;
  rooms.most_right_device = std::max(rooms.most_right_device, room.right_device);
  rooms.place = rooms.place || room.place;
  rooms.most_cpus = std::max(rooms.most_cpus, room.cpus);
  rooms.most_memory = std::max(rooms.most_memory, room.memory);
  if (room.slots > 0 && room.slots == room.right_device && !pool.config.heterogeneous) {
    ++rooms.nodes_of[room.slots];
  }
}

// `enough` returns whether the nodes so far suffice, so that the others can be skipped.
Rooms RoomIn(const PoolState& pool, const GangClass& c, bool all_nodes,
             absl::FunctionRef<bool(const Rooms&)> enough) {
  Rooms rooms;
  for (size_t i = 0; i < pool.nodes.size() && !enough(rooms); ++i) {
    const NodeState& node = *pool.nodes[i];
    if (!all_nodes && !pool.IsOpen(node)) continue;
    if (!c.blocked.empty() && c.blocked[i]) continue;
    AddRoom(pool, RoomOn(node, c, all_nodes), rooms);
  }
  return rooms;
}

bool Holds(const PoolState& pool, const Rooms& rooms, const Shape& shape, int slots) {
  if (slots == 0) return rooms.place;
  if (shape.fraction < kWhole && !pool.config.shared_devices) return false;
  if (slots <= rooms.largest) return true;
  if (shape.single_node) return false;
  if (pool.config.heterogeneous) return slots <= rooms.slots;
  return std::any_of(rooms.nodes_of.begin(), rooms.nodes_of.end(), [&](const auto& entry) {
    return slots % entry.first == 0 && slots / entry.first <= entry.second;
  });
}

int LargestThatFits(const PoolState& pool, const Rooms& rooms, const Shape& shape) {
  auto most = static_cast<int>(
      std::min<int64_t>(shape.single_node ? rooms.largest : rooms.slots, shape.slots));
  while (most > 0 && !Holds(pool, rooms, shape, most)) --most;
  return most;
}

// Returns the maxima of the resources of which no node has enough for a single slot; "" if none.
std::string MoreThanAnyHas(const Rooms& rooms, const Shape& shape) {
  std::vector<std::string> most;
  if (shape.cpus > rooms.most_cpus) {
    most.push_back(absl::StrCat(static_cast<double>(rooms.most_cpus) / 1000, " cpus"));
  }
  if (shape.memory > rooms.most_memory) {
    most.push_back(absl::StrCat(Bytes(rooms.most_memory), " of memory"));
  }
  return most.empty() ? "" : absl::StrCat(" has more than ", absl::StrJoin(most, " and "));
}

// Returns the devices of the nodes that gangs of the class may run on.
std::string DescribeDevices(const PoolState& pool, const GangClass& c) {
  std::set<std::string> names;
  for (size_t i = 0; i < pool.nodes.size(); ++i) {
    if (!c.blocked.empty() && c.blocked[i]) continue;
    for (const SlotState& slot : pool.nodes[i]->slots) {
      names.insert(DeviceAndType(pool.devices[static_cast<size_t>(slot.device)]));
    }
  }
  return names.empty() ? "no devices" : absl::StrJoin(names, ", ");
}

}  // namespace

bool CanHold(const NodeState& node, const GangClass& c) {
  const Room room = RoomOn(node, c, /*all_nodes=*/false);
  return c.shape.slots == 0 ? room.place : room.slots >= c.shape.slots;
}

int MaxSlotsOn(const NodeState& node, const GangClass& c) {
  return RoomOn(node, c, /*all_nodes=*/false).slots;
}

bool CanHoldPart(const NodeState& node, const GangClass& c) {
  if (c.shape.slots == 0 || c.shape.single_node) return CanHold(node, c);
  return RoomOn(node, c, /*all_nodes=*/false).slots > 0;
}

bool FitsEmpty(const PoolState& pool, const GangClass& c, bool all_nodes) {
  const auto holds = [&](const Rooms& rooms) { return Holds(pool, rooms, c.shape, c.shape.slots); };
  return holds(RoomIn(pool, c, all_nodes, holds));
}

std::string DescribeInfeasible(const PoolState& pool, const GangClass& c) {
  const Shape& shape = c.shape;
  const std::string needs = Needs(shape);
  if (shape.fraction < kWhole && !pool.config.shared_devices) {
    return absl::StrCat(needs, "; pool ", pool.name,
                        " does not share devices; request whole slots");
  }
  const Rooms rooms = RoomIn(pool, c, /*all_nodes=*/true, [](const Rooms&) { return false; });
  const std::string blocked = c.blocked.empty() ? "" : " that it may run on";
  const std::string rest = c.blocked.empty() ? "" : " without the blocked agents";
  if (shape.slots == 0) {
    const std::string more = MoreThanAnyHas(rooms, shape);
    return absl::StrCat(needs, "; no agent of pool ", pool.name, blocked,
                        more.empty() ? " accepts such tasks" : more);
  }
  if (rooms.right_device == 0 && (!shape.device.empty() || shape.slot_type >= 0)) {
    return absl::StrCat(needs, "; pool ", pool.name, rest, " has ", DescribeDevices(pool, c),
                        "; request those, or use another pool");
  }
  const int most = LargestThatFits(pool, rooms, shape);
  const std::string at_most = most == 0
                                  ? ""
                                  : absl::StrCat("; the largest request that fits is ", Slots(most),
                                                 shape.single_node ? " on one agent" : "");
  if (shape.slots <= (shape.single_node ? rooms.most_right_device : rooms.right_device) &&
      (shape.cpus > 0 || shape.memory > 0)) {
    const std::string more = MoreThanAnyHas(rooms, shape);
    return absl::StrCat(needs, "; no agent of pool ", pool.name, blocked,
                        more.empty() ? " has that much for each slot" : more, at_most);
  }
  if (shape.single_node) {
    return absl::StrCat(needs, " on one agent; the largest agent of pool ", pool.name, blocked,
                        " has ", rooms.most_right_device);
  }
  return absl::StrCat(needs, "; pool ", pool.name, rest, " has ", rooms.right_device,
                      " in all, and ", rooms.most_right_device, " on one agent",
                      most == rooms.right_device ? "" : at_most);
}

}  // namespace det::scheduler
