// A density over a space: a mixture with one kernel per point, and a wide one, the prior, with the
// weight of a point. A kernel is a product over coordinates: a truncated Gaussian, or for a
// category a probability for the point's value and the rest divided evenly. If a coordinate of the
// point is absent, the kernel is uniform in it, so that points of one condition say nothing about
// hyperparameters that are present only under another (Falkner et al., "BOHB", ICML 2018). PURE.
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
  // A density over these axes of the encoding, which must outlive it. `bandwidth` is the width of
  // the kernel of one point, as a fraction of the range; with more points kernels narrow by Scott's
  // rule.
  Parzen(const Encoding& encoding, std::vector<size_t> axes, const std::vector<Point>& points,
         double bandwidth);

  // Sets its axes of x.
  void Sample(base::Rng& rng, Coordinates& x) const;
  // The logarithm of the density, up to a constant that depends on the axes.
  double LogDensity(const Coordinates& x) const;

 private:
  // The kernels of one axis, by point; the prior is last, then padding of the last block. A
  // decision evaluates thousands of them, so each quantity is a separate array in single precision,
  // which is accurate enough to compare candidates. Sampling uses double precision.
  struct Kernels {
    std::vector<double> center;  // -1: uniform
    std::vector<float> value;    // of a category; -1: uniform
    std::vector<float> narrow;   // 1 / (sqrt(2) sigma) of a Gaussian; 0: uniform
    std::vector<float> shift;    // center * narrow
    std::vector<float> scale;    // the logarithm of a Gaussian's height
    double sigma = 0;            // of the Gaussians
    double log_own = 0;          // of a category
    double log_other = 0;        // of each other value
    double log_any = 0;          // of a uniform kernel
  };
  const Axis& axis(size_t a) const { return encoding_.axes()[axes_[a]]; }
  void AddCategory(size_t a, const std::vector<Point>& points);
  void AddGaussians(size_t a, const std::vector<Point>& points, double bandwidth);
  void AddUp(std::vector<double> log_weights);
  // Adds the logarithm of each kernel's probability of a category's value to `logs`.
  static void AddValue(const Kernels& kernels, float v, std::vector<float>& logs);

  const Encoding& encoding_;
  std::vector<size_t> axes_;
  std::vector<double> cumulative_;  // weights
  std::vector<float> log_heights_;  // of each kernel: its weight and the scale of its axes
  std::vector<Kernels> kernels_;    // by axis
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PARZEN_H_
