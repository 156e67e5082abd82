#include "master/core/searcher/space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::Condition;
using model::ConstHparam;
using model::DoubleHparam;
using model::IntHparam;
using model::LogHparam;
using model::NestedHparam;
using model::Value;

double UniformBetween(double lo, double hi, base::Rng& rng) {
  const double u = rng.Uniform01();
  // Interpolated, because hi - lo may overflow; clamped, because rounding may exceed a bound.
  return std::clamp(lo * (1 - u) + hi * u, lo, hi);
}

struct Drawing {
  base::Rng& rng;

  Value operator()(const ConstHparam& h) const { return h.val; }
  Value operator()(const IntHparam& h) const { return rng.UniformInt(h.minval, h.maxval); }
  Value operator()(const DoubleHparam& h) const { return UniformBetween(h.minval, h.maxval, rng); }
  Value operator()(const LogHparam& h) const {
    return std::pow(h.base, UniformBetween(h.minval, h.maxval, rng));
  }
  Value operator()(const CategoricalHparam& h) const {
    DET_CHECK(!h.vals.empty());
    const int64_t last = static_cast<int64_t>(h.vals.size()) - 1;
    return h.vals[static_cast<size_t>(rng.UniformInt(0, last))];
  }
  Value operator()(const NestedHparam&) const { DET_CHECK(false) << "a map is not a leaf"; }
};

struct HasOnePoint {
  bool operator()(const ConstHparam&) const { return true; }
  bool operator()(const IntHparam& h) const { return h.minval == h.maxval; }
  bool operator()(const DoubleHparam& h) const { return h.minval == h.maxval; }
  bool operator()(const LogHparam& h) const { return h.minval == h.maxval || h.base == 1; }
  bool operator()(const CategoricalHparam& h) const {
    return std::all_of(h.vals.begin(), h.vals.end(),
                       [&h](const Value& v) { return v == h.vals.front(); });
  }
  bool operator()(const NestedHparam& h) const { return IsSinglePoint(h.members); }
};

void AddLeaves(const model::SearchSpace& space, std::vector<std::string>& path,
               std::vector<Leaf>& leaves) {
  for (const auto& [name, hparam] : space) {
    path.push_back(name);
    if (const auto* nested = std::get_if<NestedHparam>(&hparam.kind)) {
      AddLeaves(nested->members, path, leaves);
    } else {
      leaves.push_back(Leaf{.path = path, .hparam = &hparam});
    }
    path.pop_back();
  }
}

const Value* Find(const std::vector<std::string>& path, const model::Hparams& point) {
  const model::Hparams* map = &point;
  const Value* value = nullptr;
  for (const std::string& name : path) {
    if (map == nullptr) return nullptr;
    const auto it = map->find(name);
    if (it == map->end()) return nullptr;
    value = &it->second;
    map = value->AsObject();
  }
  return value;
}

// 1 and 1.0 are the same choice.
bool Same(const Value& a, const Value& b) {
  const std::optional<double> x = a.AsNumber(), y = b.AsNumber();
  return x && y ? *x == *y : a == b;
}

bool Holds(const Condition& condition, const model::Hparams& point) {
  const std::vector<std::string> path = absl::StrSplit(condition.path, '.');
  const Value* value = Find(path, point);
  if (value == nullptr) return false;
  if (!condition.any_of.empty()) {
    return std::any_of(condition.any_of.begin(), condition.any_of.end(),
                       [value](const Value& choice) { return Same(choice, *value); });
  }
  const std::optional<double> number = value->AsNumber();
  return number && (!condition.minval || *number >= *condition.minval) &&
         (!condition.maxval || *number <= *condition.maxval);
}

}  // namespace

std::vector<Leaf> Leaves(const model::SearchSpace& space) {
  std::vector<Leaf> waiting;
  std::vector<std::string> path;
  AddLeaves(space, path, waiting);
  std::vector<Leaf> leaves;
  std::set<std::string> known;
  const auto ready = [&known](const Leaf& leaf) {
    const auto& when = leaf.hparam->when;
    return std::all_of(when.begin(), when.end(),
                       [&known](const Condition& c) { return known.contains(c.path); });
  };
  for (bool moved = true; moved;) {
    moved = false;
    std::vector<Leaf> still;
    for (Leaf& leaf : waiting) {
      if (!ready(leaf)) {
        still.push_back(std::move(leaf));
        continue;
      }
      moved = true;
      known.insert(absl::StrJoin(leaf.path, "."));
      leaves.push_back(std::move(leaf));
    }
    waiting = std::move(still);
  }
  for (Leaf& leaf : waiting) leaves.push_back(std::move(leaf));
  return leaves;
}

model::Hparams Skeleton(const model::SearchSpace& space) {
  model::Hparams maps;
  for (const auto& [name, hparam] : space) {
    if (const auto* nested = std::get_if<NestedHparam>(&hparam.kind)) {
      maps.emplace(name, Skeleton(nested->members));
    }
  }
  return maps;
}

bool IsPresent(const Leaf& leaf, const model::Hparams& so_far) {
  const auto& when = leaf.hparam->when;
  return std::all_of(when.begin(), when.end(),
                     [&so_far](const Condition& c) { return Holds(c, so_far); });
}

const Value* Get(const Leaf& leaf, const model::Hparams& point) { return Find(leaf.path, point); }

void Put(const Leaf& leaf, Value value, model::Hparams& point) {
  model::Hparams* map = &point;
  for (size_t i = 0; i + 1 < leaf.path.size(); ++i) {
    Value& member = (*map)[leaf.path[i]];
    if (member.MutableObject() == nullptr) member = Value::Object{};
    map = member.MutableObject();
  }
  (*map)[leaf.path.back()] = std::move(value);
}

Value Draw(const model::Hyperparameter& hparam, base::Rng& rng) {
  return std::visit(Drawing{rng}, hparam.kind);
}

model::Hparams Sample(const model::SearchSpace& space, base::Rng& rng) {
  model::Hparams point = Skeleton(space);
  for (const Leaf& leaf : Leaves(space)) {
    if (IsPresent(leaf, point)) Put(leaf, Draw(*leaf.hparam, rng), point);
  }
  return point;
}

bool IsSinglePoint(const model::SearchSpace& space) {
  return std::all_of(space.begin(), space.end(), [](const auto& member) {
    return std::visit(HasOnePoint{}, member.second.kind);
  });
}

}  // namespace det::searcher
