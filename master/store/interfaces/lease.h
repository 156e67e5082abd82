// Who leads, as the database says it. Written by the leader, watched by standbys
// (master/app/lease.h).
#ifndef MASTER_STORE_INTERFACES_LEASE_H_
#define MASTER_STORE_INTERFACES_LEASE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace det::store {

struct LeaseRecord {
  // Of the newest master; 0: nobody has led yet.
  int64_t epoch = 0;
  // Counted up by a leader that lives; without: it keeps no lease, and nobody may conclude anything
  // from its silence.
  std::optional<int64_t> renewals;
  // Where it answers; empty: not yet.
  std::string leader;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_LEASE_H_
