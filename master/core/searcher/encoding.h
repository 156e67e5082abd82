// A search space as models see it: a point is one number per hyperparameter that has more than one
// value. Ordered ones lie in [0, 1] in their own scale (of a `log` the exponent; an integer is the
// middle of one of equal cells), a categorical one is the index of its value, and one that is
// absent from the point is NaN. All are multiples of 1e-9, so that snapshots are small and exact.
// Made for one call of a sampler; refers to the space. PURE.
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
  int64_t values = 0;  // how many there are; 0: a continuum
};

class Encoding {
 public:
  // `space` outlives it.
  explicit Encoding(const model::SearchSpace& space);

  const std::vector<Axis>& axes() const { return axes_; }

  Coordinates Encode(const model::Hparams& point) const;
  // The inverse. What the conditions leave out is left out whatever its coordinate; a coordinate
  // is moved to the nearest that exists. REQUIRES one that is not NaN for what is present.
  model::Hparams Decode(const Coordinates& x) const;

  // Moves each coordinate to the nearest that exists; NaN for what the conditions leave out.
  void Snap(Coordinates& x) const;
  // Uniform in each coordinate.
  Coordinates Draw(base::Rng& rng) const;

 private:
  const model::SearchSpace& space_;
  std::vector<Leaf> leaves_;
  std::vector<Axis> axes_;
  std::vector<std::ptrdiff_t> axis_of_;  // for each leaf, -1: it has one value
  bool conditional_ = false;
};

// A coordinate of the axis, uniform.
double DrawCoordinate(const Axis& axis, base::Rng& rng);
// The nearest that exists.
double SnapCoordinate(const Axis& axis, double x);

// How far two points are from each other, as its square; of a category, and of a coordinate to its
// absence, about 1. Euclidean in some space, as kernels want it.
double SquareDistance(const Axis& axis, double a, double b);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_ENCODING_H_
