#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/core/cluster/handlers.h"
#include "master/core/model/entrypoint.h"
#include "master/core/model/variables.h"

namespace det::cluster {
namespace {

using experiment::Trial;
using model::Value;

std::vector<std::string> MakeArgv(const model::Entrypoint& entrypoint) {
  if (const auto trial = model::ParseTrialEntrypoint(entrypoint)) {
    return {"resolute-launch", "--source", trial->file, "--class", trial->class_name};
  }
  if (model::IsPythonEntrypoint(entrypoint)) return model::PythonTrialCommand(entrypoint);
  if (const auto* text = std::get_if<std::string>(&entrypoint)) return {"sh", "-c", *text};
  return std::get<std::vector<std::string>>(entrypoint);
}

// Returns the newest checkpoint of the trial, or else the checkpoint of another trial from which it
// starts.
const std::optional<model::CheckpointId>& GetStartCheckpoint(const Trial& t) {
  return t.latest_checkpoint ? t.latest_checkpoint : t.warm_start;
}

Value MakeTrialInfo(const Entry& entry, const Trial& t, const experiment::Allocation& a) {
  const experiment::Experiment& e = entry.experiment;
  const std::vector<int64_t> lengths = entry.searcher.ReportLengths(t.request);
  const auto& checkpoint = GetStartCheckpoint(t);
  return Value::Object{
      {"experiment_id", e.id.value()},
      {"trial_id", t.id.value()},
      {"trial_run_id", a.run_id},
      {"trial_seed", static_cast<int64_t>(t.seed)},
      {"allocation_id", a.id.value()},
      {"task_id", t.task.value()},
      {"hparams", t.hparams},
      {"config", model::ToValue(*e.config)},
      {"latest_checkpoint", checkpoint ? Value(checkpoint->value()) : Value()},
      {"warm_start", checkpoint.has_value() && !t.latest_checkpoint},
      {"steps_completed", t.steps_completed},
      {"validate_at", Value::List(lengths.begin(), lengths.end())},
      {"checkpoint_dir", model::CheckpointDirectory(e.config->checkpoint_storage)},
  };
}

// Returns the user's environment variables for the slot type of the placement.
const std::vector<std::string>& GetVariables(
    const Cluster::State& s, const model::PerSlotType<std::vector<std::string>>& variables,
    const model::Placement& placement) {
  const auto agent = s.agents.find(placement.agent);
  if (agent == s.agents.end() || placement.slots.empty()) return variables.cpu;
  for (const model::Device& slot : agent->second.slots) {
    if (slot.id != placement.slots.front()) continue;
    if (slot.type == model::DeviceType::kCuda) return variables.cuda;
    if (slot.type == model::DeviceType::kRocm) return variables.rocm;
  }
  return variables.cpu;
}

// The same in the format of Determined's task library: exactly these members
// (docs/task_environment.md).
Value MakeLibraryTrial(const Entry& entry, const Trial& t, const experiment::Allocation& a) {
  const experiment::Experiment& e = entry.experiment;
  return Value::Object{
      {"experiment_id", e.id.value()},
      {"trial_id", t.id.value()},
      {"trial_run_id", a.run_id},
      {"trial_seed", static_cast<int64_t>(t.seed)},
      {"hparams", t.hparams},
      {"config", model::ToValue(*e.config)},
      {"steps_completed", t.steps_completed},
      {"debug", e.config->debug},
      {"inter_node_network_interface", Value()},
  };
}

// Returns the addresses of the local tasks; nullopt while one is unknown.
std::optional<Value> MakeRendezvous(const Cluster::State& s, const experiment::Allocation& a,
                                    const experiment::LocalTask& local_task) {
  Value::List addresses;
  Value::List slots;
  int64_t rank = 0;
  for (const RendezvousNode& node : GetRendezvousNodes(s, a)) {
    if (node.agent == local_task.placement.agent) rank = static_cast<int64_t>(addresses.size());
    addresses.emplace_back(node.address);
    slots.emplace_back(node.slots);
  }
  if (addresses.empty()) return std::nullopt;
  return Value(Value::Object{{"container_addrs", std::move(addresses)},
                             {"container_rank", rank},
                             {"container_slot_counts", std::move(slots)}});
}

// Sets ports for programs that must agree on them in advance, below the ephemeral range. Trials of
// one experiment that start together get different ports, and clusters on one machine use different
// offsets. Other trials may collide; the next attempt of the one that fails gets other ports.
void AddPorts(std::map<std::string, std::string>& env, const std::string& cluster_id,
              const Trial& t, const experiment::Allocation& a) {
  constexpr int64_t kPorts = 3000;
  constexpr int64_t kNextRun = 997;
  int64_t offset = t.id.value() - 1 + a.run_id * kNextRun;
  for (const char letter : cluster_id) offset = (offset * 31 + letter) % kPorts;
  env["DET_UNIQUE_PORT_OFFSET"] = absl::StrCat(offset);
  env.emplace("DTRAIN_SSH_PORT", absl::StrCat(17000 + offset));
  env.emplace("INTER_TRAIN_PROCESS_COMM_PORT_1", absl::StrCat(20000 + offset));
  env.emplace("INTER_TRAIN_PROCESS_COMM_PORT_2", absl::StrCat(23000 + offset));
  env.emplace("C10D_PORT", absl::StrCat(29400 + offset));
}

// The kernel limits a variable to 128 KiB; a longer value is only in the files.
void AddUnlessLong(std::map<std::string, std::string>& env, const std::string& name,
                   const Value& value) {
  constexpr size_t kMaxVariableBytes = 64 << 10;
  std::string text = value.ToJson();
  if (text.size() <= kMaxVariableBytes) env[name] = std::move(text);
}

// Sets the variables that Determined's task library reads, besides our own.
void AddLibraryVariables(std::map<std::string, std::string>& env, const experiment::Experiment& e,
                         const Trial& t, const experiment::Allocation& a) {
  env["DET_USER"] = experiment::OwnerName(e);
  AddUnlessLong(env, "DET_HPARAMS", t.hparams);
  AddUnlessLong(env, "DET_EXPERIMENT_CONFIG", model::ToValue(*e.config));
  env["DET_TASK_LOGGING_METADATA"] =
      Value(Value::Object{{"allocation_id", a.id.value()},
                          {"task_id", t.task.value()},
                          {"trial_id", absl::StrCat(t.id.value())},
                          {"experiment_id", absl::StrCat(e.id.value())}})
          .ToJson();
  if (e.config->checkpoint_storage.type == "shared_fs") {
    env["DET_SHARED_FS_HOST_PATH"] = e.config->checkpoint_storage.host_path;
  }
}

// Sets the user's variables, the limits that the agent enforces, and what every task has.
void AddCommonVariables(std::map<std::string, std::string>& env, const Cluster::State& s,
                        const model::PerSlotType<std::vector<std::string>>& variables,
                        const model::ResourcesConfig& resources,
                        const model::Placement& placement) {
  for (const std::string& variable : GetVariables(s, variables, placement)) {
    const std::string name(model::VariableName(variable));
    if (!model::IsUserVariable(name)) continue;
    env[name] = name.size() == variable.size() ? "" : variable.substr(name.size() + 1);
  }
  env["DET_CLUSTER_ID"] = s.settings.cluster_id;
  const auto times = static_cast<int64_t>(std::max<size_t>(1, placement.slots.size()));
  if (resources.cpus > 0) {
    env["DET_CPUS"] = absl::StrCat(resources.cpus * static_cast<double>(times));
  }
  if (resources.memory > 0) env["DET_MEMORY"] = absl::StrCat(resources.memory * times);
}

std::map<std::string, std::string> MakeEnv(const Cluster::State& s, const experiment::Experiment& e,
                                           const Trial& t, const experiment::Allocation& a,
                                           const model::Placement& placement) {
  std::map<std::string, std::string> env;
  AddCommonVariables(env, s, e.config->environment.variables, e.config->resources, placement);
  env["DET_TASK_TYPE"] = "TRIAL";
  env["DET_EXPERIMENT_ID"] = absl::StrCat(e.id.value());
  env["DET_TRIAL_ID"] = absl::StrCat(t.id.value());
  env["DET_TRIAL_RUN_ID"] = absl::StrCat(a.run_id);
  env["DET_TRIAL_SEED"] = absl::StrCat(t.seed);
  if (const auto& checkpoint = GetStartCheckpoint(t)) {
    env["DET_LATEST_CHECKPOINT"] = checkpoint->value();
  }
  env["DET_STEPS_COMPLETED"] = absl::StrCat(t.steps_completed);
  AddLibraryVariables(env, e, t, a);
  AddPorts(env, s.settings.cluster_id, t, a);
  return env;
}

// Sets the variables and files of a task that is not a trial (docs/tasks.md).
void Describe(const Cluster::State& s, const experiment::Task& task,
              const experiment::Allocation& a, const model::Placement& placement, TaskSpec& spec) {
  const model::TaskDefinition& definition = *task.definition;
  spec.argv = definition.argv;
  AddCommonVariables(spec.env, s, definition.variables, definition.resources, placement);
  spec.env["DET_TASK_TYPE"] = std::string(model::ToString(task.kind));
  spec.env["DET_TASK_ID"] = task.id.value();
  spec.env["DET_USER"] = task.owner_name;
  spec.env["DET_TASK_LOGGING_METADATA"] =
      Value(Value::Object{{"allocation_id", a.id.value()}, {"task_id", task.id.value()}}).ToJson();
  for (const auto& [name, value] : definition.env) spec.env[name] = value;
  spec.files = definition.files;
  spec.context_hash = definition.context_hash;
}

}  // namespace

TaskSpec MakeTaskSpec(const Cluster::State& state, const experiment::Allocation& allocation,
                      const experiment::LocalTask& local_task) {
  TaskSpec spec;
  spec.allocation = allocation.id;
  spec.task = allocation.task;
  spec.slots = local_task.placement.slots;
  spec.fraction = allocation.fraction;
  if (!experiment::IsTrial(allocation)) {
    Describe(state, state.tasks.at(allocation.task), allocation, local_task.placement, spec);
    return spec;
  }
  const Trial& trial = state.trials.at(allocation.trial);
  const Entry& entry = state.experiments.at(trial.experiment);
  const experiment::Experiment& experiment = entry.experiment;
  spec.argv = MakeArgv(experiment.config->entrypoint);
  spec.env = MakeEnv(state, experiment, trial, allocation, local_task.placement);
  spec.files["info/trial.json"] = MakeTrialInfo(entry, trial, allocation).ToJson();
  spec.files["determined/info/trial.json"] = MakeLibraryTrial(entry, trial, allocation).ToJson();
  if (const auto rendezvous = MakeRendezvous(state, allocation, local_task)) {
    spec.files["determined/info/rendezvous.json"] = rendezvous->ToJson();
  }
  spec.context_hash = experiment.context_hash;
  return spec;
}

}  // namespace det::cluster
