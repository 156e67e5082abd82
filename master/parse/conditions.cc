// Conditions of hyperparameters: `when: {optimizer: sgd, layers: {minval: 3}, act: [relu, gelu]}`.
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "master/parse/read.h"

namespace det::model {
namespace {

constexpr char kForms[] = "a value, a list of values or {minval, maxval}";

// Reads {minval: 3}, {maxval: 5} or both.
bool ReadBounds(const ConfigNode& node, Condition& condition) {
  for (const ConfigMember& member : node.members) {
    if (member.value.is_null()) continue;
    const std::optional<double> number = member.value.scalar.AsNumber();
    if (!number) return false;
    if (member.key == "minval") {
      condition.minval = number;
    } else if (member.key == "maxval") {
      condition.maxval = number;
    } else {
      return false;
    }
  }
  return condition.minval || condition.maxval;
}

// 1 and 1.0 are the same choice.
bool Same(const Value& a, const Value& b) {
  const std::optional<double> x = a.AsNumber();
  const std::optional<double> y = b.AsNumber();
  return x && y ? *x == *y : a == b;
}

bool Between(double low, double value, double high) { return low <= value && value <= high; }

// Whether the hyperparameter can have the value.
struct CanBe {
  const Value& value;

  bool operator()(const ConstHparam& h) const { return Same(h.val, value); }
  bool operator()(const IntHparam& h) const {
    const std::optional<double> number = value.AsNumber();
    return number && std::floor(*number) == *number &&
           Between(static_cast<double>(h.minval), *number, static_cast<double>(h.maxval));
  }
  bool operator()(const DoubleHparam& h) const {
    const std::optional<double> number = value.AsNumber();
    return number && Between(h.minval, *number, h.maxval);
  }
  bool operator()(const LogHparam& h) const {
    const std::optional<double> number = value.AsNumber();
    const double a = std::pow(h.base, h.minval);
    const double b = std::pow(h.base, h.maxval);
    return number && Between(std::min(a, b), *number, std::max(a, b));
  }
  bool operator()(const CategoricalHparam& h) const {
    for (const Value& val : h.vals) {
      if (Same(val, value)) return true;
    }
    return false;
  }
  bool operator()(const NestedHparam&) const { return false; }
};

// Whether every value of the hyperparameter is a number.
struct IsNumber {
  bool operator()(const ConstHparam& h) const { return h.val.AsNumber().has_value(); }
  bool operator()(const IntHparam&) const { return true; }
  bool operator()(const DoubleHparam&) const { return true; }
  bool operator()(const LogHparam&) const { return true; }
  bool operator()(const CategoricalHparam& h) const {
    for (const Value& val : h.vals) {
      if (!val.AsNumber()) return false;
    }
    return true;
  }
  bool operator()(const NestedHparam&) const { return false; }
};

const Hyperparameter* FindHyperparameter(const SearchSpace& space, std::string_view path) {
  const SearchSpace* at = &space;
  const Hyperparameter* hparam = nullptr;
  for (const std::string& name :
       std::vector<std::string>(absl::StrSplit(absl::string_view(path.data(), path.size()), '.'))) {
    const auto found = at == nullptr ? SearchSpace::const_iterator() : at->find(name);
    if (at == nullptr || found == at->end()) return nullptr;
    hparam = &found->second;
    const auto* nested = std::get_if<NestedHparam>(&hparam->kind);
    at = nested == nullptr ? nullptr : &nested->members;
  }
  return hparam;
}

void ListPaths(const SearchSpace& space, const std::string& prefix,
               std::vector<std::string>& paths) {
  for (const auto& [name, hparam] : space) {
    const auto* nested = std::get_if<NestedHparam>(&hparam.kind);
    if (nested == nullptr) paths.push_back(prefix + name);
    if (nested != nullptr) ListPaths(nested->members, absl::StrCat(prefix, name, "."), paths);
  }
}

// Returns what is wrong with a single condition; empty if nothing is.
std::string CheckCondition(const SearchSpace& space, const WrittenCondition& written) {
  const Condition& condition = written.condition;
  const Hyperparameter* hparam = FindHyperparameter(space, condition.path);
  if (condition.path == written.owner) return "depends on itself; name another hyperparameter";
  if (hparam == nullptr) {
    std::vector<std::string> paths;
    ListPaths(space, "", paths);
    const std::string nearest = Nearest(condition.path, paths, 2);
    return absl::StrCat("unknown hyperparameter ", condition.path,
                        nearest.empty()
                            ? absl::StrCat("; expected one of ", absl::StrJoin(paths, ", "))
                            : absl::StrCat("; did you mean ", nearest, "?"));
  }
  if (std::holds_alternative<NestedHparam>(hparam->kind)) {
    return absl::StrCat(condition.path, " is a map of hyperparameters; name one of them");
  }
  for (const Value& value : condition.any_of) {
    if (std::visit(CanBe{value}, hparam->kind)) continue;
    return absl::StrCat(condition.path, " is never ", value.ToJson(), "; its values are ",
                        ToValue(*hparam).ToJson());
  }
  const bool bounds = condition.minval || condition.maxval;
  if (bounds && !std::visit(IsNumber{}, hparam->kind)) {
    return absl::StrCat(condition.path, " is not always a number; list the values instead");
  }
  return "";
}

// Returns a path from the hyperparameter back to itself; empty if there is none.
std::vector<std::string> FindCycle(const std::map<std::string, std::set<std::string>>& depends_on,
                                   const std::string& start) {
  std::vector<std::string> trail = {start};
  std::set<std::string> seen;
  while (!trail.empty()) {
    const auto edges = depends_on.find(trail.back());
    bool moved = false;
    if (edges != depends_on.end()) {
      for (const std::string& next : edges->second) {
        if (next == start) return trail;
        if (!seen.insert(next).second) continue;
        trail.push_back(next);
        moved = true;
        break;
      }
    }
    if (!moved) trail.pop_back();
  }
  return trail;
}

}  // namespace

void ReadConditions(const ConfigNode& when, const std::string& path,
                    std::vector<WrittenCondition>& conditions, std::vector<Problem>& problems) {
  if (when.is_null()) return;
  if (!when.is_map()) {
    problems.push_back(
        {when.where, path,
         absl::StrCat("expected a map such as {optimizer: sgd}, found ", when.Describe())});
    return;
  }
  for (const ConfigMember& member : when.members) {
    const ConfigNode& node = member.value;
    Condition condition{.path = member.key};
    bool good = !node.is_null();
    if (node.is_map()) {
      good = ReadBounds(node, condition);
    } else if (node.is_list()) {
      good = !node.items.empty();
      for (const ConfigNode& item : node.items) condition.any_of.push_back(item.ToValue());
    } else if (good) {
      condition.any_of.push_back(node.scalar);
    }
    const std::string own = absl::StrCat(path, ".", member.key);
    if (!good) {
      problems.push_back(
          {member.where, own, absl::StrCat("expected ", kForms, ", found ", node.Describe())});
    } else if (condition.minval && condition.maxval && *condition.minval > *condition.maxval) {
      problems.push_back({member.where, own,
                          absl::StrCat("minval ", *condition.minval, " is greater than maxval ",
                                       *condition.maxval)});
    } else {
      conditions.push_back({.condition = std::move(condition), .where = member.where, .path = own});
    }
  }
}

void CheckConditions(const SearchSpace& space, const std::vector<WrittenCondition>& conditions,
                     std::vector<Problem>& problems) {
  std::map<std::string, std::set<std::string>> depends_on;
  std::set<std::string> reported;  // the condition of a map is reported once
  for (const WrittenCondition& written : conditions) {
    const std::string wrong = CheckCondition(space, written);
    if (wrong.empty()) {
      depends_on[written.owner].insert(written.condition.path);
    } else if (reported.insert(written.path).second) {
      problems.push_back({written.where, written.path, wrong});
    }
  }
  std::set<std::string> in_cycles;
  for (const WrittenCondition& written : conditions) {
    if (in_cycles.contains(written.owner)) continue;
    std::vector<std::string> cycle = FindCycle(depends_on, written.owner);
    if (cycle.empty()) continue;
    in_cycles.insert(cycle.begin(), cycle.end());
    cycle.push_back(written.owner);
    problems.push_back({written.where, written.path,
                        absl::StrCat("cyclic conditions: ", absl::StrJoin(cycle, " -> "))});
  }
}

}  // namespace det::model
