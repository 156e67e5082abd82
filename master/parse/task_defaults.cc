#include "master/parse/task_defaults.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/model/fields.h"
#include "master/parse/merge.h"
#include "master/parse/shape.h"

namespace det::model {
namespace {

struct Key {
  enum class Use { kTaken, kInterface, kIgnored, kRefused };
  const char* name;
  Use use;
  // kTaken: where it stands in an experiment's configuration; otherwise what is done, or why
  // nothing.
  const char* words;
};

constexpr char kNoContainers[] = "tasks are processes of the agent's machine, not containers";
constexpr char kNoPods[] = "there are no pods here";
constexpr char kNoBatch[] = "this cluster starts its tasks itself";
constexpr char kPorts[] = "ranks take free ports";

constexpr Key kKeys[] = {
    {"environment_variables", Key::Use::kTaken, "environment.environment_variables"},
    {"bind_mounts", Key::Use::kTaken, "bind_mounts"},
    {"log_policies", Key::Use::kTaken, "log_policies"},
    {"preemption_timeout", Key::Use::kTaken, "preemption_timeout"},
    {"dtrain_network_interface", Key::Use::kInterface,
     "sets `NCCL_SOCKET_IFNAME` and `GLOO_SOCKET_IFNAME`, by which ranks find each other"},
    {"startup_hook", Key::Use::kRefused,
     "no script of the cluster runs before a task; put it into what starts the agents, or into "
     "startup-hook.sh of the context directory"},
    {"image", Key::Use::kIgnored, kNoContainers},
    {"registry_auth", Key::Use::kIgnored, kNoContainers},
    {"force_pull_image", Key::Use::kIgnored, kNoContainers},
    {"shm_size_bytes", Key::Use::kIgnored, kNoContainers},
    {"network_mode", Key::Use::kIgnored, kNoContainers},
    {"add_capabilities", Key::Use::kIgnored, kNoContainers},
    {"drop_capabilities", Key::Use::kIgnored, kNoContainers},
    {"devices", Key::Use::kIgnored, kNoContainers},
    {"work_dir", Key::Use::kIgnored, "a task works in a directory of its own"},
    {"nccl_port_range", Key::Use::kIgnored, kPorts},
    {"gloo_port_range", Key::Use::kIgnored, kPorts},
    {"slurm", Key::Use::kIgnored, kNoBatch},
    {"pbs", Key::Use::kIgnored, kNoBatch},
    {"cpu_pod_spec", Key::Use::kIgnored, kNoPods},
    {"gpu_pod_spec", Key::Use::kIgnored, kNoPods},
    {"checkpoint_gc_pod_spec", Key::Use::kIgnored, kNoPods},
    {"kubernetes", Key::Use::kIgnored, kNoPods},
};

const Key* FindKey(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                         [&](const Key& k) { return k.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

std::string UnknownKey(const std::string& name) {
  std::vector<std::string> known;
  for (const Key& key : kKeys) known.emplace_back(key.name);
  const std::string nearest = Nearest(name, known, 2);
  if (!nearest.empty()) return absl::StrCat("unknown key; did you mean ", nearest, "?");
  return "unknown key; docs/reference/master-config.md has those that are known";
}

// What the transports of NCCL and Gloo are told it by.
ConfigNode InterfaceLayer(const std::string& name, const std::string& where) {
  ConfigNode layer = FromValue(
      Value::Object{
          {"environment", Value::Object{{"environment_variables",
                                         Value::List{absl::StrCat("NCCL_SOCKET_IFNAME=", name),
                                                     absl::StrCat("GLOO_SOCKET_IFNAME=", name)}}}}},
      where);
  ToTableForm(layer);
  return layer;
}

// A layer with nothing but the member, at its place in an experiment's configuration.
ConfigNode LayerOf(std::string_view path, const ConfigMember& member) {
  ConfigNode node = member.value;
  while (!path.empty()) {
    const size_t dot = path.rfind('.');
    ConfigNode map;
    map.kind = ConfigNode::Kind::kMap;
    map.where = member.where;
    map.members.push_back({std::string(path.substr(dot + 1)), member.where, std::move(node)});
    node = std::move(map);
    path = dot == path.npos ? std::string_view() : path.substr(0, dot);
  }
  ToTableForm(node);
  return node;
}

// What no layer could mend.
void CheckLayer(const ConfigNode& layer, const std::string& path, std::vector<Problem>& problems) {
  ExperimentConfig scratch;
  std::vector<Problem> found;
  ReadFields(ExperimentFields(), layer, &scratch, found);
  for (Problem& problem : found) {
    const bool in_list = problem.path.find('[') != problem.path.npos;
    if (problem.missing && !in_list) continue;
    problem.path = absl::StrCat(path, ": ", problem.path);
    problems.push_back(std::move(problem));
  }
}

}  // namespace

Value ReadTaskDefaults(const ConfigNode& node, const std::string& path,
                       std::vector<Problem>& problems, std::vector<Problem>& warnings) {
  ConfigNode layer;
  for (const ConfigMember& member : node.members) {
    const std::string here = absl::StrCat(path, ".", member.key);
    const Key* key = FindKey(member.key);
    if (key == nullptr) {
      problems.push_back({member.where, here, UnknownKey(member.key)});
    } else if (member.value.is_null()) {
      continue;
    } else if (key->use == Key::Use::kRefused) {
      problems.push_back({member.where, here, key->words});
    } else if (key->use == Key::Use::kIgnored) {
      warnings.push_back({member.where, here, key->words});
    } else if (key->use == Key::Use::kTaken) {
      layer = MergeConfig(std::move(layer), LayerOf(key->words, member));
    } else if (member.value.AsString() == nullptr || member.value.AsString()->empty()) {
      problems.push_back({member.where, here,
                          absl::StrCat("expected the name of a network interface, found ",
                                       member.value.Describe())});
    } else {
      layer = MergeConfig(std::move(layer), InterfaceLayer(*member.value.AsString(), member.where));
    }
  }
  if (layer.is_null()) return Value();
  CheckLayer(layer, path, problems);
  return layer.ToValue();
}

std::string TaskDefaultsTable() {
  std::string table = "\n| key | what it does |\n|---|---|\n";
  for (const Key& key : kKeys) {
    const std::string words =
        key.use == Key::Use::kTaken       ? absl::StrCat("the experiment's `", key.words, "`")
        : key.use == Key::Use::kInterface ? key.words
        : key.use == Key::Use::kRefused   ? absl::StrCat("refused: ", key.words)
                                          : absl::StrCat("*without effect: ", key.words, "*");
    absl::StrAppend(&table, "| `", key.name, "` | ", words, " |\n");
  }
  return table;
}

}  // namespace det::model
