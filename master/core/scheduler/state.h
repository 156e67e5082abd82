// What a Scheduler remembers of nodes, gangs and jobs, with pointers instead of names, and what is
// free counted. Changed by books.h, read by everybody in this folder.
//
// Owned by Books. PURE.
#ifndef MASTER_CORE_SCHEDULER_STATE_H_
#define MASTER_CORE_SCHEDULER_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// Millionths of a slot: sums of fractions are exact.
using Micro = int64_t;
inline constexpr Micro kWhole = 1'000'000;
inline Micro MicroOf(double slots) {
  return slots >= 1e9 ? Micro{1'000'000'000} * kWhole : static_cast<Micro>(slots * kWhole + 0.5);
}

// What counts as free: what nobody has, or also what gangs have that are leaving.
enum Horizon : int { kNow = 0, kSoon = 1 };

struct GangClass;
struct GangState;
struct JobBranch;
struct JobState;
struct PoolState;

struct SlotState {
  int id = 0;
  int device = 0;  // index into PoolState::devices
  int island = 0;
  bool enabled = true;
  bool claimed = false;
  Micro used = 0;             // by the gangs on it
  Micro leaving = 0;          // of that, by gangs that are leaving
  Micro offered[2] = {0, 0};  // its part in Index::shared, by horizon; 0: not in it
};

// Of cpus (in thousandths), memory (bytes) and places for gangs without slots.
struct Counted {
  int64_t total = -1;  // -1: not counted, there is always enough
  int64_t used = 0;
  int64_t leaving = 0;  // of that, by gangs that are leaving
  int64_t claimed = 0;
};

struct NodeState {
  model::AgentId id;
  std::unique_ptr<const Node> owned;
  // `owned`, or borrowed by Schedule() from its snapshot; nullptr: known from the gangs on it
  // alone.
  const Node* node = nullptr;
  PoolState* pool = nullptr;
  int rank = -1;  // in the order of ids of its pool
  int network_switch = 0;
  std::vector<SlotState> slots;  // by id
  Counted cpus, memory, places;
  int places_used[2] = {-1, -1};  // its place in Index::by_places, by horizon; -1: none
  bool in_maintenance = false;
  bool to_refresh = false;  // while many gangs are vacated
  absl::Time next_maintenance = absl::InfiniteFuture();
  std::vector<GangState*> gangs;
};

// What a gang holds, or will, on one node.
struct Hold {
  NodeState* node = nullptr;
  absl::InlinedVector<int, 4> slots;  // indexes into NodeState::slots
  int vanished = 0;                   // slots that it names and the node does not have
};

// A place in the queue under a policy with a fixed order. Smaller goes first.
struct OrderKey {
  int priority = 0;  // 0 where the policy knows none
  double position = 0;
  int64_t submitted = 0;
  const GangState* gang = nullptr;
};
bool operator<(const OrderKey& a, const OrderKey& b);

// The waiting gangs of one job and one class, by submission.
struct JobQueue {
  struct BySubmission {
    bool operator()(const GangState* a, const GangState* b) const;
  };
  JobState* job = nullptr;
  GangClass* gang_class = nullptr;
  bool listed = false;  // whether it is in GangClass::queues, under `key`
  OrderKey key;
  absl::btree_set<GangState*, BySubmission> gangs;
};

struct GangState {
  std::unique_ptr<const Gang> owned;
  const Gang* gang = nullptr;  // `owned`, or borrowed by Schedule() from its snapshot
  int64_t submitted = 0;       // as it says: at hand for the order
  PoolState* pool = nullptr;
  JobState* job = nullptr;
  JobBranch* branch = nullptr;  // of its job in its pool
  GangClass* gang_class = nullptr;
  bool running = false;
  bool leaving = false;
  bool fresh = false;                  // started in this pass
  bool backfilled = false;             // if it is fresh: Assignment::backfilled
  std::optional<int> victim_priority;  // may be asked to go, and is listed as of this priority
  bool settled = false;                // under fair share: listed in its branches
  absl::Time started_at, saved_at;
  std::vector<Hold> holds;
  Micro held = 0;  // slots, as limits count them

  int slots() const;  // that it has now
  absl::Time ends_at() const { return started_at + gang->max_run_time; }
};

// A user or a workspace, over all pools.
struct Owner {
  std::string name;
  std::optional<Limit> limit;
  Micro held = 0;
  bool closed = false;  // in this round: its limit refused somebody
};

struct JobState {
  Job job;
  bool known = false;  // put, not only named by gangs
  Owner* user = nullptr;
  Owner* workspace = nullptr;
  Micro held = 0;
  Micro leaving = 0;    // of that
  int64_t gangs = 0;    // that run
  bool closed = false;  // in this round: its max_slots or max_gangs refused somebody
  int fresh = 0;        // gangs that started in this pass
  absl::InlinedVector<std::unique_ptr<JobQueue>, 1> queues;
  absl::InlinedVector<GangState*, 2> running;
  absl::InlinedVector<JobBranch*, 1> branches;  // of each pool that its gangs name
  int members = 0;                              // gangs that name it
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_STATE_H_
