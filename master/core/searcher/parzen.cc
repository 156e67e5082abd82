#include "master/core/searcher/parzen.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <eigen3/Eigen/Core>

namespace det::searcher {
namespace {

constexpr double kPriorWeight = 1;
// The weight of the prior of a category, in points per value.
constexpr double kCategoryPrior = 2;
// The minimum width: with narrower kernels the best points would be sampled repeatedly.
constexpr double kMinBandwidth = 0.01;
constexpr double kUniformWeight = -1;

double Cdf(double z) { return 0.5 * std::erfc(-z * 0.70710678118654752); }

// Returns the logarithm of the mass of a Gaussian in [0, 1]. Beyond 5 sigma it is zero up to a
// millionth.
double LogMass(double center, double sigma) {
  const bool near_one = 1 - center <= 5 * sigma, near_zero = center <= 5 * sigma;
  if (!near_one && !near_zero) return 0;
  return std::log((near_one ? Cdf((1 - center) / sigma) : 1) -
                  (near_zero ? Cdf(-center / sigma) : 0));
}

// Kernels are evaluated in blocks; the padding of the last one has no weight.
constexpr Eigen::Index kBlock = 8;
using Block = Eigen::Array<float, kBlock, 1>;
constexpr float kNothing = -1e30F;
constexpr float kMinLog = -17;  // smaller terms vanish in a sum in single precision

// Returns e^max(x, kMinLog) for x <= 0 with a relative error of 1e-5. A third of a decision is
// spent here; Eigen's function, which is exact for every number, takes twice as long.
Block Exp(const Block& x) {
  // (e^(x/64))^64, with a series for the inner one.
  const Block t = x.max(kMinLog) / 64;
  Block power = 1 + t * (1 + t * (1.F / 2 + t * (1.F / 6 + t * (1.F / 24 + t * (1.F / 120)))));
  for (int i = 0; i < 6; ++i) power *= power;
  return power;
}

std::vector<float> Padded(const std::vector<double>& values, float padding) {
  std::vector<float> padded(values.begin(), values.end());
  padded.resize((values.size() + kBlock - 1) / kBlock * kBlock, padding);
  return padded;
}

}  // namespace

Parzen::Parzen(const Encoding& encoding, std::vector<size_t> axes, const std::vector<Point>& points,
               double bandwidth)
    : encoding_(encoding), axes_(std::move(axes)) {
  const size_t count = points.size() + 1;
  double total = kPriorWeight;
  double sum = 0;
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
    kernels_[a].center.assign(count, kUniformWeight);
    if (axis(a).categorical) {
      AddCategory(a, points);
    } else {
      AddGaussians(a, points, bandwidth);
    }
  }
  AddUp(std::move(log_weights));
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
  kernels.value = Padded(kernels.center, static_cast<float>(kUniformWeight));
  kernels.scale.assign(kernels.value.size(), 0);
}

void Parzen::AddGaussians(size_t a, const std::vector<Point>& points, double bandwidth) {
  Kernels& kernels = kernels_[a];
  kernels.scale = kernels.shift = kernels.narrow =
      Padded(std::vector<double>(kernels.center.size(), 0), 0);
  const double n = std::max<double>(1, static_cast<double>(points.size()));
  const double values = static_cast<double>(axis(a).values);
  // Scott's rule; at least half a cell for integers.
  const double sigma =
      std::max({bandwidth * std::pow(n, -1 / (static_cast<double>(axes_.size()) + 4)),
                kMinBandwidth, values > 0 ? 0.5 / values : 0});
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
    kernels.scale[k] = static_cast<float>(log_scale - LogMass(center, sigma));
  }
}

void Parzen::AddUp(std::vector<double> log_weights) {
  for (const Kernels& kernels : kernels_) {
    for (size_t k = 0; k < kernels.scale.size() && k < log_weights.size(); ++k) {
      log_weights[k] += static_cast<double>(kernels.scale[k]);
    }
  }
  log_heights_ = Padded(log_weights, kNothing);
}

void Parzen::AddValue(const Kernels& kernels, float v, std::vector<float>& logs) {
  const auto log_own = static_cast<float>(kernels.log_own);
  const auto log_any = static_cast<float>(kernels.log_any);
  const auto log_other = static_cast<float>(kernels.log_other);
  for (size_t k = 0; k < logs.size(); ++k) {
    const float value = kernels.value[k];
    logs[k] += value == v                                    ? log_own
               : value == static_cast<float>(kUniformWeight) ? log_any
                                                             : log_other;
  }
}

void Parzen::Sample(base::Rng& rng, Coordinates& x) const {
  const auto it = std::upper_bound(cumulative_.begin(), cumulative_.end(), rng.Uniform01());
  const size_t k = std::min(static_cast<size_t>(it - cumulative_.begin()), cumulative_.size() - 1);
  for (size_t a = 0; a < axes_.size(); ++a) {
    const Kernels& kernels = kernels_[a];
    const double center = kernels.center[k];
    double& v = x[axes_[a]];
    if (center == kUniformWeight) {
      v = DrawCoordinate(axis(a), rng);
    } else if (axis(a).categorical) {
      const double shared = std::exp(kernels.log_other) * static_cast<double>(axis(a).values);
      v = rng.Uniform01() < shared ? DrawCoordinate(axis(a), rng) : center;
    } else {
      // The center is within the bounds, so this ends soon.
      do {
        v = center + kernels.sigma * rng.Normal();
      } while (v < 0 || v > 1);
      v = SnapCoordinate(axis(a), v);
    }
  }
}

double Parzen::LogDensity(const Coordinates& x) const {
  std::vector<float> logs = log_heights_;
  Eigen::Map<Eigen::ArrayXf> all(logs.data(), static_cast<Eigen::Index>(logs.size()));
  std::vector<std::pair<const Kernels*, float>> gaussians;
  gaussians.reserve(axes_.size());
  for (size_t a = 0; a < axes_.size(); ++a) {
    const auto v = static_cast<float>(x[axes_[a]]);
    if (std::isnan(v)) {
      // Absent coordinates are not scaled.
      all -= Eigen::Map<const Eigen::ArrayXf>(kernels_[a].scale.data(), all.size());
    } else if (axis(a).categorical) {
      AddValue(kernels_[a], v, logs);
    } else {
      gaussians.emplace_back(&kernels_[a], v);
    }
  }
  // Evaluates all axes of a block of kernels at a time, so that the sums stay in registers.
  for (Eigen::Index k = 0; k < all.size(); k += kBlock) {
    Eigen::Map<Block> sum(logs.data() + k);
    Block total = sum;
    for (const auto& [kernels, v] : gaussians) {
      total -= (v * Eigen::Map<const Block>(kernels->narrow.data() + k) -
                Eigen::Map<const Block>(kernels->shift.data() + k))
                   .square();
    }
    sum = total;
  }
  // Factors out the largest term to avoid underflow. Blocks with negligible terms, most of them,
  // are skipped.
  const float largest = all.maxCoeff();
  float sum = 0;
  for (Eigen::Index k = 0; k < all.size(); k += kBlock) {
    const Block below = Eigen::Map<const Block>(logs.data() + k) - largest;
    if (below.maxCoeff() > kMinLog) sum += Exp(below).sum();
  }
  return static_cast<double>(largest) + std::log(static_cast<double>(sum));
}

}  // namespace det::searcher
