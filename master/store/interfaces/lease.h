// The row that says which master leads. The leader writes it, standbys watch it
// (master/app/lease.h).
#ifndef MASTER_STORE_INTERFACES_LEASE_H_
#define MASTER_STORE_INTERFACES_LEASE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace det::store {

struct LeaseRecord {
  // Fencing epoch of the newest master; 0: no master has led yet.
  int64_t epoch = 0;
  // A counter that the leader increments. Unset: the leader keeps no lease, and a constant counter
  // does not mean that it has died.
  std::optional<int64_t> renewals;
  // URL of the leader; empty until it listens.
  std::string leader;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_LEASE_H_
