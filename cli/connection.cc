#include "cli/connection.h"

#include <signal.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/status_macros.h"
#include "cli/json_text.h"
#include "cli/token_cache.h"

namespace det::cli {
namespace {

// Returns the URL of the master that runs in the default data directory.
std::optional<std::string> FindLocalMaster() {
  const auto text = base::ReadFile(absl::StrCat(base::GetDefaultDataDir(), "/master.json"));
  if (!text.ok()) return std::nullopt;
  int pid = 0;
  if (!absl::SimpleAtoi(GetMember(*text, "pid").value_or(""), &pid) || pid <= 0)
    return std::nullopt;
  // The file remains after a master is killed.
  if (kill(pid, 0) != 0 && errno == ESRCH) return std::nullopt;
  return GetMember(*text, "url");
}

std::string ReadLocalToken() {
  const auto text = base::ReadFile(absl::StrCat(base::GetDefaultDataDir(), "/admin.token"));
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// Uses the cached token of the connection's user, or of the active user. Returns whether there is
// one.
bool UseCachedToken(Connection* connection) {
  const auto user = connection->user.empty() ? std::nullopt : std::optional(connection->user);
  for (const std::string& url : connection->urls) {
    const std::optional<CachedToken> cached = FindToken(url, user);
    if (!cached) continue;
    connection->user = cached->user;
    connection->token = cached->token;
    connection->source = TokenSource::kCache;
    return true;
  }
  return false;
}

void FindCredentials(const std::optional<std::string>& user,
                     const std::optional<std::string>& local, Connection* connection) {
  const std::string named = GetEnv("DET_USER");
  // An empty password is one, too: that of users who never got another.
  const char* const set = getenv("DET_PASS");
  const std::optional<std::string> password =
      set == nullptr ? std::nullopt : std::optional(std::string(set));
  const std::string token = GetEnv("DET_USER_TOKEN");
  if (user || (!named.empty() && (password || token.empty()))) {
    connection->user = user.value_or(named);
    if (connection->user == named) connection->password = password;
    UseCachedToken(connection);
    return;
  }
  if (!token.empty()) {
    connection->token = token;
    connection->source = TokenSource::kEnvironment;
    return;
  }
  if (UseCachedToken(connection)) return;
  for (const std::string& url : connection->urls) {
    if (local != url) continue;
    connection->token = ReadLocalToken();
    connection->source = TokenSource::kLocalCluster;
  }
}

}  // namespace

absl::StatusOr<std::string> CanonicalUrl(absl::string_view text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  bool tls = false;
  if (const size_t scheme = rest.find("://"); scheme != rest.npos) {
    tls = rest.substr(0, scheme) == "https";
    if (!tls && rest.substr(0, scheme) != "http") {
      return absl::InvalidArgumentError(
          absl::StrCat("master address ", text, ": \"", rest.substr(0, scheme),
                       "\" is not supported; use http://HOST:PORT or https://HOST:PORT"));
    }
    rest.remove_prefix(scheme + 3);
  }
  rest = rest.substr(0, rest.find('/'));
  const size_t colon = rest.rfind(':');
  int port = tls ? 443 : 8080;
  absl::string_view host = rest;
  if (colon != rest.npos && rest.find(']', colon) == rest.npos) {
    host = rest.substr(0, colon);
    if (!absl::SimpleAtoi(rest.substr(colon + 1), &port) || port < 1 || port > 65535) port = 0;
  }
  if (host.empty() || port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("master address \"", text, "\": expected http://HOST:PORT"));
  }
  return absl::StrCat(tls ? "https://" : "http://", host, ":", port);
}

absl::StatusOr<Connection> FindMaster(const std::optional<std::string>& option,
                                      const std::optional<std::string>& user) {
  Connection connection;
  const std::string named = option.value_or(GetEnv("DET_MASTER"));
  const std::optional<std::string> local = FindLocalMaster();
  if (!named.empty()) {
    for (const absl::string_view each : absl::StrSplit(named, ',')) {
      DET_ASSIGN_OR_RETURN(connection.urls.emplace_back(), CanonicalUrl(each));
    }
  } else if (local) {
    connection.urls = {*local};
  } else {
    return absl::FailedPreconditionError(
        "no master is running on this machine; start one with `det deploy local up`, or name one "
        "with -m http://HOST:PORT or DET_MASTER");
  }
  FindCredentials(user, local, &connection);
  return connection;
}

}  // namespace det::cli
