#include "master/searcher/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace det::searcher {
namespace {

constexpr double kPriorWeight = 1;
// As much as so many points of each value.
constexpr double kCategoryPrior = 2;
// No kernel is narrower: the best points would be sampled again and again.
constexpr double kLeastBandwidth = 0.01;

double Cdf(double z) { return 0.5 * std::erfc(-z * 0.70710678118654752); }

// Of a Gaussian, what lies in [0, 1]. Farther than 5 sigma nothing does, to a millionth.
double Mass(double center, double sigma) {
  const double above = 1 - center > 5 * sigma ? 1 : Cdf((1 - center) / sigma);
  const double below = center > 5 * sigma ? 0 : Cdf(-center / sigma);
  return above - below;
}

}  // namespace

Parzen::Parzen(const Encoding& encoding, std::vector<size_t> axes, const std::vector<Point>& points,
               double bandwidth)
    : encoding_(encoding), axes_(std::move(axes)) {
  double total = kPriorWeight, sum = 0;
  for (const Point& point : points) total += point.weight;
  for (size_t k = 0; k <= points.size(); ++k) {
    const double weight = (k < points.size() ? points[k].weight : kPriorWeight) / total;
    cumulative_.push_back(sum += weight);
    log_weights_.push_back(std::log(weight));
  }
  common_.resize(axes_.size());
  kernels_.resize(log_weights_.size() * axes_.size());
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (axis(a).categorical) {
      AddCategory(a, points);
    } else {
      AddGaussians(a, points, bandwidth);
    }
  }
}

void Parzen::AddCategory(size_t a, const std::vector<Point>& points) {
  const double values = static_cast<double>(axis(a).values);
  const double shared = 1 / (1 + static_cast<double>(points.size()) / (kCategoryPrior * values));
  common_[a] = {.log_own = std::log(1 - shared + shared / values),
                .log_other = std::log(shared / values)};
  for (size_t k = 0; k < points.size(); ++k) {
    const double value = (*points[k].x)[axes_[a]];
    if (!std::isnan(value)) {
      kernels_[k * axes_.size() + a] = {.center = value, .log_scale = 0, .uniform = false};
    }
  }
}

void Parzen::AddGaussians(size_t a, const std::vector<Point>& points, double bandwidth) {
  const double n = std::max<double>(1, static_cast<double>(points.size()));
  const double values = static_cast<double>(axis(a).values);
  // Scott's rule; of integers at least half a cell.
  const double sigma =
      std::max({bandwidth * std::pow(n, -1 / (static_cast<double>(axes_.size()) + 4)),
                kLeastBandwidth, values > 0 ? 0.5 / values : 0});
  common_[a].sigma = sigma;
  for (size_t k = 0; k < points.size(); ++k) {
    const double center = (*points[k].x)[axes_[a]];
    if (std::isnan(center)) continue;
    // Without 1 / sqrt(2 pi) the density would be off by a factor against the uniform.
    kernels_[k * axes_.size() + a] = {
        .center = center,
        .log_scale = -std::log(sigma * Mass(center, sigma)) - 0.91893853320467274,
        .uniform = false};
  }
}

void Parzen::Sample(base::Rng& rng, Coordinates& x) const {
  const auto it = std::upper_bound(cumulative_.begin(), cumulative_.end(), rng.Uniform01());
  const size_t k = std::min(static_cast<size_t>(it - cumulative_.begin()), cumulative_.size() - 1);
  for (size_t a = 0; a < axes_.size(); ++a) {
    const Kernel& kernel = kernels_[k * axes_.size() + a];
    double& v = x[axes_[a]];
    if (kernel.uniform) {
      v = DrawCoordinate(axis(a), rng);
    } else if (axis(a).categorical) {
      const double shared = std::exp(common_[a].log_other) * static_cast<double>(axis(a).values);
      v = rng.Uniform01() < shared ? DrawCoordinate(axis(a), rng) : kernel.center;
    } else {
      // The center lies within the bounds, so that this ends soon.
      do {
        v = kernel.center + common_[a].sigma * rng.Normal();
      } while (v < 0 || v > 1);
      v = SnapCoordinate(axis(a), v);
    }
  }
}

double Parzen::LogDensity(const Coordinates& x) const {
  // The largest is taken out of the sum, or all would underflow.
  double largest = -std::numeric_limits<double>::infinity();
  std::vector<double> logs = log_weights_;
  for (size_t k = 0; k < logs.size(); ++k) {
    for (size_t a = 0; a < axes_.size(); ++a) {
      const double v = x[axes_[a]];
      const Kernel& kernel = kernels_[k * axes_.size() + a];
      if (std::isnan(v)) continue;
      if (axis(a).categorical) {
        logs[k] += kernel.uniform       ? -std::log(static_cast<double>(axis(a).values))
                   : kernel.center == v ? common_[a].log_own
                                        : common_[a].log_other;
      } else if (!kernel.uniform) {
        const double z = (v - kernel.center) / common_[a].sigma;
        logs[k] += kernel.log_scale - 0.5 * z * z;
      }
    }
    largest = std::max(largest, logs[k]);
  }
  double sum = 0;
  for (const double log : logs) sum += log - largest > -40 ? std::exp(log - largest) : 0;
  return largest + std::log(sum);
}

}  // namespace det::searcher
