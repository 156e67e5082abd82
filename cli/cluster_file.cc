#include "cli/cluster_file.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace det::cli {

using Json = nlohmann::ordered_json;

bool ClusterState::AllAlive() const {
  return !members.empty() && std::all_of(members.begin(), members.end(), [](const auto& member) {
    return IsAlive(member.process);
  });
}

bool ClusterState::AnyAlive() const {
  return std::any_of(members.begin(), members.end(),
                     [](const auto& member) { return IsAlive(member.process); });
}

absl::StatusOr<ClusterState> ReadClusterFile(const std::string& path) {
  DET_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  try {
    const Json json = Json::parse(text);
    ClusterState state;
    state.url = json.at("url").get<std::string>();
    state.agents = json.at("agents").get<int>();
    state.slots = json.at("slots").get<int>();
    for (const Json& member : json.at("members")) {
      state.members.push_back(
          {member.at("name").get<std::string>(),
           {member.at("pid").get<pid_t>(), member.at("start_time").get<int64_t>()},
           member.at("log").get<std::string>()});
    }
    return state;
  } catch (const nlohmann::json::exception& error) {
    return absl::DataLossError(absl::StrCat(path, " is damaged (", error.what(),
                                            "); stop what it names by hand, then remove it"));
  }
}

absl::Status WriteClusterFile(const std::string& path, const ClusterState& state) {
  Json members = Json::array();
  for (const ClusterMember& member : state.members) {
    members.push_back({{"name", member.name},
                       {"pid", member.process.pid},
                       {"start_time", member.process.start_time},
                       {"log", member.log}});
  }
  const Json json = {
      {"url", state.url}, {"agents", state.agents}, {"slots", state.slots}, {"members", members}};
  return base::WriteFileAtomically(path, json.dump(2) + "\n", 0600);
}

}  // namespace det::cli
