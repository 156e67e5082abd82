// Waits until a task serves: a notebook, a shell or a TensorBoard. Used by the commands that open
// one, on the main thread, which blocks. If the master restarts, waits for it (retry_policy.h).
#ifndef CLI_TASK_READINESS_H_
#define CLI_TASK_READINESS_H_

#include <string>

#include "absl/status/status.h"
#include "cli/api_client.h"
#include "cli/terminal.h"

namespace det::cli {

// Returns OK once the task is ready. Shows meanwhile why it waits. If the task ends before, prints
// its last log lines on stderr and returns FAILED_PRECONDITION with the reason. `noun` is
// "notebook", as in `det notebook open`. Returns CANCELLED when interrupted, and prints how to open
// and kill the task, which continues to start.
absl::Status WaitUntilReady(const ApiClient& api, const std::string& noun, const std::string& id,
                            Screen* screen);

}  // namespace det::cli

#endif  // CLI_TASK_READINESS_H_
