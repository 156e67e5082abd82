// Adds and removes members of a local cluster: agents, or the master.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fd.h"
#include "base/status_macros.h"
#include "cli/local_cluster.h"

namespace det::cli {
namespace {

std::vector<std::string> GetAgentNames(const std::vector<ClusterMember>& members) {
  std::vector<std::string> names;
  for (const ClusterMember& member : members) {
    if (member.name != "master") names.push_back(member.name);
  }
  return names;
}

// Returns whether the name can be used for a directory and a file.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "master" && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char letter) {
           return std::isalnum(letter) || letter == '-' || letter == '_' || letter == '.';
         });
}

}  // namespace

absl::StatusOr<UpResult> LocalCluster::AddAgent(const std::string& name,
                                                const ClusterOptions& options, Progress progress) {
  const std::optional<int>& slots = options.slots;
  if (!name.empty() && !IsPlainName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("agent name \"", name,
                     "\": expected letters, digits, \"-\", \"_\" and \".\", and not \"master\""));
  }
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> before, Running());
  if (!before || !before->IsRunning("master")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no master is running in ", data_dir_, "; start it with `det deploy local master-up`"));
  }
  DET_ASSIGN_OR_RETURN(const base::Fd lock, LockDataDir(data_dir_, progress));
  UpResult up;
  up.state = *before;
  if (up.state.IsRunning(name)) return up;
  if (up.state.agents == 0) {
    up.state.agents = 1;
    DET_RETURN_IF_ERROR(SetSlots(options, *before, /*same_agents=*/true, &up).status());
    up.state.agents = 0;
  }
  if (slots && up.state.slots != *slots) {
    return absl::FailedPreconditionError(absl::StrCat("the agents in ", data_dir_, " have --slots ",
                                                      up.state.slots, ", not ", *slots));
  }
  if (name.empty() || up.state.Find(name) == nullptr) ++up.state.agents;
  if (!name.empty() && up.state.Find(name) == nullptr) up.state.members.push_back({name, {}, ""});
  const absl::Status started = Start(up.state.port(), {.gpu = options.gpu}, progress, &up);
  if (started.ok()) return up;
  RollBack(up, progress);
  DET_RETURN_IF_ERROR(WriteClusterFile(Path("cluster.json"), *before));
  return started;
}

absl::StatusOr<std::vector<std::string>> LocalCluster::RemoveAgents(
    const std::optional<std::string>& name, Progress progress) {
  std::error_code error;
  if (!std::filesystem::exists(data_dir_, error)) return std::vector<std::string>();
  DET_ASSIGN_OR_RETURN(const base::Fd lock, LockDataDir(data_dir_, progress));
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> before, Running());
  if (!before) return std::vector<std::string>();
  std::vector<std::string> names = GetAgentNames(before->members);
  if (name) {
    if (before->Find(*name) == nullptr || *name == "master") {
      return absl::NotFoundError(absl::StrCat(
          "no agent \"", *name, "\" in ", data_dir_,
          names.empty() ? "" : absl::StrCat("; it has: ", absl::StrJoin(names, ", "))));
    }
    names = {*name};
  }
  ClusterState left = *before;
  ClusterState going = *before;
  const auto goes = [&](const ClusterMember& member) {
    return std::find(names.begin(), names.end(), member.name) != names.end();
  };
  std::erase_if(left.members, goes);
  std::erase_if(going.members, [&](const ClusterMember& member) { return !goes(member); });
  left.agents = static_cast<int>(left.members.size()) - (left.Find("master") != nullptr ? 1 : 0);
  StopAgents(going, progress);
  if (left.AnyAlive()) {
    DET_RETURN_IF_ERROR(WriteClusterFile(Path("cluster.json"), left));
  } else {
    StopAll(left, progress);
  }
  return names;
}

absl::StatusOr<bool> LocalCluster::MasterDown(Progress progress) {
  std::error_code error;
  if (!std::filesystem::exists(data_dir_, error)) return false;
  DET_ASSIGN_OR_RETURN(const base::Fd lock, LockDataDir(data_dir_, progress));
  DET_ASSIGN_OR_RETURN(const std::optional<ClusterState> state, Running());
  if (!state || !state->IsRunning("master")) return false;
  const std::vector<std::string> agents = GetAgentNames(state->members);
  const bool alone = std::none_of(agents.begin(), agents.end(),
                                  [&](const std::string& name) { return state->IsRunning(name); });
  if (alone) {
    StopAll(*state, progress);
  } else {
    StopMaster(state->Find("master")->process, progress);
  }
  return true;
}

}  // namespace det::cli
