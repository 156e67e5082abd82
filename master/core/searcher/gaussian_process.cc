#include "master/core/searcher/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <eigen3/Eigen/Cholesky>
#include <eigen3/Eigen/Core>

namespace det::searcher {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Parameters = GaussianProcess::Parameters;

constexpr double kSqrt5 = 2.2360679774997896964;
constexpr double kInf = std::numeric_limits<double>::infinity();

// What parameters may be: a scale between a hundredth and thirty times the range.
constexpr double kLeastScale = -7, kMostScale = 9;
constexpr double kLeastNoise = -14, kMostNoise = 0;
constexpr int kSteps = 40;

// The order of a product's sums depends on the sizes of the caches, so they are made to be equal.
void FixBlocking() { Eigen::setCpuCacheSizes(32 * 1024, 256 * 1024, 4 * 1024 * 1024); }

ArrayXXd SquareDistances(const Axis& axis, size_t i, const std::vector<Coordinates>& a,
                         const std::vector<Coordinates>& b) {
  ArrayXXd distances(a.size(), b.size());
  for (size_t column = 0; column < b.size(); ++column) {
    for (size_t row = 0; row < a.size(); ++row) {
      distances(static_cast<Index>(row), static_cast<Index>(column)) =
          SquareDistance(axis, a[row][i], b[column][i]);
    }
  }
  return distances;
}

// The correlation, at the scaled square distance s.
ArrayXXd Matern(const ArrayXXd& s) {
  const ArrayXXd r = kSqrt5 * s.sqrt();
  return (1 + r + r * r / 3) * (-r).exp();
}

// The posterior of the parameters, and its slope.
class Posterior {
 public:
  Posterior(const std::vector<Axis>& axes, const std::vector<Coordinates>& points,
            const std::vector<double>& targets)
      : targets_(Eigen::Map<const VectorXd>(targets.data(), static_cast<Index>(targets.size()))) {
    for (size_t i = 0; i < axes.size(); ++i) {
      distances_.push_back(SquareDistances(axes[i], i, points, points));
    }
  }

  // -infinity where the kernel is singular.
  double operator()(const Parameters& p, Parameters& slope) const {
    const size_t d = distances_.size();
    const Index n = targets_.size();
    const double variance = std::exp(p[d]), noise = std::exp(p[d + 1]);
    ArrayXXd s = ArrayXXd::Zero(n, n);
    for (size_t i = 0; i < d; ++i) s += std::exp(p[i]) * distances_[i];
    const ArrayXXd r = kSqrt5 * s.sqrt();
    const ArrayXXd fall = (-r).exp();
    const MatrixXd correlation = (1 + r + r * r / 3) * fall;
    const MatrixXd kernel = variance * correlation + noise * MatrixXd::Identity(n, n);
    const Eigen::LLT<MatrixXd> factor(kernel);
    if (factor.info() != Eigen::Success) return -kInf;
    const VectorXd weights = factor.solve(targets_);
    const MatrixXd inverse = factor.solve(MatrixXd::Identity(n, n));
    double value =
        -0.5 * targets_.dot(weights) - MatrixXd(factor.matrixLLT()).diagonal().array().log().sum();
    // d value / d kernel = (weights weights' - inverse) / 2.
    const ArrayXXd g = 0.5 * (weights * weights.transpose() - inverse).array();
    // d Matern / d s = -5/6 (1 + r) e^-r.
    const ArrayXXd by_s = g * (-5.0 / 6 * variance) * (1 + r) * fall;
    slope.assign(d + 2, 0);
    for (size_t i = 0; i < d; ++i) slope[i] = std::exp(p[i]) * (by_s * distances_[i]).sum();
    slope[d] = variance * (g * correlation.array()).sum();
    slope[d + 1] = noise * g.matrix().trace();
    return value + Prior(p, slope);
  }

 private:
  static double Log(double p, double mean, double deviation, double& slope) {
    const double z = (p - mean) / deviation;
    slope -= z / deviation;
    return -0.5 * z * z;
  }
  // Log-normal: length scales sqrt(2) + log(sqrt(d)) +- sqrt(3), hence minus twice that.
  double Prior(const Parameters& p, Parameters& slope) const {
    const size_t d = distances_.size();
    const double mean = -2 * (1.41421356 + 0.5 * std::log(static_cast<double>(d)));
    double value = 0;
    for (size_t i = 0; i < d; ++i) value += Log(p[i], mean, 2 * 1.7320508, slope[i]);
    value += Log(p[d], 0, 1, slope[d]);
    value += Log(p[d + 1], -8, 3, slope[d + 1]);
    return value;
  }

