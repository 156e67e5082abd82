#include "master/store/postgres/agent_rows.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

using model::AgentState;
using model::Value;
using Statement = Connection::Statement;

constexpr char kPutAgent[] = R"sql(
INSERT INTO agents (id, version, address, resource_pool, slots, cpus, memory, network_switch,
  labels, registered_at)
VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, address = excluded.address,
  resource_pool = excluded.resource_pool, slots = excluded.slots, cpus = excluded.cpus,
  memory = excluded.memory, network_switch = excluded.network_switch, labels = excluded.labels,
  registered_at = excluded.registered_at)sql";
constexpr char kDropAgent[] = "DELETE FROM agents WHERE id = $1";
constexpr char kAddCapacity[] = R"sql(
INSERT INTO capacity (agent, resource_pool, slots, at) VALUES ($1,$2,$3,$4)
ON CONFLICT (agent, at) DO UPDATE SET resource_pool = excluded.resource_pool,
  slots = excluded.slots)sql";
constexpr char kSelectAgents[] =
    "SELECT id, version, address, resource_pool, slots, cpus, memory, network_switch, labels, "
    "micros(registered_at) FROM agents ORDER BY id";

constexpr char kPutState[] = R"sql(
INSERT INTO agent_states (id, enabled, draining, slots, maintenance) VALUES ($1,$2,$3,$4,$5)
ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled, draining = excluded.draining,
  slots = excluded.slots, maintenance = excluded.maintenance)sql";

constexpr char kSelectStates[] =
    "SELECT id, enabled, draining, slots, maintenance FROM agent_states ORDER BY id";

Value ToValue(const std::map<int, AgentState::SlotState>& slots) {
  Value::Object object;
  for (const auto& [id, slot] : slots) {
    Value::Object one;
    one["enabled"] = slot.enabled;
    one["quarantined"] = slot.quarantined;
    one["reason"] = slot.reason;
    one["failures"] = slot.failures;
    object[absl::StrCat(id)] = std::move(one);
  }
  return object;
}

// Times as microseconds since 1970; infinite times stay infinite.
Value ToValue(const std::vector<model::Maintenance>& windows) {
  Value::List list;
  for (const model::Maintenance& window : windows) {
    Value::Object one;
    one["begin"] = absl::ToUnixMicros(window.begin);
    one["end"] = absl::ToUnixMicros(window.end);
    one["note"] = window.note;
    list.emplace_back(std::move(one));
  }
  return list;
}

std::string ToText(const Value* value) {
  const std::string* text = value == nullptr ? nullptr : value->AsString();
  return text == nullptr ? "" : *text;
}

int64_t ToInt(const Value* value) {
  const int64_t* number = value == nullptr ? nullptr : value->AsInt();
  return number == nullptr ? 0 : *number;
}

bool ToBool(const Value* value) {
  const bool* flag = value == nullptr ? nullptr : value->AsBool();
  return flag != nullptr && *flag;
}

Value ToValue(const std::vector<model::Device>& devices) {
  Value::List list;
  for (const model::Device& device : devices) {
    Value::Object one;
    one["id"] = device.id;
    one["type"] = static_cast<int>(device.type);
    one["brand"] = device.brand;
    one["uuid"] = device.uuid;
    one["island"] = device.island;
    list.emplace_back(std::move(one));
  }
  return list;
}

absl::StatusOr<std::vector<model::Device>> ToDevices(const Result& result, int row, int column) {
  const absl::StatusOr<Value> list = ToValue(result, row, column);
  DET_RETURN_IF_ERROR(list.status());
  std::vector<model::Device> devices;
  if (list->AsList() == nullptr) return devices;
  for (const Value& one : *list->AsList()) {
    const int64_t type = ToInt(one.Find("type"));
    if (type < 0 || type > static_cast<int64_t>(model::DeviceType::kTpu)) {
      return absl::InternalError(
          absl::StrCat("the database contains the unknown device type ", type));
    }
    devices.push_back({.id = static_cast<int>(ToInt(one.Find("id"))),
                       .type = static_cast<model::DeviceType>(type),
                       .brand = ToText(one.Find("brand")),
                       .uuid = ToText(one.Find("uuid")),
                       .island = static_cast<int>(ToInt(one.Find("island")))});
  }
  return devices;
}

