// Stores a node in the member of its field.
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "master/parse/read.h"

namespace det::model {
namespace {

std::optional<int64_t> AsInteger(const ConfigNode& node) {
  if (const int64_t* value = node.scalar.AsInt()) return *value;
  const double* value = node.scalar.AsDouble();
  // 1e3 is an integer as well; beyond 2^53 doubles cannot represent all integers.
  if (value != nullptr && std::floor(*value) == *value && std::abs(*value) < 0x1p53) {
    return static_cast<int64_t>(*value);
  }
  return std::nullopt;
}

bool InRange(const Field& field, double value) {
  if (field.min && (value < *field.min || (field.above_min && value == *field.min))) return false;
  return !field.max || value <= *field.max;
}

// Parses "512m", "4 GiB", "1.5g": a number and a power of 1024.
std::optional<int64_t> ParseSize(const std::string& text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  double number = 0;
  if (digits == 0 || !absl::SimpleAtod(text.substr(0, digits), &number)) return std::nullopt;
  std::string unit = digits == text.npos ? "" : text.substr(digits);
  absl::StripAsciiWhitespace(&unit);
  absl::AsciiStrToLower(&unit);
  if (unit.ends_with("ib")) {
    unit.resize(unit.size() - 2);
  } else if (unit.ends_with("b")) {
    unit.pop_back();
  }
  const std::string units = "kmgtp";
  const size_t power = unit.empty() ? 0 : units.find(unit) + 1;
  if (unit.size() > 1 || (!unit.empty() && power == 0)) return std::nullopt;
  const double bytes = std::floor(std::ldexp(number, static_cast<int>(power) * 10));
  if (!(bytes < 0x1p62)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

// Each overload returns nullptr if the node is valid, otherwise the node that is not.
struct Filling {
  const Field& field;
  const ConfigNode& node;
  using Misfit = const ConfigNode*;

  Misfit If(bool good) const { return good ? nullptr : &node; }

  template <class T>
  Misfit Integer(T* out) const {
    const std::optional<int64_t> value = AsInteger(node);
    if (!value || !InRange(field, static_cast<double>(*value))) return &node;
    *out = static_cast<T>(*value);
    return nullptr;
  }
  template <class T>
  Misfit Optional(std::optional<T>* out) const {
    T value{};
    const Misfit misfit = (*this)(&value);
    if (misfit == nullptr) *out = value;
    return misfit;
  }
  template <class T>
  Misfit List(std::vector<T>* out) const {
    if (!node.is_list()) return &node;
    std::vector<T> read(node.items.size());
    for (size_t i = 0; i < read.size(); ++i) {
      if (const Misfit misfit = Filling{field, node.items[i]}(&read[i])) return misfit;
    }
    *out = std::move(read);
    return nullptr;
  }

  Misfit operator()(std::monostate) const { return &node; }
  Misfit operator()(bool* out) const {
    if (node.scalar.AsBool() == nullptr) return &node;
    *out = *node.scalar.AsBool();
    return nullptr;
  }
  Misfit operator()(int* out) const { return Integer(out); }
  Misfit operator()(int64_t* out) const { return Integer(out); }
  Misfit operator()(uint32_t* out) const { return Integer(out); }
  Misfit operator()(std::optional<int>* out) const { return Optional(out); }
  Misfit operator()(std::optional<int64_t>* out) const { return Optional(out); }
  Misfit operator()(std::optional<Length>* out) const { return Optional(out); }
  Misfit operator()(std::optional<double>* out) const { return Optional(out); }
  Misfit operator()(double* out) const {
    const std::optional<double> value = node.scalar.AsNumber();
    if (!value || !InRange(field, *value)) return &node;
    *out = *value;
    return nullptr;
  }
  Misfit operator()(std::string* out) const {
    const std::string* text = node.AsString();
    if (text == nullptr || (field.choices != nullptr && !IsAmong(field.choices, *text))) {
      return &node;
    }
    *out = *text;
    return nullptr;
  }
  Misfit operator()(std::vector<std::string>* out) const { return List(out); }
  Misfit operator()(std::vector<int64_t>* out) const { return List(out); }
  Misfit operator()(std::vector<std::vector<int64_t>>* out) const { return List(out); }
  Misfit operator()(std::map<std::string, int64_t>* out) const {
    if (!node.is_map()) return &node;
    std::map<std::string, int64_t> read;
    for (const ConfigMember& member : node.members) {
      if (member.value.is_null()) continue;
      if (const Misfit misfit = Filling{field, member.value}(&read[member.key])) return misfit;
    }
    *out = std::move(read);
    return nullptr;
  }
  Misfit operator()(Length* out) const {
    if (!node.is_map()) {
      Length length;
      const Misfit misfit = Integer(&length.count);
      if (misfit == nullptr) *out = length;
      return misfit;
    }
    std::optional<Length> read;
    for (const ConfigMember& member : node.members) {
      if (member.value.is_null()) continue;
      Length length;
      for (const Length::Unit unit :
           {Length::Unit::kBatches, Length::Unit::kRecords, Length::Unit::kEpochs}) {
        if (member.key == ToString(unit)) length.unit = unit;
      }
      if (read || member.key != ToString(length.unit)) return &node;
      if (const Misfit misfit = Filling{field, member.value}.Integer(&length.count)) return misfit;
      read = length;
    }
    if (read) *out = *read;
    return If(read.has_value());
  }
  Misfit operator()(Value* out) const {
    if (!node.is_map()) return &node;
    *out = node.ToValue();
    return nullptr;
  }
  Misfit operator()(Entrypoint* out) const {
    if (const std::string* text = node.AsString()) {
      *out = *text;
      return nullptr;
    }
    std::vector<std::string> argv;
    const Misfit misfit = List(&argv);
    if (misfit == nullptr) *out = std::move(argv);
    return misfit;
  }
  // Read separately (ReadSearchSpace), to report nested problems.
  Misfit operator()(SearchSpace*) const { return If(node.is_map()); }
  Misfit operator()(VariablesTarget out) const {
    std::vector<std::string> variables;
    if (const Misfit misfit = List(&variables)) return misfit;
    for (size_t i = 0; i < variables.size(); ++i) {
      std::string& variable = variables[i];
      if (variable.empty() || variable.front() == '=') return &node.items[i];
      if (variable.find('=') == std::string::npos) variable += '=';
    }
    *out.variables = std::move(variables);
    return nullptr;
  }
  Misfit operator()(SizeTarget out) const {
    const std::string* text = node.AsString();
    const std::optional<int64_t> bytes = text != nullptr ? ParseSize(*text) : AsInteger(node);
    if (!bytes || !InRange(field, static_cast<double>(*bytes))) return &node;
    out.set(out.at, *bytes);
    return nullptr;
  }
  Misfit operator()(DurationTarget out) const {
    const std::string* text = node.AsString();
    const std::optional<double> seconds =
        text != nullptr ? ParseDuration(*text) : node.scalar.AsNumber();
    if (!seconds || !InRange(field, *seconds)) return &node;
    out.set(out.at, *seconds);
    return nullptr;
  }
  Misfit operator()(SlotsTarget out) const {
    // Read separately (ReadElasticSlots), to report nested problems.
    if (node.is_map()) return nullptr;
    ResourcesConfig& resources = *out.resources;
    resources.max_slots_per_trial = 0;
    resources.slot_fraction = 1;
    const double* part = node.scalar.AsDouble();
    if (part == nullptr || AsInteger(node)) return Integer(&resources.slots_per_trial);
    if (!(*part >= kMinSlotFraction && *part < 1)) return &node;
    resources.slots_per_trial = 1;
    resources.slot_fraction = *part;
    return nullptr;
  }
  Misfit operator()(MetricTarget out) const;
  Misfit operator()(ChoiceTarget out) const {
    const std::string* text = node.AsString();
    const std::vector<std::string> choices = SplitWords(field.choices);
    for (size_t i = 0; text != nullptr && i < choices.size(); ++i) {
      if (choices[i] != *text) continue;
      out.set(out.at, static_cast<int>(i));
      return nullptr;
    }
    return &node;
  }
  Misfit operator()(ListTarget) const { return &node; }
};

// Reads {name: accuracy, smaller_is_better: false} or a name.
bool ReadObjective(const ConfigNode& node, Objective& objective) {
  if (node.AsString() != nullptr) objective.metric = *node.AsString();
  for (const ConfigMember& member : node.members) {
    const ConfigNode& value = member.value;
    if (value.is_null()) continue;
    if (member.key == "name" && value.AsString() != nullptr) {
      objective.metric = *value.AsString();
    } else if (member.key == "smaller_is_better" && value.scalar.AsBool() != nullptr) {
      objective.smaller_is_better = *value.scalar.AsBool();
    } else {
      return false;
    }
  }
  return !objective.metric.empty();
}

// REQUIRES that smaller_is_better was read before: it applies to names without a direction.
const ConfigNode* Filling::operator()(MetricTarget out) const {
  SearcherConfig& searcher = *out.searcher;
  if (!node.is_list()) {
    if (node.AsString() == nullptr || node.AsString()->empty()) return &node;
    searcher.metric = *node.AsString();
    return nullptr;
  }
  std::vector<Objective> objectives;
  for (const ConfigNode& item : node.items) {
    Objective objective{.smaller_is_better = searcher.smaller_is_better};
    if (!ReadObjective(item, objective)) return &item;
    for (const Objective& earlier : objectives) {
      if (earlier.metric == objective.metric) return &item;
    }
    objectives.push_back(std::move(objective));
  }
  if (objectives.empty()) return &node;
  searcher.metric = objectives.front().metric;
  searcher.smaller_is_better = objectives.front().smaller_is_better;
  searcher.other_objectives.assign(objectives.begin() + 1, objectives.end());
  return nullptr;
}

}  // namespace

const ConfigNode* Fill(const Field& field, const ConfigNode& node, const FieldTarget& target) {
  return std::visit(Filling{field, node}, target);
}

}  // namespace det::model
