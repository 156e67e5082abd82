// A Gaussian process over points of a search space (Rasmussen and Williams, "Gaussian Processes for
// Machine Learning", 2006): Matern 5/2 kernel with a length scale per coordinate, and noise. The
// distance of two categories is 0 or 1, and about 1 between a present and an absent coordinate.
//
// The parameters maximize the posterior, with the prior of Hvarfner, Hellsten and Nardi ("Vanilla
// Bayesian optimization performs great in high dimensions", ICML 2024), by gradient ascent from
// fixed starts. Deterministic on every machine. Cost: O(points^3). PURE.
#ifndef MASTER_CORE_SEARCHER_GAUSSIAN_PROCESS_H_
#define MASTER_CORE_SEARCHER_GAUSSIAN_PROCESS_H_

#include <vector>

#include "master/core/searcher/encoding.h"

namespace det::searcher {

class GaussianProcess {
 public:
  // Logarithms of: one inverse squared length scale per axis, the variance, the noise variance.
  using Parameters = std::vector<double>;
  struct Prediction {
    double mean = 0;
    double deviation = 0;  // of the function, without the noise
  };

  // Every point has axes.size() coordinates; axes outlive it.
  explicit GaussianProcess(const std::vector<Axis>& axes) : axes_(axes) {}

  // Fits to targets with mean 0 and variance 1, one per point.
  void Fit(const std::vector<Coordinates>& points, const std::vector<double>& targets);
  // Adds an observation without changing the parameters.
  void Add(const Coordinates& point, double target);

  std::vector<Prediction> Predict(const std::vector<Coordinates>& points) const;
  const Parameters& parameters() const { return parameters_; }

 private:
  void Condition();

  const std::vector<Axis>& axes_;
  std::vector<Coordinates> points_;
  std::vector<double> targets_;
  Parameters parameters_;
  std::vector<double> factor_;   // Cholesky's, column by column
  std::vector<double> weights_;  // of the kernels in the mean
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_GAUSSIAN_PROCESS_H_
