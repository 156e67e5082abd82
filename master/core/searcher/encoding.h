// The encoding of a search space for models: a point has one coordinate per hyperparameter with
// more than one value. An ordered one is in [0, 1] in its own scale (for `log` the exponent; an
// integer is the middle of one of equal cells), a categorical one is the index of its value, and an
// absent one is NaN. All are multiples of 1e-9, so that snapshots are small and exact. Created for
// one call of a sampler; refers to the space. PURE.
#ifndef MASTER_CORE_SEARCHER_ENCODING_H_
#define MASTER_CORE_SEARCHER_ENCODING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "master/core/searcher/space.h"

namespace det::searcher {

using Coordinates = std::vector<double>;

struct Axis {
  Leaf leaf;
  bool categorical = false;
  int64_t values = 0;  // number of values; 0: continuous
};

class Encoding {
 public:
  // `space` outlives it.
  explicit Encoding(const model::SearchSpace& space);

  const std::vector<Axis>& axes() const { return axes_; }

  Coordinates Encode(const model::Hparams& point) const;
  // The inverse. Hyperparameters whose conditions do not hold are absent, whatever their
  // coordinate; other coordinates are rounded to the nearest value. REQUIRES that present ones are
  // not NaN.
  model::Hparams Decode(const Coordinates& x) const;

  // Rounds each coordinate to the nearest value; NaN for hyperparameters whose conditions do not
  // hold.
  void Snap(Coordinates& x) const;
  // Draws a point that is uniform in each coordinate.
  Coordinates Draw(base::Rng& rng) const;

 private:
  const model::SearchSpace& space_;
  std::vector<Leaf> leaves_;
  std::vector<Axis> axes_;
  std::vector<std::ptrdiff_t> axis_of_;  // for each leaf; -1: it has one value
  bool conditional_ = false;
};

// Draws a coordinate of the axis uniformly.
double DrawCoordinate(const Axis& axis, base::Rng& rng);
// Rounds to the nearest value of the axis.
double SnapCoordinate(const Axis& axis, double x);

// Returns the squared distance of two coordinates; about 1 for different categories, and between a
// present and an absent coordinate. Euclidean in some space, as kernels require.
double SquareDistance(const Axis& axis, double a, double b);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_ENCODING_H_
