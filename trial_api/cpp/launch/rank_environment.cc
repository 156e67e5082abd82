#include "trial_api/cpp/launch/rank_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "trial_api/cpp/core/error.h"

namespace det::launch {

std::vector<std::string> CurrentEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  return environment;
}

std::vector<Ranks> GetRanksOfNode(const std::vector<core::Node>& nodes,
                                  const std::string& agent_id) {
  int size = 0;
  int first = -1;
  size_t mine = 0;
  // A node without slots runs one process.
  const auto processes = [](const core::Node& node) { return std::max(1, node.slots); };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (first < 0 && nodes[i].agent_id == agent_id) {
      first = size;
      mine = i;
    }
    size += processes(nodes[i]);
  }
  if (first < 0) {
    throw Error(absl::StrCat("agent '", agent_id, "' ($DET_AGENT_ID) is not among the ",
                             nodes.size(), " nodes of this allocation"));
  }
  std::vector<Ranks> ranks(processes(nodes[mine]));
  for (size_t local = 0; local < ranks.size(); ++local) {
    ranks[local] = {first + static_cast<int>(local), size,
                    static_cast<int>(local),         static_cast<int>(ranks.size()),
                    static_cast<int>(mine),          static_cast<int>(nodes.size())};
  }
  return ranks;
}

std::vector<std::string> RankEnvironment(const Ranks& ranks, const RankExtras& extras) {
  std::map<std::string, std::string> added = {
      {"DET_RANK", absl::StrCat(ranks.rank)},
      {"DET_SIZE", absl::StrCat(ranks.size)},
      {"DET_LOCAL_RANK", absl::StrCat(ranks.local_rank)},
      {"DET_LOCAL_SIZE", absl::StrCat(ranks.local_size)},
      {"DET_CROSS_RANK", absl::StrCat(ranks.cross_rank)},
      {"DET_CROSS_SIZE", absl::StrCat(ranks.cross_size)},
  };
  if (!extras.node_address.empty()) added["DET_NODE_ADDRESS"] = extras.node_address;
  if (!extras.rendezvous_dir.empty()) added["DET_RENDEZVOUS_DIR"] = extras.rendezvous_dir;
  if (extras.single_thread && std::getenv("OMP_NUM_THREADS") == nullptr) {
    added.emplace("OMP_NUM_THREADS", "1");
  }
  std::vector<std::string> environment;
  for (std::string& entry : CurrentEnvironment()) {
    if (!added.contains(entry.substr(0, entry.find('=')))) environment.push_back(std::move(entry));
  }
  for (const auto& [name, value] : added) environment.push_back(absl::StrCat(name, "=", value));
  return environment;
}

}  // namespace det::launch
