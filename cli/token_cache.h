// The cache of user tokens by master, auth.json. The format is version 2 of the file of
// Determined's command line, so that both share their sessions. Used by connection, sign_in and
// local_cluster on the main thread. Reads and writes one small file that only its owner can read. A
// file that cannot be read is treated as empty.
#ifndef CLI_TOKEN_CACHE_H_
#define CLI_TOKEN_CACHE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace det::cli {

// Returns the environment variable; empty if it is not set.
std::string GetEnv(const char* name);

// Returns $DET_DEBUG_CONFIG_PATH/auth.json, else determined/auth.json in $XDG_CONFIG_HOME or
// ~/.config.
std::string TokenCachePath();

struct CachedToken {
  std::string user;
  std::string token;
};

// Returns the token of the user at the master; without `user`, of the active user. `url` has the
// form of CanonicalUrl.
std::optional<CachedToken> FindToken(const std::string& url,
                                     const std::optional<std::string>& user = std::nullopt);

// Returns the users that have a token at the master, sorted by name.
std::vector<std::string> GetCachedUsers(const std::string& url);

// Stores the token; with `activate` its user becomes the active user.
absl::Status SaveToken(const std::string& url, const std::string& user, const std::string& token,
                       bool activate);

// Removes the token; does nothing if there is none.
absl::Status RemoveToken(const std::string& url, const std::string& user);

}  // namespace det::cli

#endif  // CLI_TOKEN_CACHE_H_
