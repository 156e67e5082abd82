// A Gaussian process over points of a search space (Rasmussen and Williams, "Gaussian Processes for
// Machine Learning", 2006): Matern 5/2 with a length scale per coordinate, and noise. The
// distance of two categories is 0 or 1, as is, about, that of a coordinate to its absence.
//
// Its parameters are those of the highest posterior, with the prior of Hvarfner, Hellsten and Nardi
// ("Vanilla Bayesian optimization performs great in high dimensions", ICML 2024), by gradient from
// given starts. Same input, same result on every machine. Work: O(points^3). PURE.
#ifndef MASTER_CORE_SEARCHER_GAUSSIAN_PROCESS_H_
#define MASTER_CORE_SEARCHER_GAUSSIAN_PROCESS_H_

#include <vector>

#include "master/core/searcher/encoding.h"

namespace det::searcher {

class GaussianProcess {
 public:
  // Logarithms: one inverse square of a length scale per axis, the variance, that of the noise.
  using Parameters = std::vector<double>;
  struct Prediction {
    double mean = 0;
    double deviation = 0;  // of the function, without the noise
  };

  // Every point has axes.size() coordinates; axes outlive it.
  explicit GaussianProcess(const std::vector<Axis>& axes) : axes_(axes) {}

  // To targets of mean 0 and variance 1, as many as points.
  void Fit(const std::vector<Coordinates>& points, const std::vector<double>& targets);
  // As if this had been observed; the parameters stay.
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
