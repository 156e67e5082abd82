// Calls of a task to its master, with the task's own token. Any thread; blocks.
#ifndef AGENT_RUNNER_MASTER_CLIENT_H_
#define AGENT_RUNNER_MASTER_CLIENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/runner/http_client.h"

namespace det::agent {

class MasterClient {
 public:
  // Reads DET_MASTER, DET_MASTERS, DET_SESSION_TOKEN and the variables of TLS
  // (docs/task_environment.md). FAILED_PRECONDITION if one is missing.
  static absl::StatusOr<MasterClient> FromEnvironment();

  // Sends a JSON object. Tries each master once, beginning with the one that responded last.
  // UNAVAILABLE if none has processed the request, FAILED_PRECONDITION with the master's message if
  // it was rejected.
  absl::Status Send(const std::string& verb, const std::string& path, const std::string& body);

  // The same, but retries while no master is available.
  absl::Status SendWithRetry(const std::string& verb, const std::string& path,
                             const std::string& body);

 private:
  MasterClient() = default;

  std::vector<std::string> urls_;
  std::string token_;
  TlsTrust tls_;
};

}  // namespace det::agent

#endif  // AGENT_RUNNER_MASTER_CLIENT_H_
