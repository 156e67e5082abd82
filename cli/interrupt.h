// Ctrl-C and SIGTERM as something that every wait of the program can see.
// Installed by main; asked by whoever waits (http_client, local_cluster), on any thread.
// Never ends the process by itself: the wait ends with CANCELLED and the command cleans up.
#ifndef CLI_INTERRUPT_H_
#define CLI_INTERRUPT_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace det::cli {

// From now on SIGINT and SIGTERM are only noted; SIGPIPE is ignored. A second SIGINT ends the
// process at once.
void InstallInterrupt();

// As Ctrl-C does: every wait ends.
void Interrupt();

bool Interrupted();

// Becomes readable, and stays so, once Interrupted(). -1 before InstallInterrupt().
int InterruptFd();

// CANCELLED if interrupted.
absl::Status CheckInterrupt();

// Waits until `fd` has one of poll's `events`, OK; DEADLINE_EXCEEDED, or CANCELLED when
// interrupted. A negative `fd` only waits.
absl::Status WaitFor(int fd, short events, absl::Duration timeout);

// The same, but goes on when interrupted: for an answer that has to be known. Never CANCELLED.
absl::Status WaitAnyway(int fd, short events, absl::Duration timeout);

}  // namespace det::cli

#endif  // CLI_INTERRUPT_H_
