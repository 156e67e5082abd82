// The points of a grid: every combination of the values of each hyperparameter, each point once. A
// conditional hyperparameter is an axis only for the points in which it is present.
//
// The first axis by name changes slowest, except that a hyperparameter comes after those that its
// conditions name. `int` without a count has all its values; `double` and `log` require a count.
// Their values are spaced evenly, those of `log` by exponent; a count of 1 is the middle. Half
// integers are rounded away from zero.
//
// Points are computed by index and not stored, so a large grid costs nothing until it runs.
// PURE.
#ifndef MASTER_CORE_SEARCHER_GRID_H_
#define MASTER_CORE_SEARCHER_GRID_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/search_space.h"
#include "master/core/searcher/sampler.h"
#include "master/core/searcher/space.h"

namespace det::searcher {

// The maximum number of points: a larger grid would never end and is a mistake.
inline constexpr int64_t kMaxGridPoints = 1'000'000;
inline constexpr int64_t kMaxConditionalPoints = 10'000;  // where there are conditions

class Grid {
 public:
  // INVALID_ARGUMENT, naming the hyperparameter, if a count is missing or there are too many
  // points.
  static absl::StatusOr<Grid> Make(const model::SearchSpace& space);

  Grid(Grid&&) = default;
  Grid& operator=(Grid&&) = default;

  int64_t size() const { return size_; }
  // REQUIRES 0 <= index < size().
  model::Hparams point(int64_t index) const;

 private:
  struct Axis {
    Leaf leaf;
    std::vector<model::Value> values;
    bool looked_at = false;  // a condition of another one names it
  };

  explicit Grid(const model::SearchSpace& space)
      : space_(std::make_unique<model::SearchSpace>(space)) {}
  // Returns the number of points that begin with `so_far`, the values of the axes before `axis`;
  // more than kMaxGridPoints if there are too many.
  int64_t Count(size_t axis, model::Hparams& so_far) const;

  std::unique_ptr<const model::SearchSpace> space_;  // what the axes' leaves point into
  std::vector<Axis> axes_;
  int64_t size_ = 0;
  int64_t most_ = kMaxGridPoints;
};

// Returns the values of one hyperparameter, in order, each once.
absl::StatusOr<std::vector<model::Value>> GridValues(const Leaf& leaf);

// Trial n gets the n-th point from the end, as in Determined.
class GridSampler final : public Sampler {
 public:
  explicit GridSampler(Grid grid) : grid_(std::move(grid)) {}

  // REQUIRES a request of MakeTrial, for a number from 1 to the size of the grid.
  model::Hparams Next(const model::SearchSpace& space, const model::RequestId& request,
                      base::Rng& rng) override;
  void OnReport(const Report&) override {}
  void OnExited(const model::RequestId&, TrialEnd) override {}
  model::Value Snapshot() const override { return model::Value(); }
  absl::Status Restore(const model::Value& snapshot) override;

 private:
  Grid grid_;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_GRID_H_
