#include "agent/link/messages.h"

#include <cmath>
#include <variant>

#include "absl/time/time.h"
#include <google/protobuf/timestamp.pb.h>

namespace det::agent {
namespace {

void SetTime(absl::Time time, google::protobuf::Timestamp* proto) {
  const int64_t nanos = absl::ToUnixNanos(time);
  const int64_t seconds = absl::ToUnixSeconds(time);
  proto->set_seconds(seconds);
  proto->set_nanos(static_cast<int32_t>(nanos - seconds * 1'000'000'000));
}

v1::Device::Type ToProto(DeviceType type) {
  switch (type) {
    case DeviceType::kCuda:
      return v1::Device::CUDA;
    case DeviceType::kRocm:
      return v1::Device::ROCM;
    case DeviceType::kTpu:
      return v1::Device::TPU;
    case DeviceType::kCpu:
      break;
  }
  return v1::Device::CPU;
}

}  // namespace

v1::Register ToProto(const Registration& registration) {
  v1::Register proto;
  proto.set_agent_id(registration.agent_id);
  proto.set_version(registration.version);
  proto.set_resource_pool(registration.resource_pool);
  proto.set_address(registration.address);
  proto.set_incarnation(registration.incarnation);
  for (const Device& device : registration.devices) {
    v1::Device* slot = proto.add_slots();
    slot->set_id(device.id);
    slot->set_type(ToProto(device.type));
    slot->set_brand(device.brand);
    slot->set_uuid(device.uuid);
    slot->set_island(device.island);
  }
  if (registration.cpus) proto.set_cpus(*registration.cpus);
  if (registration.memory) proto.set_memory(*registration.memory);
  proto.set_network_switch(registration.network_switch);
  proto.set_machine_id(registration.machine_id);
  proto.mutable_labels()->insert(registration.labels.begin(), registration.labels.end());
  for (const RunningTask& task : registration.running) {
    v1::RunningTask* running = proto.add_running();
    running->set_allocation_id(task.allocation.value());
    for (const int slot : task.slots) running->add_slots(slot);
  }
  return proto;
}

v1::TaskReport ToProto(const Report& report) {
  v1::TaskReport proto;
  proto.set_sequence(report.sequence);
  proto.set_allocation_id(report.allocation.value());
  SetTime(report.time, proto.mutable_time());
  if (const auto* start = std::get_if<TaskStart>(&report.event)) {
    proto.mutable_started()->set_pid(start->pid);
  } else {
    const TaskExit& exit = std::get<TaskExit>(report.event);
    proto.mutable_exited()->set_exit_code(exit.exit_code);
    proto.mutable_exited()->set_signal(exit.signal);
    proto.mutable_exited()->set_message(exit.message);
    proto.mutable_exited()->set_start_failed(exit.start_failed);
    proto.mutable_exited()->set_system_failure(exit.system_failure);
  }
  return proto;
}

v1::PostLogsRequest ToProto(const std::string& agent_id, const AllocationId& allocation,
                            const std::vector<OutputLine>& lines) {
  v1::PostLogsRequest proto;
  proto.set_agent_id(agent_id);
  proto.set_allocation_id(allocation.value());
  for (const OutputLine& line : lines) {
    v1::LogLine* out = proto.add_lines();
    SetTime(line.time, out->mutable_timestamp());
    if (line.rank.has_value()) out->set_rank(*line.rank);
    out->set_level(static_cast<int32_t>(line.level));
    out->set_stdtype(line.stdtype);
    out->set_source(line.source);
    out->set_text(line.text);
    out->set_sequence(line.sequence);
  }
  return proto;
}

TaskSpec FromProto(const v1::TaskSpec& proto) {
  TaskSpec spec;
  spec.allocation = AllocationId(proto.allocation_id());
  spec.task_id = proto.task_id();
  spec.slots.assign(proto.slots().begin(), proto.slots().end());
  // Any other value means the whole slot.
  if (proto.fraction() > 0 && proto.fraction() < 1) spec.fraction = proto.fraction();
  spec.argv.assign(proto.argv().begin(), proto.argv().end());
  spec.env.insert(proto.env().begin(), proto.env().end());
  for (const v1::RunFile& file : proto.files()) {
    spec.files.push_back({file.path(), file.content(), file.mode() == 0 ? 0600 : file.mode()});
  }
  spec.context_hash = proto.context_hash();
  spec.session_token = proto.session_token();
  spec.user_token = proto.user_token();
  return spec;
}

StopTask FromProto(const v1::StopTask& proto) {
  // Any other value means an immediate kill.
  const double seconds = proto.grace_seconds();
  return {AllocationId(proto.allocation_id()),
          std::isfinite(seconds) && seconds > 0 ? absl::Seconds(seconds) : absl::ZeroDuration()};
}

}  // namespace det::agent
