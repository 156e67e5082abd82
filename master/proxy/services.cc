#include "master/proxy/services.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "master/api/common/agent_user.h"
#include "master/api/common/task_trial.h"
#include "master/core/experiment/task.h"
#include "master/core/experiment/trial.h"
#include "master/core/model/id_text.h"

namespace det::proxy {
namespace {

using model::TaskDefinition;

// What all services of a task have in common.
Service MakeService(const experiment::Task& task) {
  return {.id = task.id.value(),
          .task = task.id,
          .kind = task.kind,
          .workspace = task.workspace,
          .owner = task.owner,
          .definition = task.definition};
}

Service MakeService(const experiment::Trial& trial, const experiment::Experiment& experiment) {
  const model::TaskId task =
      experiment::GetTask(trial, experiment::GetTaskNumber(trial, trial.run_id));
  return {.id = task.value(), .task = task, .workspace = experiment.workspace};
}

// Where the services are, if the allocation has slots. Whether a program serves there is known by
// connecting: its agent's report that it has started may come later than its first output.
void Locate(const cluster::Cluster& cluster, const experiment::Allocation& allocation,
            Service& service) {
  service.allocation = allocation.id;
  service.agent_user = api::GetAgentUser(cluster, allocation);
  if (allocation.local_tasks.empty()) return;
  const experiment::LocalTask& first = allocation.local_tasks.front();
  if (!first.exited) service.agent = first.placement.agent;
}

// The service that the task's kind has.
std::optional<Service> GetOwnService(Service common, const experiment::Task& task) {
  if (task.definition->service == TaskDefinition::Service::kNone) return std::nullopt;
  common.port = task.service_port;
  common.is_of_kind = true;
  common.is_tcp = task.definition->service == TaskDefinition::Service::kTcp;
  // The client proves to sshd that it has the key.
  common.unauthenticated = task.kind == model::TaskKind::kShell;
  return common;
}

void AddPorts(const Service& common, const std::vector<model::ProxyPortConfig>& ports,
              std::vector<Service>& services) {
  for (const model::ProxyPortConfig& port : ports) {
    Service& service = services.emplace_back(common);
    // The service of the task's kind has this name.
    const bool is_named_after_task = port.default_service_id && services.size() == 1;
    if (!is_named_after_task) absl::StrAppend(&service.id, ":", port.proxy_port);
    service.port = port.proxy_port;
    service.is_tcp = port.proxy_tcp;
    service.unauthenticated = port.unauthenticated;
  }
}

std::vector<Service> ListServices(const Service& common, const experiment::Task& task) {
  std::vector<Service> services;
  if (std::optional<Service> own = GetOwnService(common, task)) {
    services.push_back(*std::move(own));
  }
  if (task.kind == model::TaskKind::kShell) {
    Service& terminal = services.emplace_back(services.front());
    absl::StrAppend(&terminal.id, ":terminal");
    terminal.is_terminal = true;
    terminal.unauthenticated = false;
  }
  AddPorts(common, task.definition->proxy_ports, services);
  return services;
}

struct Name {
  model::TaskId task;
  std::optional<int> port;
};

Name ParseName(std::string_view id) {
  const size_t colon = id.rfind(':');
  Name name{model::TaskId(std::string(id.substr(0, colon))), std::nullopt};
  if (colon == std::string_view::npos) return name;
  int port = 0;
  const absl::string_view digits(id.data() + colon + 1, id.size() - colon - 1);
  if (absl::SimpleAtoi(digits, &port)) name.port = port;
  return name;
}

std::optional<model::TrialId> ParseTrial(const model::TaskId& task) {
  const std::vector<std::string> parts = absl::StrSplit(task.value(), absl::ByAnyChar(".-"));
  int trial = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[1], &trial)) return std::nullopt;
  return model::TrialId(trial);
}

