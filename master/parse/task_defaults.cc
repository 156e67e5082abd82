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
  enum class Use { kForwarded, kInterface, kHook, kIgnored };
  const char* name;
  Use use;
  // kForwarded: the field of an experiment's configuration; otherwise a description, or why the key
  // is ignored or refused.
  const char* words;
};

constexpr char kNoContainers[] = "tasks run as processes on the agent's machine, not in containers";
constexpr char kNoPods[] = "this cluster does not run pods";
constexpr char kNoBatch[] = "this cluster does not use a batch scheduler";
constexpr char kPorts[] = "ranks choose free ports";

constexpr Key kKeys[] = {
    {"environment_variables", Key::Use::kForwarded, "environment.environment_variables"},
    {"bind_mounts", Key::Use::kForwarded, "bind_mounts"},
    {"log_policies", Key::Use::kForwarded, "log_policies"},
    {"preemption_timeout", Key::Use::kForwarded, "preemption_timeout"},
    {"dtrain_network_interface", Key::Use::kInterface,
     "sets `NCCL_SOCKET_IFNAME` and `GLOO_SOCKET_IFNAME`, the network interface of the ranks"},
    {"startup_hook", Key::Use::kHook,
     "a shell script that runs before commands, notebooks, shells, TensorBoards and generic tasks; "
     "trials do not run it, but startup-hook.sh of their context directory"},
    {"image", Key::Use::kIgnored, kNoContainers},
    {"registry_auth", Key::Use::kIgnored, kNoContainers},
    {"force_pull_image", Key::Use::kIgnored, kNoContainers},
    {"shm_size_bytes", Key::Use::kIgnored, kNoContainers},
    {"network_mode", Key::Use::kIgnored, kNoContainers},
    {"add_capabilities", Key::Use::kIgnored, kNoContainers},
    {"drop_capabilities", Key::Use::kIgnored, kNoContainers},
    {"devices", Key::Use::kIgnored, kNoContainers},
    {"work_dir", Key::Use::kIgnored, "each task has its own working directory"},
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
  if (!nearest.empty()) return absl::StrCat("unknown field; did you mean ", nearest, "?");
  return "unknown field; see docs/reference/master-config.md";
}

// Returns a layer that sets the network interface of NCCL and Gloo.
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

// Returns a layer with only this member, at `path` of an experiment's configuration.
ConfigNode MakeLayer(std::string_view path, const ConfigMember& member) {
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

// Reports the problems of a layer that no other layer could fix.
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
    } else if (key->use == Key::Use::kHook) {
      if (member.value.AsString() != nullptr) continue;
      problems.push_back({member.where, here, absl::StrCat("expected a shell script, found ",
                                                           member.value.Describe())});
    } else if (key->use == Key::Use::kIgnored) {
      warnings.push_back({member.where, here, key->words});
    } else if (key->use == Key::Use::kForwarded) {
      layer = MergeConfig(std::move(layer), MakeLayer(key->words, member));
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

Value SelectTaskDefaults(const ConfigNode& node) {
  Value::Object selected;
  for (const ConfigMember& member : node.members) {
    const Key* key = FindKey(member.key);
    if (key == nullptr || key->use == Key::Use::kIgnored) continue;
    selected[member.key] = member.value.ToValue();
  }
  return selected;
}

std::string TaskDefaultsTable() {
  std::string table = "\n| key | effect |\n|---|---|\n";
  for (const Key& key : kKeys) {
    const std::string words =
        key.use == Key::Use::kForwarded   ? absl::StrCat("the experiment's `", key.words, "`")
        : key.use == Key::Use::kInterface ? key.words
        : key.use == Key::Use::kHook      ? key.words
                                          : absl::StrCat("*ignored: ", key.words, "*");
    absl::StrAppend(&table, "| `", key.name, "` | ", words, " |\n");
  }
  return table;
}

}  // namespace det::model
