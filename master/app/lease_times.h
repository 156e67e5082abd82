// How long a lease lasts (lease.h). A part of the configuration.
#ifndef MASTER_APP_LEASE_TIMES_H_
#define MASTER_APP_LEASE_TIMES_H_

#include "absl/time/time.h"

namespace det::app {

struct LeaseTimes {
  absl::Duration renew_every = absl::Seconds(2);
  absl::Duration length = absl::Seconds(6);
};

}  // namespace det::app

#endif  // MASTER_APP_LEASE_TIMES_H_
