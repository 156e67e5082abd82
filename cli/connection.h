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

enum class TokenSource { kNone, kEnvironment, kCache, kLocalCluster };

struct Connection {
  std::vector<std::string> urls;  // of one cluster's masters, of which one leads
  std::string token;              // empty: nobody
  TokenSource source = TokenSource::kNone;
  std::string user;      // whose token it is or has to be; empty: not known
  std::string password;  // $DET_PASS, for when the token is refused
};

// The masters of `option` (-m), else of $DET_MASTER, either as "A,B", else that of the running
// local cluster in the default data directory. As whom, by the first of these that is there:
//   `user` (-u), by the token that is remembered of him;
//   $DET_USER with $DET_PASS, likewise;
//   $DET_USER_TOKEN;
//   $DET_USER, or the active user of an address, by the token that is remembered;
//   the local cluster's own token.
// FAILED_PRECONDITION says how to start or name a master.
absl::StatusOr<Connection> FindMaster(const std::optional<std::string>& option,
                                      const std::optional<std::string>& user = std::nullopt);

// "host", "host:port" or "http://host:port/" as "http://host:port", and so with https; the port is
// 8080, or 443 over https, if none is named. INVALID_ARGUMENT for other schemes.
absl::StatusOr<std::string> CanonicalUrl(absl::string_view text);

}  // namespace det::cli

#endif  // CLI_CONNECTION_H_
