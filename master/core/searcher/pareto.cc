#include "master/core/searcher/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace det::searcher {
namespace {

double Comparable(double loss) {
  return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
}

// Returns the points in lexicographic order: no point is dominated by a later one.
std::vector<size_t> Lexicographic(const std::vector<Losses>& points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&points](size_t a, size_t b) {
    return std::lexicographical_compare(
        points[a].begin(), points[a].end(), points[b].begin(), points[b].end(),
        [](double x, double y) { return Comparable(x) < Comparable(y); });
  });
  return order;
}

bool IsDominatedByAny(const std::vector<size_t>& front, const std::vector<Losses>& points,
                      size_t point) {
  // Starts from the last one, which most likely dominates the point.
  return std::any_of(front.rbegin(), front.rend(),
                     [&](size_t other) { return Dominates(points[other], points[point]); });
}

}  // namespace

bool Dominates(const Losses& a, const Losses& b) {
  DET_CHECK(a.size() == b.size()) << a.size() << " losses against " << b.size();
  bool better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = Comparable(a[i]), y = Comparable(b[i]);
    if (x > y) return false;
    better = better || x < y;
  }
  return better;
}

std::vector<size_t> Front(const std::vector<Losses>& points) {
  std::vector<size_t> front;
  for (const size_t point : Lexicographic(points)) {
    if (!IsDominatedByAny(front, points, point)) front.push_back(point);
  }
  std::sort(front.begin(), front.end());
  return front;
}

std::vector<int64_t> Ranks(const std::vector<Losses>& points) {
  std::vector<std::vector<size_t>> fronts;
  std::vector<int64_t> ranks(points.size());
  for (const size_t point : Lexicographic(points)) {
    // A point that a member of a front dominates is dominated by one of each earlier front.
    const auto front = std::partition_point(
        fronts.begin(), fronts.end(),
        [&](const std::vector<size_t>& one) { return IsDominatedByAny(one, points, point); });
    ranks[point] = front - fronts.begin();
    if (front == fronts.end()) {
      fronts.push_back({point});
    } else {
      front->push_back(point);
    }
  }
  return ranks;
}

double Hypervolume(const std::vector<Losses>& points, const std::array<double, 2>& reference) {
  double area = 0;
  double lowest = reference[1];
  for (const size_t i : Lexicographic(points)) {
    DET_CHECK(points[i].size() == 2) << points[i].size() << " losses instead of 2";
    const double x = Comparable(points[i][0]), y = Comparable(points[i][1]);
    if (x >= reference[0] || y >= lowest) continue;
    area += (reference[0] - x) * (lowest - y);
    lowest = y;
  }
  return area;
}

}  // namespace det::searcher
