#include "master/searcher/parzen.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <eigen3/Eigen/Core>

namespace det::searcher {
namespace {

constexpr double kPriorWeight = 1;
// As much as so many points of each value.
constexpr double kCategoryPrior = 2;
// No kernel is narrower: the best points would be sampled again and again.
constexpr double kLeastBandwidth = 0.01;
constexpr double kUniform = -1;

double Cdf(double z) { return 0.5 * std::erfc(-z * 0.70710678118654752); }

// Of a Gaussian, the logarithm of what lies in [0, 1]. Farther than 5 sigma nothing does, to a
// millionth.
double LogMass(double center, double sigma) {
  const bool near_one = 1 - center <= 5 * sigma, near_zero = center <= 5 * sigma;
  if (!near_one && !near_zero) return 0;
  return std::log((near_one ? Cdf((1 - center) / sigma) : 1) -
                  (near_zero ? Cdf(-center / sigma) : 0));
}

Eigen::Map<const Eigen::ArrayXf> Array(const std::vector<float>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

}  // namespace

Parzen::Parzen(const Encoding& encoding, std::vector<size_t> axes, const std::vector<Point>& points,
               double bandwidth)
    : encoding_(encoding), axes_(std::move(axes)) {
  const size_t count = points.size() + 1;
  double total = kPriorWeight, sum = 0;
  for (const Point& point : points) total += point.weight;
  std::vector<double> log_weights(count);
  cumulative_.reserve(count);
  for (size_t k = 0; k <= points.size(); ++k) {
    const double weight = (k < points.size() ? points[k].weight : kPriorWeight) / total;
    cumulative_.push_back(sum += weight);
    log_weights[k] = std::log(weight);
  }
  kernels_.resize(axes_.size());
  for (size_t a = 0; a < axes_.size(); ++a) {
    kernels_[a].center.assign(count, kUniform);
    if (axis(a).categorical) {
      AddCategory(a, points);
    } else {
      AddGaussians(a, points, bandwidth);
    }
  }
  AddUp(log_weights);
}

void Parzen::AddCategory(size_t a, const std::vector<Point>& points) {
  Kernels& kernels = kernels_[a];
  const double values = static_cast<double>(axis(a).values);
  const double shared = 1 / (1 + static_cast<double>(points.size()) / (kCategoryPrior * values));
  kernels.log_own = std::log(1 - shared + shared / values);
  kernels.log_other = std::log(shared / values);
  kernels.log_any = -std::log(values);
  for (size_t k = 0; k < points.size(); ++k) {
    const double value = (*points[k].x)[axes_[a]];
    if (!std::isnan(value)) kernels.center[k] = value;
  }
  kernels.value.assign(kernels.center.begin(), kernels.center.end());
}

void Parzen::AddGaussians(size_t a, const std::vector<Point>& points, double bandwidth) {
  Kernels& kernels = kernels_[a];
  kernels.narrow.assign(kernels.center.size(), 0);
  kernels.shift.assign(kernels.center.size(), 0);
  kernels.log_scale.assign(kernels.center.size(), 0);
  const double n = std::max<double>(1, static_cast<double>(points.size()));
  const double values = static_cast<double>(axis(a).values);
  // Scott's rule; of integers at least half a cell.
  const double sigma =
      std::max({bandwidth * std::pow(n, -1 / (static_cast<double>(axes_.size()) + 4)),
                kLeastBandwidth, values > 0 ? 0.5 / values : 0});
  kernels.sigma = sigma;
  // Without 1 / sqrt(2 pi) the density would be off by a factor against the uniform.
  const double log_scale = -std::log(sigma) - 0.91893853320467274;
  const double narrow = 0.70710678118654752 / sigma;
  for (size_t k = 0; k < points.size(); ++k) {
    const double center = (*points[k].x)[axes_[a]];
    if (std::isnan(center)) continue;
    kernels.center[k] = center;
    kernels.narrow[k] = static_cast<float>(narrow);
    kernels.shift[k] = static_cast<float>(center * narrow);
    kernels.log_scale[k] = log_scale - LogMass(center, sigma);
  }
}

void Parzen::AddUp(const std::vector<double>& log_weights) {
  std::vector<double> heights = log_weights;
  for (const Kernels& kernels : kernels_) {
    for (size_t k = 0; k < kernels.log_scale.size(); ++k) heights[k] += kernels.log_scale[k];
  }
  log_heights_.assign(heights.begin(), heights.end());
}

void Parzen::Sample(base::Rng& rng, Coordinates& x) const {
  const auto it = std::upper_bound(cumulative_.begin(), cumulative_.end(), rng.Uniform01());
  const size_t k = std::min(static_cast<size_t>(it - cumulative_.begin()), cumulative_.size() - 1);
  for (size_t a = 0; a < axes_.size(); ++a) {
    const Kernels& kernels = kernels_[a];
    const double center = kernels.center[k];
    double& v = x[axes_[a]];
    if (center == kUniform) {
      v = DrawCoordinate(axis(a), rng);
    } else if (axis(a).categorical) {
      const double shared = std::exp(kernels.log_other) * static_cast<double>(axis(a).values);
      v = rng.Uniform01() < shared ? DrawCoordinate(axis(a), rng) : center;
    } else {
      // The center lies within the bounds, so that this ends soon.
      do {
        v = center + kernels.sigma * rng.Normal();
      } while (v < 0 || v > 1);
      v = SnapCoordinate(axis(a), v);
    }
  }
}

double Parzen::LogDensity(const Coordinates& x) const {
  Eigen::ArrayXf logs = Array(log_heights_);
  for (size_t a = 0; a < axes_.size(); ++a) {
    const auto v = static_cast<float>(x[axes_[a]]);
    const Kernels& kernels = kernels_[a];
    if (std::isnan(v)) {
      // What is absent is not scaled.
      for (size_t k = 0; k < kernels.log_scale.size(); ++k) {
        logs(static_cast<Eigen::Index>(k)) -= static_cast<float>(kernels.log_scale[k]);
      }
    } else if (axis(a).categorical) {
      const auto value = Array(kernels.value);
      const auto other =
          Eigen::ArrayXf::Constant(logs.size(), static_cast<float>(kernels.log_other));
      logs += (value == v)
                  .select(static_cast<float>(kernels.log_own),
                          (value == static_cast<float>(kUniform))
                              .select(static_cast<float>(kernels.log_any), other));
    } else {
      logs -= (v * Array(kernels.narrow) - Array(kernels.shift)).square();
    }
  }
  // The largest is taken out of the sum, or all would underflow.
  const float largest = logs.maxCoeff();
  return static_cast<double>(largest) + std::log(static_cast<double>((logs - largest).exp().sum()));
}

}  // namespace det::searcher
