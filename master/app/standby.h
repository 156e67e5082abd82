// A master that waits until it is to lead. Called by master.cc on the main thread, which waits;
// asks the database and nobody else.
#ifndef MASTER_APP_STANDBY_H_
#define MASTER_APP_STANDBY_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/app/lease.h"
#include "master/store/interfaces/store.h"

namespace det::app {

// Waits for as long; true if this process is to end meanwhile.
using StopWithin = absl::AnyInvocable<bool(absl::Duration)>;

// OK when the lease of the leader is over and was claimed for us, or nobody has led yet. CANCELLED
// when stopped. A database that does not answer is waited for.
absl::Status AwaitLead(store::Store& store, const LeaseTimes& times, StopWithin& stop_within);

}  // namespace det::app

#endif  // MASTER_APP_STANDBY_H_
