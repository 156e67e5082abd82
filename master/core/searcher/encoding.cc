#include "master/core/searcher/encoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::ConstHparam;
using model::DoubleHparam;
using model::IntHparam;
using model::LogHparam;
using model::NestedHparam;
using model::Value;

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

// As doubles, because the difference of two integers may not be one.
double CountOf(const IntHparam& h) {
  return static_cast<double>(h.maxval) - static_cast<double>(h.minval) + 1;
}

// Where v lies between lo and hi. Halved, because hi - lo may overflow.
double Fraction(double v, double lo, double hi) {
  const double width = hi / 2 - lo / 2;
  return width > 0 ? std::clamp((v / 2 - lo / 2) / width, 0.0, 1.0) : 0.5;
}
double Blend(double x, double lo, double hi) { return std::clamp(lo * (1 - x) + hi * x, lo, hi); }

struct ToCoordinate {
  const Value& value;

  double operator()(const ConstHparam&) const { return 0; }
  double operator()(const NestedHparam&) const { return 0; }
  double operator()(const IntHparam& h) const {
    const double v = value.AsNumber().value_or(0);
    return std::clamp((v - static_cast<double>(h.minval) + 0.5) / CountOf(h), 0.0, 1.0);
  }
  double operator()(const DoubleHparam& h) const {
    return Fraction(value.AsNumber().value_or(0), h.minval, h.maxval);
  }
  double operator()(const LogHparam& h) const {
    const double exponent = std::log(value.AsNumber().value_or(1)) / std::log(h.base);
    return std::isfinite(exponent) ? Fraction(exponent, h.minval, h.maxval) : 0.5;
  }
  double operator()(const CategoricalHparam& h) const {
    const auto it = std::find(h.vals.begin(), h.vals.end(), value);
    return it == h.vals.end() ? 0 : static_cast<double>(it - h.vals.begin());
  }
};

struct ToHparam {
  double x;

  Value operator()(const ConstHparam& h) const { return h.val; }
  Value operator()(const NestedHparam&) const { return Value::Object{}; }
  Value operator()(const IntHparam& h) const {
    const double cell = std::floor(std::clamp(x, 0.0, 1.0) * CountOf(h));
    const double v = static_cast<double>(h.minval) + cell;
    // Near 2^63 a double is no int64_t any more.
    if (v >= static_cast<double>(h.maxval)) return h.maxval;
    if (v <= static_cast<double>(h.minval)) return h.minval;
    return static_cast<int64_t>(v);
  }
  Value operator()(const DoubleHparam& h) const { return Blend(x, h.minval, h.maxval); }
  Value operator()(const LogHparam& h) const {
    return std::pow(h.base, Blend(x, h.minval, h.maxval));
  }
  Value operator()(const CategoricalHparam& h) const {
    const double last = static_cast<double>(h.vals.size()) - 1;
    return h.vals[static_cast<size_t>(std::clamp(std::round(x), 0.0, last))];
  }
};

// Of a continuum 0.
struct CountValues {
  int64_t operator()(const ConstHparam&) const { return 1; }
  int64_t operator()(const NestedHparam&) const { return 1; }
  int64_t operator()(const IntHparam& h) const {
    const double count = CountOf(h);
    // Cells much wider than the 1e-9 of a coordinate.
    return count <= 1e6 ? static_cast<int64_t>(count) : 0;
  }
  int64_t operator()(const DoubleHparam& h) const { return h.minval == h.maxval ? 1 : 0; }
  int64_t operator()(const LogHparam& h) const {
    return h.minval == h.maxval || h.base == 1 ? 1 : 0;
  }
  int64_t operator()(const CategoricalHparam& h) const {
    return static_cast<int64_t>(h.vals.size());
  }
};

}  // namespace

Encoding::Encoding(const model::SearchSpace& space) : space_(space), leaves_(Leaves(space)) {
  for (const Leaf& leaf : leaves_) {
    conditional_ = conditional_ || !leaf.hparam->when.empty();
    const int64_t values = std::visit(CountValues{}, leaf.hparam->kind);
    if (values == 1) {
      axis_of_.push_back(-1);
      continue;
    }
    axis_of_.push_back(static_cast<std::ptrdiff_t>(axes_.size()));
    axes_.push_back(
        Axis{.leaf = leaf,
             .categorical = std::holds_alternative<CategoricalHparam>(leaf.hparam->kind),
             .values = values});
  }
}

Coordinates Encoding::Encode(const model::Hparams& point) const {
  Coordinates x;
  for (const Axis& axis : axes_) {
    const Value* value = Get(axis.leaf, point);
    x.push_back(value == nullptr ? kAbsent
                                 : SnapCoordinate(axis, std::visit(ToCoordinate{*value},
                                                                   axis.leaf.hparam->kind)));
  }
  return x;
}

model::Hparams Encoding::Decode(const Coordinates& x) const {
  model::Hparams point = Skeleton(space_);
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf& leaf = leaves_[i];
    if (!IsPresent(leaf, point)) continue;
    const double coordinate = axis_of_[i] < 0 ? 0 : x[static_cast<size_t>(axis_of_[i])];
    Put(leaf, std::visit(ToHparam{coordinate}, leaf.hparam->kind), point);
  }
  return point;
}

void Encoding::Snap(Coordinates& x) const {
  for (size_t i = 0; i < axes_.size(); ++i) x[i] = SnapCoordinate(axes_[i], x[i]);
  if (!conditional_) return;
  const model::Hparams point = Decode(x);
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (Get(axes_[i].leaf, point) == nullptr) x[i] = kAbsent;
  }
}

Coordinates Encoding::Draw(base::Rng& rng) const {
  Coordinates x;
  for (const Axis& axis : axes_) x.push_back(DrawCoordinate(axis, rng));
  Snap(x);
  return x;
}

double DrawCoordinate(const Axis& axis, base::Rng& rng) {
  return axis.categorical ? static_cast<double>(rng.UniformInt(0, axis.values - 1))
                          : SnapCoordinate(axis, rng.Uniform01());
}

double SnapCoordinate(const Axis& axis, double x) {
  const double n = static_cast<double>(axis.values);
  if (axis.categorical) return std::clamp(std::round(x), 0.0, n - 1);
  x = std::clamp(x, 0.0, 1.0);
  if (axis.values > 0) x = (std::min(std::floor(x * n), n - 1) + 0.5) / n;
  return std::round(x * 1e9) / 1e9;
}

double SquareDistance(const Axis& axis, double a, double b) {
  const bool no_a = std::isnan(a), no_b = std::isnan(b);
  if (no_a && no_b) return 0;
  if (axis.categorical) return a == b ? 0 : 1;
  if (!no_a && !no_b) return (a - b) * (a - b);
  // As if the absent lay beside the middle.
  const double v = (no_a ? b : a) - 0.5;
  return 0.75 + v * v;
}

}  // namespace det::searcher
