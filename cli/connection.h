// Finds the master to connect to and the user to authenticate as. Used once by each command that
// calls a master, on the main thread. Reads the environment and small files; does not use the
// network.
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
  std::vector<std::string> urls;  // the masters of one cluster, one of which leads
  std::string token;              // empty if not signed in
  TokenSource source = TokenSource::kNone;
  std::string user;  // user of the token, or user to sign in as; empty if unknown
  std::optional<std::string> password;  // $DET_PASS, used if the token is rejected; may be empty
};

// Returns the masters of `option` (-m), else of $DET_MASTER, both as "A,B", else the running local
// cluster in the default data directory. The user is determined by the first of these that is set:
//   `user` (-u), with the cached token of the user;
//   $DET_USER with $DET_PASS, with the cached token of the user;
//   $DET_USER_TOKEN;
//   $DET_USER, or the active user of a URL, with the cached token of the user;
//   the token of the local cluster.
// Returns FAILED_PRECONDITION with instructions to start or name a master.
absl::StatusOr<Connection> FindMaster(const std::optional<std::string>& option,
                                      const std::optional<std::string>& user = std::nullopt);

// Normalizes "host", "host:port" and "http://host:port/" to "http://host:port"; https is kept. The
// default port is 8080, with https 443. Returns INVALID_ARGUMENT for other schemes.
absl::StatusOr<std::string> CanonicalUrl(absl::string_view text);

}  // namespace det::cli

#endif  // CLI_CONNECTION_H_