  std::vector<ArrayXXd> distances_;
  VectorXd targets_;
};

double Clamp(size_t i, size_t d, double p) {
  if (i < d) return std::clamp(p, kLeastScale, kMostScale);
  return i == d ? std::clamp(p, -4.0, 4.0) : std::clamp(p, kLeastNoise, kMostNoise);
}

// Resilient propagation (Riedmiller and Braun, 1993): steps by the sign of the slope alone.
double Climb(const Posterior& posterior, Parameters& p) {
  const size_t d = p.size() - 2;
  Parameters slope, last(p.size(), 0), step(p.size(), 0.5), best = p, at = p;
  double most = -kInf;
  for (int n = 0; n < kSteps; ++n) {
    const double value = posterior(at, slope);
    if (value > most) {
      most = value;
      best = at;
    }
    if (!std::isfinite(value)) break;
    for (size_t i = 0; i < p.size(); ++i) {
      const double turn = slope[i] * last[i];
      if (turn > 0) step[i] = std::min(step[i] * 1.2, 2.0);
      if (turn < 0) {
        step[i] = std::max(step[i] * 0.5, 1e-3);
        slope[i] = 0;
      }
      last[i] = slope[i];
      at[i] = Clamp(i, d, at[i] + (slope[i] > 0 ? step[i] : slope[i] < 0 ? -step[i] : 0));
    }
  }
  p = best;
  return most;
}

}  // namespace

void GaussianProcess::Fit(const std::vector<Coordinates>& points,
                          const std::vector<double>& targets) {
  FixBlocking();
  points_ = points;
  targets_ = targets;
  const Posterior posterior(axes_, points, targets);
  double most = -kInf;
  for (const double scale : {-2.0, 2.0}) {
    Parameters p(axes_.size() + 2, scale);
    p[axes_.size()] = 0;
    p[axes_.size() + 1] = -6;
    const double value = Climb(posterior, p);
    if (parameters_.empty() || value > most) {
      most = value;
      parameters_ = p;
    }
  }
  Condition();
}

void GaussianProcess::Add(const Coordinates& point, double target) {
  points_.push_back(point);
  targets_.push_back(target);
  Condition();
}

void GaussianProcess::Condition() {
  const size_t d = axes_.size();
  const Index n = static_cast<Index>(points_.size());
  ArrayXXd s = ArrayXXd::Zero(n, n);
  for (size_t i = 0; i < d; ++i) {
    s += std::exp(parameters_[i]) * SquareDistances(axes_[i], i, points_, points_);
  }
  const MatrixXd correlation = std::exp(parameters_[d]) * Matern(s);
  // More noise until it is not singular.
  for (double noise = std::exp(parameters_[d + 1]);; noise *= 10) {
    const Eigen::LLT<MatrixXd> factor(correlation + noise * MatrixXd::Identity(n, n));
    if (factor.info() != Eigen::Success && noise < 1e6) continue;
    const VectorXd weights = factor.solve(Eigen::Map<const VectorXd>(targets_.data(), n));
    weights_.assign(weights.data(), weights.data() + n);
    const MatrixXd lower = factor.matrixL();
    factor_.assign(lower.data(), lower.data() + n * n);
    return;
  }
}

std::vector<GaussianProcess::Prediction> GaussianProcess::Predict(
    const std::vector<Coordinates>& points) const {
  const size_t d = axes_.size();
  const Index n = static_cast<Index>(points_.size()), m = static_cast<Index>(points.size());
  ArrayXXd s = ArrayXXd::Zero(n, m);
  for (size_t i = 0; i < d; ++i) {
    s += std::exp(parameters_[i]) * SquareDistances(axes_[i], i, points_, points);
  }
  const double variance = std::exp(parameters_[d]);
  MatrixXd kernel = variance * Matern(s);
  const VectorXd mean = kernel.transpose() * Eigen::Map<const VectorXd>(weights_.data(), n);
  Eigen::Map<const MatrixXd>(factor_.data(), n, n)
      .triangularView<Eigen::Lower>()
      .solveInPlace(kernel);
  const VectorXd known = kernel.colwise().squaredNorm();
  std::vector<Prediction> predictions;
  for (Index j = 0; j < m; ++j) {
    predictions.push_back(
        {.mean = mean(j), .deviation = std::sqrt(std::max(variance - known(j), 1e-14))});
  }
  return predictions;
}

}  // namespace det::searcher
