// Which master to talk to, and as whom.
// Called once by each command that talks to a master, on the main thread. Reads the environment and
// small files; never talks to anybody.
#ifndef CLI_CONNECTION_H_
#define CLI_CONNECTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace det::cli {

struct Connection {
  std::vector<std::string> urls;  // of one cluster's masters, of which one leads
  std::string token;              // empty: nobody
};

// The masters of `option` (-m), else of $DET_MASTER, either as "A,B", else that of the running
// local cluster in the default data directory. Their token: $DET_USER_TOKEN, else the first one
// that is remembered for an address, else the local cluster's own. FAILED_PRECONDITION says how to
// start or name a master.
absl::StatusOr<Connection> FindMaster(const std::optional<std::string>& option);

// "host", "host:port" or "http://host:port/" as "http://host:port"; the port is 8080 if none is
// named. INVALID_ARGUMENT for other schemes.
absl::StatusOr<std::string> CanonicalUrl(absl::string_view text);

// Remembers the token for an address in ~/.config/resolute/auth.json, readable by the owner alone;
// an empty token forgets it.
absl::Status RememberToken(const std::string& url, const std::string& token);

}  // namespace det::cli

#endif  // CLI_CONNECTION_H_
