#include "master/searcher/sampling.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/check.h"

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::ConstHparam;
using model::DoubleHparam;
using model::IntHparam;
using model::LogHparam;
using model::NestedHparam;
using model::Value;

double UniformBetween(double lo, double hi, base::Rng& rng) {
  const double u = rng.Uniform01();
  // As a blend, because hi - lo may overflow; clamped, because rounding may step over a bound.
  return std::clamp(lo * (1 - u) + hi * u, lo, hi);
}

struct Draw {
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
  Value operator()(const NestedHparam& h) const { return Sample(h.members, rng); }
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

}  // namespace

model::Hparams Sample(const model::SearchSpace& space, base::Rng& rng) {
  model::Hparams hparams;
  for (const auto& [name, hparam] : space) {
    hparams.emplace(name, std::visit(Draw{rng}, hparam.kind));
  }
  return hparams;
}

bool IsSinglePoint(const model::SearchSpace& space) {
  return std::all_of(space.begin(), space.end(), [](const auto& member) {
    return std::visit(HasOnePoint{}, member.second.kind);
  });
}

}  // namespace det::searcher
