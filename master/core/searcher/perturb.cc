#include "master/core/searcher/perturb.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/check.h"
#include "master/core/searcher/space.h"

namespace det::searcher {
namespace {

using model::Value;

int64_t StepOfInt(int64_t value, bool up, double factor, const model::IntHparam& range) {
  const auto inside = [&range](double x) {
    // Compared as doubles first: what is beyond int64 has no integer.
    if (x >= static_cast<double>(range.maxval)) return range.maxval;
    if (x <= static_cast<double>(range.minval)) return range.minval;
    return std::clamp(static_cast<int64_t>(x), range.minval, range.maxval);
  };
  const double x = static_cast<double>(value);
  const int64_t next = inside(std::round(up ? x * factor : x / factor));
  if (next != value || range.minval == range.maxval) return next;
  const bool increase = value == range.minval || (value != range.maxval && up == (value >= 0));
  return increase ? value + 1 : value - 1;
}

struct Perturbing {
  const model::Hyperparameter& hparam;
  const Value& value;
  const double factor;
  const bool up;
  base::Rng& rng;

  Value operator()(const model::ConstHparam& h) const { return h.val; }

  Value operator()(const model::IntHparam& h) const {
    const int64_t* v = value.AsInt();
    if (v == nullptr || *v < h.minval || *v > h.maxval) return Draw(hparam, rng);
    return StepOfInt(*v, up, factor, h);
  }

  Value operator()(const model::DoubleHparam& h) const { return StepOfNumber(h.minval, h.maxval); }

  Value operator()(const model::LogHparam& h) const {
    const double a = std::pow(h.base, h.minval), b = std::pow(h.base, h.maxval);
    return StepOfNumber(std::min(a, b), std::max(a, b));
  }

  Value operator()(const model::CategoricalHparam& h) const {
    const auto it = std::find(h.vals.begin(), h.vals.end(), value);
    if (it == h.vals.end()) return Draw(hparam, rng);
    const size_t last = h.vals.size() - 1, i = static_cast<size_t>(it - h.vals.begin());
    if (last == 0) return *it;
    const bool forward = i == 0 || (i != last && up);
    return h.vals[forward ? i + 1 : i - 1];
  }

  Value operator()(const model::NestedHparam&) const { DET_CHECK(false) << "a map is no leaf"; }

 private:
  Value StepOfNumber(double lo, double hi) const {
    const std::optional<double> x = value.AsNumber();
    if (!x || *x == 0 || !std::isfinite(*x)) return Draw(hparam, rng);
    return std::clamp(up ? *x * factor : *x / factor, lo, hi);
  }
};

}  // namespace

Value Perturb(const model::Hyperparameter& hparam, const Value& value, double factor,
              base::Rng& rng) {
  const bool up = rng.UniformInt(0, 1) == 1;
  return std::visit(Perturbing{hparam, value, factor, up, rng}, hparam.kind);
}

model::Hparams Explore(const model::SearchSpace& space, const model::Hparams& point,
                       double resample_probability, double factor, base::Rng& rng) {
  model::Hparams next = Skeleton(space);
  for (const Leaf& leaf : Leaves(space)) {
    if (!IsPresent(leaf, next)) continue;
    const Value* value = Get(leaf, point);
    const bool anew = rng.Uniform01() < resample_probability || value == nullptr;
    Put(leaf, anew ? Draw(*leaf.hparam, rng) : Perturb(*leaf.hparam, *value, factor, rng), next);
  }
  return next;
}

}  // namespace det::searcher
