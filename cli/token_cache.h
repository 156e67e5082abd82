// The tokens of users by master, in auth.json: version 2 of the file that Determined's command line
// keeps, so that who is signed in there is signed in here.
// Called by connection, sign_in and local_cluster, on the main thread. Reads and writes one small
// file, readable by its owner alone. A file that cannot be read is as good as none.
#ifndef CLI_TOKEN_CACHE_H_
#define CLI_TOKEN_CACHE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace det::cli {

// $NAME; empty where it is not set.
std::string FromEnvironment(const char* name);

// $DET_DEBUG_CONFIG_PATH/auth.json, else $XDG_CONFIG_HOME or ~/.config, then determined/auth.json.
std::string TokenCachePath();

struct CachedToken {
  std::string user;
  std::string token;
};

// The user's at the master; without a user that of the active one. `url` as by CanonicalUrl.
std::optional<CachedToken> FindToken(const std::string& url,
                                     const std::optional<std::string>& user = std::nullopt);

// Who has a token at the master, in the order of names.
std::vector<std::string> CachedUsers(const std::string& url);

// Keeps the token; with `activate` its user is the active one from now on.
absl::Status RememberToken(const std::string& url, const std::string& user,
                           const std::string& token, bool activate);

// Nothing happens where there is none.
absl::Status ForgetToken(const std::string& url, const std::string& user);

}  // namespace det::cli

#endif  // CLI_TOKEN_CACHE_H_
