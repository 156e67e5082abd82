#include "master/agents/messages.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace det::agents {
namespace {

namespace wire = det::agent::v1;

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

model::DeviceType ToModel(wire::Device::Type type) {
  switch (type) {
    case wire::Device::CUDA:
      return model::DeviceType::kCuda;
    case wire::Device::ROCM:
      return model::DeviceType::kRocm;
    case wire::Device::TPU:
      return model::DeviceType::kTpu;
    default:
      return model::DeviceType::kCpu;
  }
}

// Reads what the agent reports about its machine.
absl::Status ReadMachine(const wire::Register& message, model::Agent& agent) {
  if (message.has_cpus()) {
    if (!std::isfinite(message.cpus()) || message.cpus() < 0) {
      return absl::InvalidArgumentError(absl::StrCat("agent ", message.agent_id(), " offers ",
                                                     message.cpus(), " CPUs; see --cpus"));
    }
    agent.cpus = message.cpus();
  }
  if (message.has_memory()) {
    if (message.memory() < 0) {
      return absl::InvalidArgumentError(absl::StrCat("agent ", message.agent_id(), " offers ",
                                                     message.memory(),
                                                     " bytes of memory; see --memory"));
    }
    agent.memory = message.memory();
  }
  DET_RETURN_IF_ERROR(CheckId("switch", message.network_switch()));
  agent.network_switch = message.network_switch();
  for (const auto& [key, value] : message.labels()) {
    DET_RETURN_IF_ERROR(CheckId("label", key));
    agent.labels.emplace(key, value);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckId(const char* what, const std::string& id) {
  constexpr size_t kMaxIdBytes = 255;
  if (id.size() <= kMaxIdBytes && std::all_of(id.begin(), id.end(), absl::ascii_isprint)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", id.size(), " bytes: it must be ",
                                                 kMaxIdBytes, " or fewer, all printable ASCII"));
}

absl::StatusOr<cluster::AgentRegistered> ToEvent(const wire::Register& message, absl::Time now) {
  if (message.agent_id().empty()) {
    return absl::InvalidArgumentError("an agent needs a name; give it one with --id");
  }
  DET_RETURN_IF_ERROR(CheckId("agent id", message.agent_id()));
  cluster::AgentRegistered event;
  event.agent = {
      .id = model::AgentId(message.agent_id()),
      .version = message.version(),
      .address = message.address(),
      .resource_pool = message.resource_pool().empty() ? "default" : message.resource_pool(),
      .registered_at = now};
  std::set<int> seen;
  for (const wire::Device& device : message.slots()) {
    if (device.id() < 0) {
      return absl::InvalidArgumentError(absl::StrCat("agent ", message.agent_id(), " has slot ",
                                                     device.id(), "; slots count from 0"));
    }
    if (!seen.insert(device.id()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("agent ", message.agent_id(), " has slot ", device.id(), " twice"));
    }
    event.agent.slots.push_back({.id = device.id(),
                                 .type = ToModel(device.type()),
                                 .brand = device.brand(),
                                 .uuid = device.uuid(),
                                 .island = device.island()});
  }
  DET_RETURN_IF_ERROR(ReadMachine(message, event.agent));
  for (const wire::RunningTask& task : message.running()) {
    DET_RETURN_IF_ERROR(CheckId("allocation id", task.allocation_id()));
    event.running.emplace_back(task.allocation_id());
  }
  return event;
}

absl::StatusOr<std::optional<cluster::Event>> ToEvent(const wire::TaskReport& report,
                                                      const model::AgentId& agent) {
  DET_RETURN_IF_ERROR(CheckId("allocation id", report.allocation_id()));
  const model::AllocationId allocation(report.allocation_id());
  switch (report.event_case()) {
    case wire::TaskReport::kStarted:
      return cluster::LocalTaskStarted{.allocation = allocation, .agent = agent};
    case wire::TaskReport::kExited:
      return cluster::LocalTaskExited{.allocation = allocation,
                                      .agent = agent,
                                      .exit_code = report.exited().exit_code(),
                                      .signal = report.exited().signal(),
                                      .message = report.exited().message(),
                                      .start_failed = report.exited().start_failed(),
                                      .system_failure = report.exited().system_failure()};
    case wire::TaskReport::EVENT_NOT_SET:
      break;
  }
  return std::nullopt;
}

wire::MasterMessage ToMessage(const cluster::StartTask& order,
                              const auth::AllocationTokens& tokens) {
  wire::MasterMessage message;
  wire::TaskSpec* task = message.mutable_start()->mutable_task();
  task->set_allocation_id(order.spec.allocation.value());
  task->set_task_id(order.spec.task.value());
  for (const int slot : order.spec.slots) task->add_slots(slot);
  if (order.spec.fraction < 1) task->set_fraction(order.spec.fraction);
  for (const std::string& word : order.spec.argv) task->add_argv(word);
  task->mutable_env()->insert(order.spec.env.begin(), order.spec.env.end());
  for (const auto& [path, content] : order.spec.files) {
    wire::RunFile* file = task->add_files();
    file->set_path(path);
    file->set_content(content);
    file->set_mode(0644);
  }
  task->set_context_hash(order.spec.context_hash);
  task->set_session_token(tokens.Make(order.spec.allocation));
  task->set_user_token(tokens.MakeForOwner(order.spec.allocation));
  return message;
}

wire::MasterMessage ToMessage(const cluster::StopTask& order) {
  wire::MasterMessage message;
  message.mutable_stop()->set_allocation_id(order.allocation.value());
  message.mutable_stop()->set_grace_seconds(absl::ToDoubleSeconds(order.grace));
  return message;
}

model::TaskId GetTaskId(const model::AllocationId& allocation) {
  const std::string& id = allocation.value();
  return model::TaskId(id.substr(0, id.rfind('.')));
}

absl::StatusOr<std::vector<model::LogLine>> ToLines(const wire::PostLogsRequest& request) {
  DET_RETURN_IF_ERROR(CheckId("agent id", request.agent_id()));
  DET_RETURN_IF_ERROR(CheckId("allocation id", request.allocation_id()));
  const model::AllocationId allocation(request.allocation_id());
  const model::TaskId task = GetTaskId(allocation);
  std::vector<model::LogLine> lines;
  lines.reserve(static_cast<size_t>(request.lines_size()));
  for (const wire::LogLine& line : request.lines()) {
    const bool known = line.level() >= 0 && line.level() <= 6;
    model::LogLine out;
    out.task = task;
    out.allocation = allocation;
    out.agent = request.agent_id();
    out.sequence = line.sequence();
    out.time = FromProto(line.timestamp());
    if (line.has_rank()) out.rank = line.rank();
    out.level = known ? static_cast<model::LogLevel>(line.level()) : model::LogLevel::kUnknown;
    out.stdtype = line.stdtype();
    out.source = line.source();
    out.text = line.text();
    lines.push_back(std::move(out));
  }
  return lines;
}

}  // namespace det::agents
