#include "cli/cluster_file.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace det::cli {

using Json = nlohmann::ordered_json;

bool ClusterState::AllAlive() const {
  // The members are one master and the agents.
  return static_cast<int>(members.size()) > agents &&
         std::all_of(members.begin(), members.end(),
                     [](const auto& member) { return IsAlive(member.process); });
}

bool ClusterState::AnyAlive() const {
  return std::any_of(members.begin(), members.end(),
                     [](const auto& member) { return IsAlive(member.process); });
}

std::vector<std::string> ClusterState::AgentNames() const {
  std::vector<std::string> names;
  for (const ClusterMember& member : members) {
    if (member.name != "master") names.push_back(member.name);
  }
  for (int i = 0; static_cast<int>(names.size()) < agents; ++i) {
    const std::string name = absl::StrCat("agent-", i);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

const ClusterMember* ClusterState::Find(const std::string& name) const {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const auto& member) { return member.name == name; });
  return found == members.end() ? nullptr : &*found;
}

bool ClusterState::IsRunning(const std::string& name) const {
  const ClusterMember* member = Find(name);
  return member != nullptr && IsAlive(member->process);
}

int ClusterState::port() const {
  int port = 0;
  return absl::SimpleAtoi(url.substr(url.rfind(':') + 1), &port) ? port : 0;
}

absl::StatusOr<ClusterState> ReadClusterFile(const std::string& path) {
  DET_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  try {
    const Json json = Json::parse(text);
    ClusterState state;
    state.url = json.at("url").get<std::string>();
    state.agents = json.at("agents").get<int>();
    state.first_agents = json.value("first_agents", state.agents);
    state.slots = json.at("slots").get<int>();
    state.gpu = json.value("gpu", false);
    state.master_config = json.value("master_config", "");
    state.tls = json.value("tls", false);
    state.allow_blank_passwords = json.value("allow_blank_passwords", false);
    state.admin_password = json.value("admin_password", "");
    state.user_password = json.value("user_password", "");
    for (const Json& member : json.at("members")) {
      state.members.push_back(
          {member.at("name").get<std::string>(),
           {member.at("pid").get<pid_t>(), member.at("start_time").get<int64_t>()},
           member.at("log").get<std::string>(),
           member.value("gpus", std::vector<std::string>())});
    }
    return state;
  } catch (const nlohmann::json::exception&) {
    const std::string folder = path.substr(0, path.rfind('/'));
    return absl::DataLossError(absl::StrCat(
        path,
        " is damaged, so the processes of this cluster are unknown; find them with `pgrep -af ",
        folder, "`, stop them with `kill`, the master last, then remove the file"));
  }
}

absl::Status WriteClusterFile(const std::string& path, const ClusterState& state) {
  Json members = Json::array();
  for (const ClusterMember& member : state.members) {
    members.push_back({{"name", member.name},
                       {"pid", member.process.pid},
                       {"start_time", member.process.start_time},
                       {"log", member.log},
                       {"gpus", member.gpus}});
  }
  const Json json = {{"url", state.url},
                     {"agents", state.agents},
                     {"first_agents", state.first_agents},
                     {"admin_password", state.admin_password},
                     {"user_password", state.user_password},
                     {"slots", state.slots},
                     {"gpu", state.gpu},
                     {"master_config", state.master_config},
                     {"tls", state.tls},
                     {"allow_blank_passwords", state.allow_blank_passwords},
                     {"members", members}};
  return base::WriteFileAtomically(path, json.dump(2) + "\n", 0600);
}

}  // namespace det::cli
