#include "cli/token_cache.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace det::cli {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 2;

std::string Home() {
  if (std::string home = GetEnv("HOME"); !home.empty()) return home;
  const passwd* user = getpwuid(getuid());
  return user == nullptr ? "/" : user->pw_dir;
}

Json* Member(Json& object, const char* name) {
  if (!object[name].is_object()) object[name] = Json::object();
  return &object[name];
}

// Returns the parsed file; values of another form are ignored.
Json Load() {
  Json cache = Json::object();
  if (const auto text = base::ReadFile(TokenCachePath()); text.ok()) {
    Json read = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (read.is_object() && read.value("version", Json()) == kVersion) cache = std::move(read);
  }
  cache["version"] = kVersion;
  Member(cache, "masters");
  return cache;
}

absl::Status Save(const Json& cache) {
  const std::string path = TokenCachePath();
  DET_RETURN_IF_ERROR(base::MakeDirs(path.substr(0, path.rfind('/'))));
  const std::string text = cache.dump(2, ' ', false, Json::error_handler_t::replace);
  return base::WriteFileAtomically(path, text + "\n", 0600);
}

Json& GetMaster(Json& cache, const std::string& url) {
  return *Member(*Member(cache, "masters"), url.c_str());
}

}  // namespace

std::string GetEnv(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string TokenCachePath() {
  if (const std::string dir = GetEnv("DET_DEBUG_CONFIG_PATH"); !dir.empty()) {
    return absl::StrCat(dir, "/auth.json");
  }
  std::string config = GetEnv("XDG_CONFIG_HOME");
  if (config.empty()) config = absl::StrCat(Home(), "/.config");
  return absl::StrCat(config, "/determined/auth.json");
}

std::optional<CachedToken> FindToken(const std::string& url,
                                     const std::optional<std::string>& user) {
  Json cache = Load();
  Json& master = GetMaster(cache, url);
  CachedToken found;
  if (user) {
    found.user = *user;
  } else if (master["active_user"].is_string()) {
    found.user = master["active_user"].get<std::string>();
  }
  const Json& token = (*Member(master, "tokens"))[found.user];
  if (found.user.empty() || !token.is_string()) return std::nullopt;
  found.token = token.get<std::string>();
  return found;
}

std::vector<std::string> GetCachedUsers(const std::string& url) {
  Json cache = Load();
  std::vector<std::string> users;
  for (const auto& each : Member(GetMaster(cache, url), "tokens")->items()) {
    users.push_back(each.key());
  }
  return users;
}

absl::Status SaveToken(const std::string& url, const std::string& user, const std::string& token,
                       bool activate) {
  Json cache = Load();
  Json& master = GetMaster(cache, url);
  if (activate) master["active_user"] = user;
  (*Member(master, "tokens"))[user] = token;
  return Save(cache);
}

absl::Status RemoveToken(const std::string& url, const std::string& user) {
  if (!FindToken(url, user)) return absl::OkStatus();
  Json cache = Load();
  Json& master = GetMaster(cache, url);
  Member(master, "tokens")->erase(user);
  if (master["active_user"] == user) master["active_user"] = nullptr;
  return Save(cache);
}

}  // namespace det::cli
