#include "master/api/tasks/service_task.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/api/tasks/ssh_key.h"
#include "master/auth/tokens.h"

namespace det::api {
namespace {

using model::TaskDefinition;
using model::TaskKind;
using model::Value;

constexpr char kServiceFile[] = "service.json";

// The name by which resolute-runner knows a service; nullptr: the kind has none.
const char* GetService(TaskKind kind) {
  switch (kind) {
    case TaskKind::kNotebook:
      return "notebook";
    case TaskKind::kShell:
      return "shell";
    case TaskKind::kTensorboard:
      return "tensorboard";
    default:
      return nullptr;
  }
}

const char* ToString(model::NotebookIdleType type) {
  switch (type) {
    case model::NotebookIdleType::kKernelConnections:
      return "kernel_connections";
    case model::NotebookIdleType::kActivity:
      return "activity";
    case model::NotebookIdleType::kKernelsOrTerminals:
      break;
  }
  return "kernels_or_terminals";
}

std::string GetBasePath(const model::TaskId& id) {
  return absl::StrCat("/proxy/", id.value(), "/");
}

template <class List>
Value::List ToList(const List& list) {
  Value::List values;
  for (const auto& item : list) values.emplace_back(item);
  return values;
}

std::string GetText(const store::TaskRecord& record, const char* name) {
  const Value* value = record.task.definition->details.Find(name);
  const std::string* text = value == nullptr ? nullptr : value->AsString();
  return text == nullptr ? "" : *text;
}

void AddNumbers(const store::TaskRecord& record, const char* name,
                google::protobuf::RepeatedField<int32_t>* out) {
  const Value* value = record.task.definition->details.Find(name);
  const Value::List* list = value == nullptr ? nullptr : value->AsList();
  if (list == nullptr) return;
  for (const Value& item : *list) {
    if (const int64_t* number = item.AsInt()) out->Add(static_cast<int32_t>(*number));
  }
}

// Jupyter's own token never leaves the master and the task: the proxy adds it.
void AddNotebook(const model::TaskId& id, const model::CommandConfig& config,
                 TaskDefinition& definition) {
  const std::string token = auth::NewToken();
  definition.service = TaskDefinition::Service::kHttp;
  definition.files[kServiceFile] =
      Value(Value::Object{{"base_path", GetBasePath(id)},
                          {"token", token},
                          {"idle_type", ToString(config.notebook_idle_type)}})
          .ToJson();
  definition.details = Value::Object{{"token", token}, {"access_token", auth::NewToken()}};
}

absl::Status AddShell(TaskDefinition& definition) {
  DET_ASSIGN_OR_RETURN(const SshKey key, MakeSshKey());
  const Value::Object keys = {{"private_key", key.private_key}, {"public_key", key.public_key}};
  definition.service = TaskDefinition::Service::kTcp;
  definition.files[kServiceFile] = Value(keys).ToJson();
  definition.details = keys;
  return absl::OkStatus();
}

void AddTensorboard(const model::TaskId& id, const model::CommandConfig& config,
                    const TensorboardSources& sources, const v1::LaunchCommandRequest& request,
                    TaskDefinition& definition) {
  definition.service = TaskDefinition::Service::kHttp;
  definition.env.emplace("TF_CPP_MIN_LOG_LEVEL", "3");
  definition.files[kServiceFile] =
      Value(Value::Object{{"base_path", GetBasePath(id)},
                          {"sources", sources.sources},
                          {"arguments", ToList(config.tensorboard_args)}})
          .ToJson();
  definition.details =
      Value::Object{{"experiment_ids", ToList(sources.experiments)},
                    {"trial_ids", ToList(request.trial_ids())},
                    {"requested_experiment_ids", ToList(request.experiment_ids())}};
}

}  // namespace

std::vector<std::string> MakeRunnerArgv(TaskKind kind, const model::CommandConfig& config,
                                        const std::vector<std::string>& words) {
  std::vector<std::string> argv = {"resolute-runner"};
  const char* service = GetService(kind);
  if (service != nullptr) argv.push_back(absl::StrCat("--service=", service));
  if (!config.work_dir.empty()) argv.push_back(absl::StrCat("--work-dir=", config.work_dir));
  argv.emplace_back("--");
  if (service == nullptr) argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

absl::Status AddService(TaskKind kind, const model::TaskId& id, const model::CommandConfig& config,
                        const TensorboardSources& sources, const v1::LaunchCommandRequest& request,
                        TaskDefinition& definition) {
  switch (kind) {
    case TaskKind::kNotebook:
      AddNotebook(id, config, definition);
      return absl::OkStatus();
    case TaskKind::kShell:
      return AddShell(definition);
    case TaskKind::kTensorboard:
      AddTensorboard(id, config, sources, request, definition);
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

void FillService(const store::TaskRecord&, const LiveTask*, bool, v1::Command*) {}

void FillService(const store::TaskRecord& record, const LiveTask*, bool secrets,
                 v1::Notebook* out) {
  const std::string token = GetText(record, "access_token");
  out->set_service_address(
      absl::StrCat(GetBasePath(record.task.id), secrets ? absl::StrCat("?token=", token) : ""));
}

void FillService(const store::TaskRecord& record, const LiveTask* live, bool secrets,
                 v1::Shell* out) {
  if (secrets) out->set_private_key(GetText(record, "private_key"));
  out->set_public_key(GetText(record, "public_key"));
  const std::string user = live == nullptr || live->agent_user.empty() ? "root" : live->agent_user;
  *out->mutable_agent_user_group() = ToStruct(Value::Object{{"id", 0},
                                                            {"user_id", record.task.owner.value()},
                                                            {"user", user},
                                                            {"uid", 0},
                                                            {"group", user},
                                                            {"gid", 0}});
}

void FillService(const store::TaskRecord& record, const LiveTask*, bool, v1::Tensorboard* out) {
  out->set_service_address(GetBasePath(record.task.id));
  AddNumbers(record, "requested_experiment_ids", out->mutable_experiment_ids());
  AddNumbers(record, "trial_ids", out->mutable_trial_ids());
  if (!out->experiment_ids().empty() || !out->trial_ids().empty()) return;
  AddNumbers(record, "experiment_ids", out->mutable_experiment_ids());  // that a filter selected
}

}  // namespace det::api
