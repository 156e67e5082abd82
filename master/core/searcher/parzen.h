// A density over a space: a mixture with one kernel per point, and a wide one, the prior, that
// weighs as much as a point. A kernel is a product over coordinates: a Gaussian cut off at the
// bounds, or for a category a probability for the point's own value, the rest shared evenly. Where
// its point lacks a coordinate a kernel is uniform, so that points of one condition say nothing
// about what is present only under another (Falkner et al., "BOHB", ICML 2018). PURE.
#ifndef MASTER_CORE_SEARCHER_PARZEN_H_
#define MASTER_CORE_SEARCHER_PARZEN_H_

#include <cstddef>
#include <vector>

#include "base/rng.h"
#include "master/core/searcher/encoding.h"

namespace det::searcher {

class Parzen {
 public:
  struct Point {
    const Coordinates* x = nullptr;
    double weight = 1;
  };
  // Of these axes of the encoding, which outlives it. The kernels are `bandwidth` wide for one
  // point, as part of the range, and become narrower with more by Scott's rule.
  Parzen(const Encoding& encoding, std::vector<size_t> axes, const std::vector<Point>& points,
         double bandwidth);

  // Fills in its axes of x.
  void Sample(base::Rng& rng, Coordinates& x) const;
  // Up to a constant of the axes.
  double LogDensity(const Coordinates& x) const;

 private:
  // The kernels of one axis, by point; the prior comes last, then what fills up the last block. A
  // decision evaluates thousands of them, so each quantity is an array of its own, and single: of
  // two candidates whose densities differ by a hundred-thousandth either will do. Sampling needs
  // them exactly.
  struct Kernels {
    std::vector<double> center;  // -1: uniform
    std::vector<float> value;    // of a category; -1: uniform
    std::vector<float> narrow;   // 1 / (sqrt(2) sigma) of a Gaussian; 0: uniform
    std::vector<float> shift;    // center * narrow
    std::vector<float> scale;    // the logarithm of a Gaussian's height
    double sigma = 0;            // of the Gaussians
    double log_own = 0;          // of a category
    double log_other = 0;        // of each value
    double log_any = 0;          // of a uniform one
  };
  const Axis& axis(size_t a) const { return encoding_.axes()[axes_[a]]; }
  void AddCategory(size_t a, const std::vector<Point>& points);
  void AddGaussians(size_t a, const std::vector<Point>& points, double bandwidth);
  void AddUp(std::vector<double> log_weights);
  // The logarithm of each kernel's part in what a category's value weighs, added to `logs`.
  static void AddValue(const Kernels& kernels, float v, std::vector<float>& logs);

  const Encoding& encoding_;
  std::vector<size_t> axes_;
  std::vector<double> cumulative_;  // weights
  std::vector<float> log_heights_;  // of each kernel: its weight and what its axes scale it by
  std::vector<Kernels> kernels_;    // by axis
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PARZEN_H_
