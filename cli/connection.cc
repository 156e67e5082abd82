#include "cli/connection.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

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
#include "base/install.h"
#include "base/status_macros.h"
#include "cli/json_text.h"
#include "nlohmann/json.hpp"

namespace det::cli {
namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Home() {
  if (std::string home = FromEnvironment("HOME"); !home.empty()) return home;
  const passwd* user = getpwuid(getuid());
  return user == nullptr ? "/" : user->pw_dir;
}

std::string AuthFile() {
  std::string config = FromEnvironment("XDG_CONFIG_HOME");
  if (config.empty()) config = absl::StrCat(Home(), "/.config");
  return absl::StrCat(config, "/resolute/auth.json");
}

// The address of the master that runs on the default data directory.
std::optional<std::string> LocalMaster() {
  const auto text = base::ReadFile(absl::StrCat(base::DefaultDataDir(), "/master.json"));
  if (!text.ok()) return std::nullopt;
  int pid = 0;
  if (!absl::SimpleAtoi(MemberOf(*text, "pid").value_or(""), &pid) || pid <= 0) return std::nullopt;
  // The file outlives a master that was killed.
  if (kill(pid, 0) != 0 && errno == ESRCH) return std::nullopt;
  return MemberOf(*text, "url");
}

std::string RememberedToken(const std::string& url) {
  const auto text = base::ReadFile(AuthFile());
  if (!text.ok()) return "";
  return MemberOf(*text, url).value_or("");
}

std::string LocalToken() {
  const auto text = base::ReadFile(absl::StrCat(base::DefaultDataDir(), "/admin.token"));
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

}  // namespace

absl::StatusOr<std::string> CanonicalUrl(absl::string_view text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  if (const size_t scheme = rest.find("://"); scheme != rest.npos) {
    if (rest.substr(0, scheme) != "http") {
      return absl::InvalidArgumentError(absl::StrCat("master address ", text, ": \"",
                                                     rest.substr(0, scheme),
                                                     "\" is not supported; use http://HOST:PORT"));
    }
    rest.remove_prefix(scheme + 3);
  }
  rest = rest.substr(0, rest.find('/'));
  const size_t colon = rest.rfind(':');
  int port = 8080;
  absl::string_view host = rest;
  if (colon != rest.npos && rest.find(']', colon) == rest.npos) {
    host = rest.substr(0, colon);
    if (!absl::SimpleAtoi(rest.substr(colon + 1), &port) || port < 1 || port > 65535) port = 0;
  }
  if (host.empty() || port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("master address \"", text, "\": expected http://HOST:PORT"));
  }
  return absl::StrCat("http://", host, ":", port);
}

absl::StatusOr<Connection> FindMaster(const std::optional<std::string>& option) {
  Connection connection;
  const std::string named = option.value_or(FromEnvironment("DET_MASTER"));
  const std::optional<std::string> local = LocalMaster();
  if (!named.empty()) {
    for (const absl::string_view each : absl::StrSplit(named, ',')) {
      DET_ASSIGN_OR_RETURN(connection.urls.emplace_back(), CanonicalUrl(each));
    }
  } else if (local) {
    connection.urls = {*local};
  } else {
    return absl::FailedPreconditionError(
        "no master is running here; start one with `det deploy local up`, or name one with -m "
        "http://HOST:PORT or DET_MASTER");
  }
  connection.token = FromEnvironment("DET_USER_TOKEN");
  for (const std::string& url : connection.urls) {
    if (connection.token.empty()) connection.token = RememberedToken(url);
    if (connection.token.empty() && local == url) connection.token = LocalToken();
  }
  return connection;
}

absl::Status RememberToken(const std::string& url, const std::string& token) {
  const std::string path = AuthFile();
  nlohmann::json tokens = nlohmann::json::object();
  if (const auto text = base::ReadFile(path); text.ok()) {
    auto read = nlohmann::json::parse(*text, nullptr, false);
    if (read.is_object()) tokens = std::move(read);
  }
  if (token.empty()) {
    if (tokens.erase(url) == 0) return absl::OkStatus();
  } else {
    tokens[url] = token;
  }
  DET_RETURN_IF_ERROR(base::MakeDirs(path.substr(0, path.rfind('/'))));
  return base::WriteFileAtomically(path, tokens.dump(2) + "\n", 0600);
}

}  // namespace det::cli
