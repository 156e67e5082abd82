#include "master/core/searcher/grid.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "absl/numeric/int128.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace det::searcher {
namespace {

using model::Value;

using Values = absl::StatusOr<std::vector<Value>>;

// numerator / denominator, half away from zero. REQUIRES denominator > 0.
int64_t Round(absl::int128 numerator, absl::int128 denominator) {
  const absl::int128 half = numerator < 0 ? -denominator / 2 : denominator / 2;
  return static_cast<int64_t>((numerator + half) / denominator);
}

// As reals: where step `i` of `count` lies between the two.
double Between(double lo, double hi, int64_t i, int64_t count) {
  return std::lerp(lo, hi,
                   count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1));
}

std::string PathOf(const Leaf& leaf) {
  return absl::StrCat("hyperparameters.", absl::StrJoin(leaf.path, "."));
}

absl::Status TooMany(const std::string& what, int64_t most = kMostGridPoints) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": more than ", most, " points; lower the counts, or search at random"));
}

struct Offering {
  const std::string path;

  Values operator()(const model::ConstHparam& h) const { return std::vector<Value>{h.val}; }
  Values operator()(const model::CategoricalHparam& h) const { return h.vals; }
  Values operator()(const model::NestedHparam&) const { DET_CHECK(false) << "a map is no leaf"; }

  Values operator()(const model::IntHparam& h) const {
    const absl::int128 range = absl::int128(h.maxval) - h.minval;
    if (h.count && *h.count < 1) return NeedsCount();
    const absl::int128 fit = h.count ? std::min(absl::int128(*h.count), range + 1) : range + 1;
    if (fit > kMostGridPoints) return TooMany(path);
    const auto count = static_cast<int64_t>(fit);
    if (count == 1) return std::vector<Value>{Round(absl::int128(h.minval) + h.maxval, 2)};
    std::vector<Value> values;
    for (int64_t i = 0; i < count; ++i) {
      values.emplace_back(Round(absl::int128(h.minval) * (count - 1) + range * i, count - 1));
    }
    return values;
  }
  Values operator()(const model::DoubleHparam& h) const {
    return Spaced(h, [](double x) { return x; });
  }
  Values operator()(const model::LogHparam& h) const {
    return Spaced(h, [&h](double x) { return std::pow(h.base, x); });
  }

  template <class Hparam, class Scale>
  Values Spaced(const Hparam& h, const Scale& scale) const {
    if (!h.count || *h.count < 1) return NeedsCount();
    if (*h.count > kMostGridPoints) return TooMany(path);
    std::vector<Value> values;
    for (int64_t i = 0; i < *h.count; ++i) {
      values.emplace_back(scale(Between(h.minval, h.maxval, i, *h.count)));
    }
    return values;
  }

  absl::Status NeedsCount() const {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the grid searcher needs a count of 1 or more here"));
  }
};

}  // namespace

Values GridValues(const Leaf& leaf) {
  DET_ASSIGN_OR_RETURN(std::vector<Value> offered,
                       std::visit(Offering{PathOf(leaf)}, leaf.hparam->kind));
  std::set<std::string> known;
  std::vector<Value> values;
  for (Value& value : offered) {
    if (known.insert(value.ToJson()).second) values.push_back(std::move(value));
  }
  if (values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(PathOf(leaf), ": has no values to choose from"));
  }
  return values;
}

absl::StatusOr<Grid> Grid::Make(const model::SearchSpace& space) {
  Grid grid(space);
  std::set<std::string> looked_at;
  int64_t stored = 0;
  for (const Leaf& leaf : Leaves(*grid.space_)) {
    DET_ASSIGN_OR_RETURN(std::vector<Value> values, GridValues(leaf));
    for (const model::Condition& condition : leaf.hparam->when) looked_at.insert(condition.path);
    stored += static_cast<int64_t>(values.size());
    if (stored > 2 * kMostGridPoints) return TooMany("hyperparameters");
    grid.axes_.push_back(Axis{.leaf = leaf, .values = std::move(values)});
  }
  for (Axis& axis : grid.axes_) {
    axis.looked_at = looked_at.contains(absl::StrJoin(axis.leaf.path, "."));
  }
  // With conditions each point costs a walk over those before it.
  if (!looked_at.empty()) grid.most_ = kMostConditionalPoints;
  model::Hparams so_far = Skeleton(*grid.space_);
  grid.size_ = grid.Count(0, so_far);
  if (grid.size_ > grid.most_) return TooMany("hyperparameters", grid.most_);
  return grid;
}

int64_t Grid::Count(size_t axis, model::Hparams& so_far) const {
  const int64_t too_many = most_ + 1;
  if (axis == axes_.size()) return 1;
  const Axis& here = axes_[axis];
  if (!IsPresent(here.leaf, so_far)) return Count(axis + 1, so_far);
  if (!here.looked_at) {
    // Neither factor is beyond too_many, so that the product is no overflow.
    return std::min(too_many, Count(axis + 1, so_far) * static_cast<int64_t>(here.values.size()));
  }
  int64_t points = 0;
  for (const Value& value : here.values) {
    model::Hparams chosen = so_far;
    Put(here.leaf, value, chosen);
    points += Count(axis + 1, chosen);
    if (points >= too_many) return too_many;
  }
  return points;
}

model::Hparams Grid::point(int64_t index) const {
  DET_CHECK(index >= 0 && index < size_) << index << " of " << size_;
  model::Hparams point = Skeleton(*space_);
  for (size_t a = 0; a < axes_.size(); ++a) {
    const Axis& axis = axes_[a];
    if (!IsPresent(axis.leaf, point)) continue;
    if (!axis.looked_at) {
      const int64_t each = Count(a + 1, point);
      Put(axis.leaf, axis.values[static_cast<size_t>(index / each)], point);
      index %= each;
      continue;
    }
    for (const Value& value : axis.values) {
      Put(axis.leaf, value, point);
      const int64_t points = Count(a + 1, point);
      if (index < points) break;
      index -= points;
    }
  }
  return point;
}

model::Hparams GridSampler::Next(const model::SearchSpace&, const model::RequestId& request,
                                 base::Rng&) {
  int64_t number = 0;
  DET_CHECK(absl::SimpleAtoi(request.value(), &number)) << request;
  return grid_.point(grid_.size() - number);
}

absl::Status GridSampler::Restore(const Value& snapshot) {
  if (snapshot.is_null()) return absl::OkStatus();
  return absl::InvalidArgumentError("searcher snapshot: the grid remembers nothing");
}

}  // namespace det::searcher
