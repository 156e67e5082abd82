#include "master/api/trials/downsample.h"

#include <algorithm>
#include <cmath>

namespace det::api {

std::vector<size_t> Downsample(const std::vector<double>& values, size_t max_points) {
  std::vector<size_t> kept;
  max_points = std::max<size_t>(max_points, 4);
  if (values.size() <= max_points) {
    for (size_t i = 0; i < values.size(); ++i) kept.push_back(i);
    return kept;
  }
  const size_t inner = values.size() - 2;
  const size_t buckets = (max_points - 2) / 2;
  kept.push_back(0);
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const size_t begin = 1 + inner * bucket / buckets;
    const size_t end = 1 + inner * (bucket + 1) / buckets;
    size_t min = begin;
    size_t max = begin;
    for (size_t i = begin; i < end; ++i) {
      if (values[i] < values[min] || std::isnan(values[min])) min = i;
      if (values[i] > values[max] || std::isnan(values[max])) max = i;
    }
    kept.push_back(std::min(min, max));
    if (min != max) kept.push_back(std::max(min, max));
  }
  kept.push_back(values.size() - 1);
  return kept;
}

}  // namespace det::api
