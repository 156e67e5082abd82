// Densities: their integral, and that samples follow them.
#include "master/core/searcher/parzen.h"

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "master/core/searcher/encoding.h"
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::DoubleHparam;
using model::SearchSpace;

TEST(ParzenTest, SamplesFromDensity) {
  const SearchSpace space = {{"x", {DoubleHparam{0, 1, {}}}},
                             {"c", {CategoricalHparam{{1, 2, 3}}}}};
  const Encoding encoding(space);
  const std::vector<Coordinates> points = {{0, 0.1}, {0, 0.15}, {2, 0.9}};
  std::vector<Parzen::Point> weighted;
  for (const Coordinates& x : points) weighted.push_back({.x = &x});
  const Parzen density(encoding, {0, 1}, weighted, 0.1);
  double total = 0;
  double near = 0;
  constexpr int kCells = 1000;
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < kCells; ++i) {
      const double x = (i + 0.5) / kCells;
      const double mass = std::exp(density.LogDensity({double(c), x})) / kCells;
      total += mass;
      near += c == 0 && x < 0.3 ? mass : 0;
    }
  }
  EXPECT_NEAR(total, 1, 1e-3);
  base::Rng rng(6);
  int hits = 0;
  Coordinates x(2);
  for (int i = 0; i < 20'000; ++i) {
    density.Sample(rng, x);
    hits += x[0] == 0 && x[1] < 0.3 ? 1 : 0;
  }
  EXPECT_NEAR(hits / 20'000.0, near, 0.015);
}

TEST(ParzenTest, SumsKernels) {
  const SearchSpace space = {{"x", {DoubleHparam{0, 1, {}}}}};
  const Encoding encoding(space);
  std::vector<Coordinates> points;
  for (int i = 1; i <= 19; ++i) points.push_back({0.05 * i});
  std::vector<Parzen::Point> weighted;
  for (const Coordinates& x : points) weighted.push_back({.x = &x});
  const double bandwidth = 0.1;
  const Parzen density(encoding, {0}, weighted, bandwidth);
  const double sigma = bandwidth * std::pow(19, -1.0 / 5);  // Scott's rule
  const auto below = [&](double z) { return 0.5 * std::erfc(-z / sigma / std::sqrt(2)); };
  for (double x = 0; x <= 1; x += 0.01) {
    double sum = 1;  // the prior
    for (const Coordinates& point : points) {
      const double z = (x - point[0]) / sigma;
      const double height =
          1 / (sigma * std::sqrt(2 * 3.14159265358979) * (below(1 - point[0]) - below(-point[0])));
      sum += height * std::exp(-z * z / 2);
    }
    EXPECT_NEAR(density.LogDensity({x}), std::log(sum / 20), 1e-5) << x;
  }
}

}  // namespace
}  // namespace det::searcher
