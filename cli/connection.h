// Which master to talk to, and as whom.
// Called once by each command that talks to a master, on the main thread. Reads the environment and
// small files; never talks to anybody.
#ifndef CLI_CONNECTION_H_
#define CLI_CONNECTION_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace det::cli {

struct Connection {
  std::string url;    // "http://127.0.0.1:8080"
  std::string token;  // empty: nobody
};

// The master of `option` (-m), else of $DET_MASTER, else of the running local cluster in the
// default data directory. Its token: $DET_USER_TOKEN, else the one remembered for the address, else
// the local cluster's own. FAILED_PRECONDITION says how to start or name a master.
absl::StatusOr<Connection> FindMaster(const std::optional<std::string>& option);

// "host", "host:port" or "http://host:port/" as "http://host:port"; the port is 8080 if none is
// named. INVALID_ARGUMENT for other schemes.
absl::StatusOr<std::string> CanonicalUrl(absl::string_view text);

// Remembers the token for an address in ~/.config/resolute/auth.json, readable by the owner alone;
// an empty token forgets it.
absl::Status RememberToken(const std::string& url, const std::string& token);

}  // namespace det::cli

#endif  // CLI_CONNECTION_H_
