// Turns Ctrl-C and SIGTERM into a condition that every wait of the program observes. Installed by
// main; checked on any thread by code that waits (http_client, local_cluster). Never terminates the
// process on the first signal: waits end with CANCELLED, and the command cleans up.
#ifndef CLI_INTERRUPT_H_
#define CLI_INTERRUPT_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace det::cli {

// From now on SIGINT and SIGTERM are only recorded, and SIGPIPE is ignored. A second SIGINT
// terminates the process at once.
void InstallInterrupt();

// Same effect as Ctrl-C: every wait ends.
void Interrupt();

bool Interrupted();

// Becomes readable, and stays readable, once Interrupted() is true. -1 before InstallInterrupt().
int InterruptFd();

// Returns CANCELLED if interrupted.
absl::Status CheckInterrupt();

// Waits until `fd` has one of the poll `events` and returns OK. Returns DEADLINE_EXCEEDED after
// `timeout`, or CANCELLED when interrupted. A negative `fd` only waits.
absl::Status WaitFor(int fd, short events, absl::Duration timeout);

// Same as WaitFor, but an interrupt does not end the wait. Never returns CANCELLED. Used for a
// response that must be known.
absl::Status WaitUninterruptibly(int fd, short events, absl::Duration timeout);

}  // namespace det::cli

#endif  // CLI_INTERRUPT_H_
