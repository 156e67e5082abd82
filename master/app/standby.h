// Waiting of a standby until it must lead. Called by master.cc on the main thread, which blocks;
// uses only the database.
#ifndef MASTER_APP_STANDBY_H_
#define MASTER_APP_STANDBY_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/app/lease.h"
#include "master/store/interfaces/store.h"

namespace det::app {

// Waits for a duration; returns true if the process must exit.
using WaitForStop = absl::AnyInvocable<bool(absl::Duration)>;

// Returns OK once the leader's lease has expired and was claimed, or if no master has led yet.
// CANCELLED if `wait_for_stop` returned true. Retries while the database does not respond.
absl::Status AwaitLead(store::Store& store, const LeaseTimes& times, WaitForStop& wait_for_stop);

}  // namespace det::app

#endif  // MASTER_APP_STANDBY_H_