absl::StatusOr<Service> Choose(std::vector<Service> services, const Name& name,
                               std::string_view id) {
  for (Service& service : services) {
    // A port that is named after its task also has the name with its number.
    if (service.id == id || (name.port && service.port == name.port)) return std::move(service);
  }
  return ServiceNotFound(id);
}

}  // namespace

absl::Status ServiceNotFound(std::string_view id) {
  return absl::NotFoundError(absl::StrCat("service not found: ", std::string(id)));
}

std::string GetDetail(const Service& service, std::string_view member) {
  if (service.definition == nullptr) return "";
  const model::Value* value = service.definition->details.Find(member);
  const std::string* text = value == nullptr ? nullptr : value->AsString();
  return text == nullptr ? "" : *text;
}

std::vector<Service> ListServices(const cluster::Cluster& cluster,
                                  const experiment::Allocation& allocation) {
  std::vector<Service> services;
  if (experiment::IsTrial(allocation)) {
    const experiment::Trial* trial = cluster.FindTrial(allocation.trial);
    const auto* experiment = trial == nullptr ? nullptr : cluster.FindExperiment(trial->experiment);
    if (experiment == nullptr) return services;
    Service common = MakeService(*trial, *experiment);
    Locate(cluster, allocation, common);
    AddPorts(common, experiment->config->environment.proxy_ports, services);
  } else if (const experiment::Task* task = cluster.FindTask(allocation.task)) {
    Service common = MakeService(*task);
    Locate(cluster, allocation, common);
    services = ListServices(common, *task);
  }
  return services;
}

std::optional<absl::StatusOr<Service>> FindService(const cluster::Cluster& cluster,
                                                   std::string_view id) {
  const Name name = ParseName(id);
  if (const experiment::Task* task = cluster.FindTask(name.task)) {
    Service common = MakeService(*task);
    const experiment::Allocation* allocation =
        task->allocation ? cluster.FindAllocation(*task->allocation) : nullptr;
    if (allocation != nullptr) Locate(cluster, *allocation, common);
    return Choose(ListServices(common, *task), name, id);
  }
  const std::optional<model::TrialId> number = ParseTrial(name.task);
  const experiment::Trial* trial = number ? cluster.FindTrial(*number) : nullptr;
  const auto* experiment = trial == nullptr ? nullptr : cluster.FindExperiment(trial->experiment);
  if (experiment == nullptr) return std::nullopt;
  Service common = MakeService(*trial, *experiment);
  if (common.task != name.task) return std::nullopt;  // of an attempt before a continuation
  for (const auto* allocation : cluster.live_allocations(experiment->id)) {
    if (allocation->trial == trial->id) Locate(cluster, *allocation, common);
  }
  std::vector<Service> services;
  AddPorts(common, experiment->config->environment.proxy_ports, services);
  absl::StatusOr<Service> found = Choose(std::move(services), name, id);
  if (found.ok()) found->has_ended = model::IsTerminal(trial->state);
  return found;
}

absl::StatusOr<Service> FindEndedService(store::Store& store, std::string_view id) {
  const Name name = ParseName(id);
  if (model::IsOtherTask(name.task)) {
    const absl::StatusOr<store::TaskRecord> record = store.tasks().Get(name.task);
    if (absl::IsNotFound(record.status())) return ServiceNotFound(id);
    DET_RETURN_IF_ERROR(record.status());
    Service common = MakeService(record->task);
    common.has_ended = true;
    return Choose(ListServices(common, record->task), name, id);
  }
  const absl::StatusOr<store::TrialRecord> trial = api::GetTrialOfTask(store, name.task.value());
  if (absl::IsNotFound(trial.status())) return ServiceNotFound(id);
  DET_RETURN_IF_ERROR(trial.status());
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record,
                       store.GetExperiment(trial->trial.experiment));
  Service common = MakeService(trial->trial, record.experiment);
  common.task = name.task;
  common.id = name.task.value();
  common.has_ended = true;
  std::vector<Service> services;
  AddPorts(common, record.experiment.config->environment.proxy_ports, services);
  return Choose(std::move(services), name, id);
}

}  // namespace det::proxy