absl::StatusOr<model::Agent> ToAgent(const Result& result, int row) {
  model::Agent agent;
  agent.id = model::AgentId(std::string(result.Text(row, 0)));
  agent.version = std::string(result.Text(row, 1));
  agent.address = std::string(result.Text(row, 2));
  agent.resource_pool = std::string(result.Text(row, 3));
  DET_ASSIGN_OR_RETURN(agent.slots, ToDevices(result, row, 4));
  agent.cpus = result.Maybe(&Result::Double, row, 5);
  agent.memory = result.Maybe(&Result::Int, row, 6);
  agent.network_switch = std::string(result.Text(row, 7));
  const absl::StatusOr<Value> labels = ToValue(result, row, 8);
  DET_RETURN_IF_ERROR(labels.status());
  if (labels->AsObject() != nullptr) {
    for (const auto& [key, label] : *labels->AsObject()) agent.labels[key] = ToText(&label);
  }
  agent.registered_at = result.Time(row, 9);
  agent.connected = false;
  return agent;
}

absl::StatusOr<AgentState> ToAgentState(const Result& result, int row) {
  AgentState agent{.id = model::AgentId(std::string(result.Text(row, 0))),
                   .enabled = result.Bool(row, 1),
                   .draining = result.Bool(row, 2),
                   .slots = {},
                   .maintenance = {}};
  const absl::StatusOr<Value> slots = ToValue(result, row, 3);
  DET_RETURN_IF_ERROR(slots.status());
  const absl::StatusOr<Value> windows = ToValue(result, row, 4);
  DET_RETURN_IF_ERROR(windows.status());
  if (slots->AsObject() != nullptr) {
    for (const auto& [key, slot] : *slots->AsObject()) {
      int id = 0;
      if (!absl::SimpleAtoi(key, &id)) return absl::InternalError("a slot's id is invalid");
      agent.slots[id] = {.enabled = ToBool(slot.Find("enabled")),
                         .quarantined = ToBool(slot.Find("quarantined")),
                         .reason = ToText(slot.Find("reason")),
                         .failures = static_cast<int>(ToInt(slot.Find("failures")))};
    }
  }
  if (windows->AsList() != nullptr) {
    for (const Value& window : *windows->AsList()) {
      agent.maintenance.push_back({absl::FromUnixMicros(ToInt(window.Find("begin"))),
                                   absl::FromUnixMicros(ToInt(window.Find("end"))),
                                   ToText(window.Find("note"))});
    }
  }
  return agent;
}

}  // namespace

Statement Put(const model::Agent& agent) {
  Value::Object labels;
  for (const auto& [key, label] : agent.labels) labels[key] = label;
  return {kPutAgent,
          MakeParams(agent.id, agent.version, agent.address, agent.resource_pool,
                     ToValue(agent.slots), agent.cpus, agent.memory, agent.network_switch,
                     Value(std::move(labels)), agent.registered_at)};
}

Statement Drop(const cluster::DropAgent& drop) { return {kDropAgent, MakeParams(drop.id)}; }

Statement Add(const cluster::AddCapacity& add) {
  return {kAddCapacity, MakeParams(add.agent, add.resource_pool, add.slots, add.at)};
}

Statement Put(const AgentState& agent) {
  return {kPutState, MakeParams(agent.id, agent.enabled, agent.draining, ToValue(agent.slots),
                                ToValue(agent.maintenance))};
}

absl::Status AddAgents(Connection& connection, cluster::Image& image) {
  DET_ASSIGN_OR_RETURN(const Result agents, connection.Exec(kSelectAgents));
  for (int row = 0; row < agents.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(image.known_agents.emplace_back(), ToAgent(agents, row));
  }
  DET_ASSIGN_OR_RETURN(const Result states, connection.Exec(kSelectStates));
  for (int row = 0; row < states.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(image.agents.emplace_back(), ToAgentState(states, row));
  }
  return absl::OkStatus();
}

}  // namespace det::store
