#include "master/store/interfaces/task_document.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"

namespace det::store {
namespace {

using model::Value;

// The names of the enumerators, in their order.
constexpr const char* kDeviceTypes[] = {"cpu", "cuda", "rocm", "tpu"};
constexpr const char* kServices[] = {"none", "http", "tcp"};

const auto& NamesOf(model::DeviceType) { return kDeviceTypes; }
const auto& NamesOf(model::TaskDefinition::Service) { return kServices; }

// Calls `visit` with the name and the value of each field. The structured bindings do not compile
// when a field is added: add it to the calls as well.
template <class T, class Visit>
requires std::is_same_v<std::remove_const_t<T>, model::DeviceConfig>
void VisitFields(T& value, const Visit& visit) {
  auto& [host_path, container_path, mode] = value;
  visit("host_path", host_path);
  visit("container_path", container_path);
  visit("mode", mode);
}

template <class T, class Visit>
requires std::is_same_v<std::remove_const_t<T>, model::ResourcesConfig>
void VisitFields(T& value, const Visit& visit) {
  auto& [slots_per_trial, max_slots_per_trial, slot_fraction, cpus, memory, slot_type, device,
         max_run_time, blocked_agents, max_slots, weight, priority, resource_pool, is_single_node,
         shm_size, devices, native_parallel] = value;
  visit("slots_per_trial", slots_per_trial);
  visit("max_slots_per_trial", max_slots_per_trial);
  visit("slot_fraction", slot_fraction);
  visit("cpus", cpus);
  visit("memory", memory);
  visit("slot_type", slot_type);
  visit("device", device);
  visit("max_run_time", max_run_time);
  visit("blocked_agents", blocked_agents);
  visit("max_slots", max_slots);
  visit("weight", weight);
  visit("priority", priority);
  visit("resource_pool", resource_pool);
  visit("is_single_node", is_single_node);
  visit("shm_size", shm_size);
  visit("devices", devices);
  visit("native_parallel", native_parallel);
}

template <class T, class Visit>
requires std::is_same_v<std::remove_const_t<T>, model::PerSlotType<std::vector<std::string>>>
void VisitFields(T& value, const Visit& visit) {
  auto& [cpu, cuda, rocm] = value;
  visit("cpu", cpu);
  visit("cuda", cuda);
  visit("rocm", rocm);
}

template <class T, class Visit>
requires std::is_same_v<std::remove_const_t<T>, model::ProxyPortConfig>
void VisitFields(T& value, const Visit& visit) {
  auto& [proxy_port, proxy_tcp, unauthenticated, default_service_id] = value;
  visit("proxy_port", proxy_port);
  visit("proxy_tcp", proxy_tcp);
  visit("unauthenticated", unauthenticated);
  visit("default_service_id", default_service_id);
}

// `visit.Bytes` is for files, which may contain any bytes.
template <class T, class Visit>
requires std::is_same_v<std::remove_const_t<T>, model::TaskDefinition>
void VisitFields(T& value, const Visit& visit) {
  auto& [description, resources, variables, proxy_ports, argv, env, files, context_hash,
         preemptible, preemption_timeout_seconds, idle_timeout, service, config, details] = value;
  visit("description", description);
  visit("resources", resources);
  visit("variables", variables);
  visit("proxy_ports", proxy_ports);
  visit("argv", argv);
  visit("env", env);
  visit.Bytes("files", files);
  visit("context_hash", context_hash);
  visit("preemptible", preemptible);
  visit("preemption_timeout_seconds", preemption_timeout_seconds);
  visit("idle_timeout", idle_timeout);
  visit("service", service);
  visit("config", config);
  visit("details", details);
}

using Texts = std::map<std::string, std::string>;

Value Write(const Value& value) { return value; }
Value Write(const std::string& text) { return text; }
Value Write(absl::Duration duration) { return absl::ToInt64Microseconds(duration); }
template <class T>
requires std::is_arithmetic_v<T> Value Write(T number) { return number; }
template <class T>
requires std::is_enum_v<T> Value Write(T value) { return NamesOf(value)[static_cast<int>(value)]; }
Value Write(const Texts& texts) {
  Value::Object object;
  for (const auto& [name, text] : texts) object.emplace(name, text);
  return object;
}
template <class T>
Value Write(const std::optional<T>& value);
template <class T>
Value Write(const std::vector<T>& values);
template <class T>
requires std::is_aggregate_v<T> Value Write(const T& fields);

struct Writer {
  template <class T>
  void operator()(const char* name, const T& field) const {
    object.emplace(name, Write(field));
  }
  void Bytes(const char* name, const Texts& files) const {
    Texts encoded;
    for (const auto& [path, bytes] : files) encoded.emplace(path, absl::Base64Escape(bytes));
    (*this)(name, encoded);
  }
  Value::Object& object;
};

template <class T>
Value Write(const std::optional<T>& value) {
  return value ? Write(*value) : Value();
}
template <class T>
Value Write(const std::vector<T>& values) {
  Value::List list;
  for (const T& value : values) list.push_back(Write(value));
  return list;
}
template <class T>
requires std::is_aggregate_v<T> Value Write(const T& fields) {
  Value::Object object;
  VisitFields(fields, Writer{object});
  return object;
}

// A value of another type changes nothing.
void Read(const Value& value, Value& field) { field = value; }
void Read(const Value& value, std::string& field) {
  if (const std::string* text = value.AsString()) field = *text;
}
void Read(const Value& value, bool& field) {
  if (const bool* flag = value.AsBool()) field = *flag;
}
void Read(const Value& value, double& field) { field = value.AsNumber().value_or(field); }
template <class T>
requires std::is_integral_v<T>
void Read(const Value& value, T& field) {
  if (const int64_t* number = value.AsInt()) field = static_cast<T>(*number);
}
void Read(const Value& value, absl::Duration& field) {
  if (const int64_t* micros = value.AsInt()) field = absl::Microseconds(*micros);
}
template <class T>
requires std::is_enum_v<T>
void Read(const Value& value, T& field) {
  const std::string* text = value.AsString();
  if (text == nullptr) return;
  const auto& names = NamesOf(field);
  const auto name = std::find(std::begin(names), std::end(names), *text);
  if (name != std::end(names)) field = static_cast<T>(name - std::begin(names));
}
void Read(const Value& value, Texts& field) {
  if (value.AsObject() == nullptr) return;
  for (const auto& [name, text] : *value.AsObject()) Read(text, field[name]);
}
template <class T>
void Read(const Value& value, std::optional<T>& field);
template <class T>
void Read(const Value& value, std::vector<T>& field);
template <class T>
requires std::is_aggregate_v<T>
void Read(const Value& value, T& fields);

struct Reader {
  template <class T>
  void operator()(const char* name, T& field) const {
    if (const Value* value = object.Find(name)) Read(*value, field);
  }
  void Bytes(const char* name, Texts& files) const {
    (*this)(name, files);
    for (auto& [path, encoded] : files) {
      std::string bytes;
      if (absl::Base64Unescape(encoded, &bytes)) encoded = std::move(bytes);
    }
  }
  const Value& object;
};

template <class T>
void Read(const Value& value, std::optional<T>& field) {
  if (!value.is_null()) Read(value, field.emplace());
}
template <class T>
void Read(const Value& value, std::vector<T>& field) {
  if (value.AsList() == nullptr) return;
  for (const Value& item : *value.AsList()) Read(item, field.emplace_back());
}
template <class T>
requires std::is_aggregate_v<T>
void Read(const Value& value, T& fields) { VisitFields(fields, Reader{value}); }

}  // namespace

Value ToDocument(const model::TaskDefinition& definition) { return Write(definition); }

model::TaskDefinition ToTaskDefinition(const Value& document) {
  model::TaskDefinition definition;
  Read(document, definition);
  return definition;
}

}  // namespace det::store
