#include "master/parse/command.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/model/field_rows.h"
#include "master/core/model/fields.h"
#include "master/parse/config_node.h"
#include "master/parse/merge.h"
#include "master/parse/problems.h"
#include "master/parse/read.h"
#include "master/parse/shape.h"

namespace det::model {
namespace {

using Owner = CommandConfig;
using Role = Field::Role;

// The fields that a trial does not have.
constexpr Field kOwnFields[] = {
    {.path = "description",
     .description = "The name that users see.",
     .target = DET_AT(description),
     .default_json = "\"\""},
    {.path = "entrypoint",
     .description = "The command line: one word is run by a shell, several are a program and its "
                    "arguments.",
     .target = DET_AT(entrypoint),
     .default_json = "[]"},
    {.path = "tensorboard_args",
     .description = "More arguments of TensorBoard.",
     .target = DET_AT(tensorboard_args),
     .default_json = "[]"},
    {.path = "idle_timeout",
     .description = "The time without activity after which a notebook or TensorBoard ends.",
     .target = DET_TARGET(DurationTarget{
         &c.idle_timeout,
         [](const void* at) {
           const auto& place = *static_cast<const std::optional<absl::Duration>*>(at);
           return place ? std::optional(absl::ToDoubleSeconds(*place)) : std::nullopt;
         },
         [](void* at, double seconds) {
           *static_cast<std::optional<absl::Duration>*>(at) = absl::Seconds(seconds);
         }}),
     .default_json = "null",
     .min = 0,
     .above_min = true},
    {.path = "notebook_idle_type",
     .description = "What counts as activity of a notebook.",
     .target = DET_CHOICE(notebook_idle_type),
     .default_json = "\"kernels_or_terminals\"",
     .choices = "kernels_or_terminals|kernel_connections|activity"},
    {.path = "work_dir",
     .description = "The working directory; not together with a context directory.",
     .target = DET_AT(work_dir),
     .default_json = "\"\""},
    {.path = "preemptible",
     .description = "Whether the scheduler may preempt the task; it is then started again.",
     .target = DET_AT(preemptible),
     .default_json = "false"},
    {.path = "preemption_timeout",
     .description = "The time that a preempted task has to exit.",
     .target = DET_TARGET(DurationTarget{
         &c.preemption_timeout_seconds,
         [](const void* at) {
           return std::optional<double>(static_cast<double>(*static_cast<const int64_t*>(at)));
         },
         [](void* at, double seconds) {
           *static_cast<int64_t*>(at) = static_cast<int64_t>(seconds);
         }}),
     .default_json = "0",
     .min = 0,
     .max = kMaxInt},
};

// The fields that are as in the configuration of an experiment.
constexpr const char* kSharedFields[] = {"bind_mounts", "debug", "environment",
                                         "pbs",         "slurm", "resources"};

const FieldTable& OwnFields() {
  static CommandConfig& scratch = *new CommandConfig;
  static const FieldTable& table =
      *new FieldTable({std::begin(kOwnFields), std::end(kOwnFields)}, &scratch);
  return table;
}

// The fields that a generic task does not have.
constexpr const char* kNotOfGenericTasks[] = {"description", "idle_timeout", "notebook_idle_type",
                                              "tensorboard_args"};

bool IsShared(std::string_view key) {
  return std::find(std::begin(kSharedFields), std::end(kSharedFields), key) !=
         std::end(kSharedFields);
}

ConfigMember* FindMember(ConfigNode& map, std::string_view key) {
  const auto it = std::find_if(map.members.begin(), map.members.end(),
                               [key](const ConfigMember& member) { return member.key == key; });
  return it == map.members.end() ? nullptr : &*it;
}

void Remove(ConfigNode& map, std::string_view key) {
  std::erase_if(map.members, [key](const ConfigMember& member) { return member.key == key; });
}

// The name of the slots in the table of fields.
constexpr char kSlots[] = "slots_per_trial";

// Converts `resources.slots`. The names of the field in a trial's configuration are refused.
void RenameSlots(ConfigNode& root, std::vector<Problem>& problems) {
  ConfigMember* resources = FindMember(root, "resources");
  if (resources == nullptr || !resources->value.is_map()) return;
  for (const char* of_trials : {kSlots, "max_slots_per_trial"}) {
    if (const ConfigMember* member = FindMember(resources->value, of_trials)) {
      problems.push_back({member->where, absl::StrCat("resources.", of_trials),
                          "is for trials; write resources.slots"});
    }
    Remove(resources->value, of_trials);
  }
  ConfigMember* slots = FindMember(resources->value, "slots");
  if (slots == nullptr) return;
  if (slots->value.is_map()) {
    problems.push_back({slots->where, "resources.slots", "expected an integer >= 0, found a map"});
    return Remove(resources->value, "slots");
  }
  slots->key = kSlots;
}

// Removes what a template of experiments has and a task does not.
void SelectTemplate(ConfigNode& root) {
  std::erase_if(root.members, [](const ConfigMember& member) {
    return !IsShared(member.key) && OwnFields().Find(member.key) == nullptr;
  });
  Remove(root, "entrypoint");  // of the trials
  ConfigMember* resources = FindMember(root, "resources");
  if (resources == nullptr || !resources->value.is_map()) return;
  for (const char* key :
       {"slots", kSlots, "max_slots_per_trial", "resource_pool", "is_single_node"}) {
    Remove(resources->value, key);
  }
}

ConfigNode WithoutMembers(const ConfigNode& root) {
  ConfigNode copy;
  copy.kind = ConfigNode::Kind::kMap;
  copy.where = root.where;
  return copy;
}

std::string DescribeUnknown(const std::string& key) {
  std::vector<std::string> known(std::begin(kSharedFields), std::end(kSharedFields));
  for (const Field& field : kOwnFields) known.emplace_back(field.path);
  return absl::StrCat("unknown field; ", Suggest(OwnFields(), key, known));
}

CommandConfig FromTree(const ConfigNode& root, std::vector<Problem>& problems,
                       std::vector<Problem>& warnings) {
  ConfigNode own = WithoutMembers(root);
  ConfigNode shared = WithoutMembers(root);
  for (const ConfigMember& member : root.members) {
    if (OwnFields().Find(member.key) != nullptr) {
      own.members.push_back(member);
    } else if (IsShared(member.key)) {
      shared.members.push_back(member);
    } else {
      problems.push_back({member.where, member.key, DescribeUnknown(member.key)});
    }
  }
  CommandConfig config;
  ReadFields(OwnFields(), own, &config, problems);
  ExperimentConfig trial;
  std::vector<Problem> found;
  ReadFields(ExperimentFields(), shared, &trial, found);
  CheckUnsupportedFields(shared, trial, found, warnings);
  for (Problem& problem : found) {
    // A task has no searcher, and the like.
    if (problem.missing && problem.path.find('[') == std::string::npos) continue;
    if (problem.path == "resources.slots_per_trial") problem.path = "resources.slots";
    problems.push_back(std::move(problem));
  }
  // A command must not run once on each of several agents.
  if (root.FindPath("resources.is_single_node") == nullptr) trial.resources.is_single_node = true;
  if (trial.resources.slot_fraction < 1 && trial.resources.slots_per_trial != 1) {
    trial.resources.slot_fraction = 1;
  }
  config.environment = std::move(trial.environment);
  config.resources = std::move(trial.resources);
  config.bind_mounts = std::move(trial.bind_mounts);
  config.slurm = std::move(trial.slurm);
  config.pbs = std::move(trial.pbs);
  config.debug = trial.debug;
  return config;
}

template <class T>
Value NullIfEmpty(const T& list) {
  if (list.empty()) return Value();
  Value::List values;
  for (const auto& item : list) values.emplace_back(item);
  return values;
}

Value ShowVariables(const PerSlotType<std::vector<std::string>>& variables) {
  Value::Object shown;
  const auto add = [&](const char* kind, const std::vector<std::string>& of) {
    if (!of.empty()) shown[kind] = NullIfEmpty(of);
  };
  add("cpu", variables.cpu);
  add("cuda", variables.cuda);
  add("rocm", variables.rocm);
  return shown;
}

Value ShowPorts(const std::vector<ProxyPortConfig>& ports) {
  if (ports.empty()) return Value();
  Value::List shown;
  for (const ProxyPortConfig& port : ports) {
    shown.emplace_back(Value::Object{{"proxy_port", port.proxy_port},
                                     {"proxy_tcp", port.proxy_tcp},
                                     {"unauthenticated", port.unauthenticated},
                                     {"default_service_id", port.default_service_id}});
  }
  return shown;
}

Value ShowMounts(const std::vector<BindMountConfig>& mounts) {
  if (mounts.empty()) return Value();
  Value::List shown;
  for (const BindMountConfig& mount : mounts) {
    shown.emplace_back(Value::Object{{"host_path", mount.host_path},
                                     {"container_path", mount.container_path},
                                     {"read_only", mount.read_only},
                                     {"propagation", mount.propagation}});
  }
  return shown;
}

}  // namespace

absl::StatusOr<CommandConfig> BuildCommandConfig(const ConfigDocument& document,
                                                 const std::vector<std::string>& overrides,
                                                 const CommandLayers& layers,
                                                 std::vector<std::string>* warnings) {
  std::vector<Problem> problems;
  ConfigNode root;
  const auto merge = [&](ConfigNode high) {
    RenameSlots(high, problems);
    ToTableForm(high);
    root = MergeConfig(std::move(root), high);
  };
  for (const ConfigLayer& layer : layers.defaults) {
    DET_ASSIGN_OR_RETURN(ConfigNode high, ReadYaml(layer.text, layer.name, true));
    DET_RETURN_IF_ERROR(CheckIsMap(high, layer.name));
    SelectTemplate(high);
    merge(std::move(high));
  }
  for (const ConfigLayer& layer : layers.templates) {
    DET_ASSIGN_OR_RETURN(ConfigNode high, ReadYaml(layer.text, layer.name, true));
    DET_RETURN_IF_ERROR(CheckIsMap(high, layer.name));
    SelectTemplate(high);
    merge(std::move(high));
  }
  ConfigNode own = document.root();
  for (const std::string& text : overrides) DET_RETURN_IF_ERROR(ApplyOverride(text, own));
  merge(std::move(own));
  root.where = document.source();
  std::vector<Problem> soft;
  CommandConfig config = FromTree(root, problems, soft);
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  if (warnings != nullptr) *warnings = ToLines(std::move(soft));
  return config;
}

absl::StatusOr<Value> MergeSubmittedConfig(const Value& base, const ConfigDocument& document,
                                           const std::vector<std::string>& overrides) {
  ConfigNode root = document.root();
  for (const std::string& text : overrides) DET_RETURN_IF_ERROR(ApplyOverride(text, root));
  std::vector<Problem> problems;
  Value::Object merged = base.AsObject() == nullptr ? Value::Object() : *base.AsObject();
  for (const ConfigMember& member : root.members) {
    if (std::count(std::begin(kNotOfGenericTasks), std::end(kNotOfGenericTasks), member.key) > 0) {
      problems.push_back({member.where, member.key, "generic tasks do not have this field"});
    }
    merged[member.key] = member.value.ToValue();
  }
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  return Value(std::move(merged));
}

Value ToShownValue(const CommandConfig& config, const std::string& pool, int priority) {
  const EnvironmentConfig& environment = config.environment;
  const auto& image = environment.image;
  return Value::Object{
      {"bind_mounts", ShowMounts(config.bind_mounts)},
      {"debug", config.debug},
      {"description", config.description},
      {"entrypoint", NullIfEmpty(config.entrypoint)},
      {"environment",
       Value::Object{
           {"add_capabilities", NullIfEmpty(environment.add_capabilities)},
           {"drop_capabilities", NullIfEmpty(environment.drop_capabilities)},
           {"environment_variables", ShowVariables(environment.variables)},
           {"force_pull_image", environment.force_pull_image},
           {"image", Value::Object{{"cpu", image.cpu}, {"cuda", image.cuda}, {"rocm", image.rocm}}},
           {"pod_spec", Value()},
           {"ports", Value()},
           {"proxy_ports", ShowPorts(environment.proxy_ports)}}},
      {"idle_timeout",
       config.idle_timeout ? Value(FormatIdleTimeout(*config.idle_timeout)) : Value()},
      {"notebook_idle_type", ValueAt(*OwnFields().Find("notebook_idle_type"),
                                     ChoiceTarget(MakeChoiceTarget(const_cast<NotebookIdleType&>(
                                         config.notebook_idle_type))))},
      {"pbs", Value::Object{}},
      {"preemptible", config.preemptible},
      {"resources", Value::Object{{"devices", Value()},
                                  {"is_single_node", Value()},
                                  {"priority", priority},
                                  {"resource_pool", pool},
                                  {"slots", config.resources.slots_per_trial},
                                  {"weight", config.resources.weight}}},
      {"slurm", Value::Object{}},
      {"tensorboard_args", NullIfEmpty(config.tensorboard_args)},
      {"work_dir", config.work_dir.empty() ? Value() : Value(config.work_dir)},
  };
}

std::string FormatIdleTimeout(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  const int64_t hours = seconds / 3600;
  const int64_t minutes = seconds / 60 % 60;
  return absl::StrCat(hours > 0 ? absl::StrCat(hours, "h") : "",
                      seconds >= 60 ? absl::StrCat(minutes, "m") : "", seconds % 60, "s");
}

}  // namespace det::model
