// The points of a grid: every combination of what each hyperparameter offers, each point once. A
// conditional hyperparameter is an axis only of the points that it is present in.
//
// The first axis by name changes slowest (conditions permitting: what a condition looks at comes
// before). `int` without a count offers all its values, and never more than it has; `double` and
// `log` need a count. Their values are spaced evenly, a log's by exponent; a count of 1 is the
// middle. Half integers are rounded away from zero.
//
// Points are computed by number, none is kept, so that a large grid costs nothing until it runs.
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

// More would never end, and is a mistake.
inline constexpr int64_t kMostGridPoints = 1'000'000;
inline constexpr int64_t kMostConditionalPoints = 10'000;  // where there are conditions

class Grid {
 public:
  // INVALID_ARGUMENT, naming the hyperparameter, for one that needs a count, and for too many
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
    bool looked_at = false;  // by the condition of another
  };

  explicit Grid(const model::SearchSpace& space)
      : space_(std::make_unique<model::SearchSpace>(space)) {}
  // How many points begin with `so_far`, which has what the axes before `axis` chose; more than
  // kMostGridPoints where it is too many.
  int64_t Count(size_t axis, model::Hparams& so_far) const;

  std::unique_ptr<const model::SearchSpace> space_;  // what the axes' leaves point into
  std::vector<Axis> axes_;
  int64_t size_ = 0;
  int64_t most_ = kMostGridPoints;
};

// The values of one hyperparameter, in order, each once.
absl::StatusOr<std::vector<model::Value>> GridValues(const Leaf& leaf);

// Trial n gets the n-th point from the end, as users of `grid` have always had it.
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
