#include "master/api/trials/downsample.h"

#include <algorithm>
#include <cmath>

namespace det::api {

std::vector<size_t> Thin(const std::vector<double>& values, size_t most) {
  std::vector<size_t> kept;
  most = std::max<size_t>(most, 4);
  if (values.size() <= most) {
    for (size_t i = 0; i < values.size(); ++i) kept.push_back(i);
    return kept;
  }
  const size_t inner = values.size() - 2;
  const size_t stretches = (most - 2) / 2;
  kept.push_back(0);
  for (size_t stretch = 0; stretch < stretches; ++stretch) {
    const size_t begin = 1 + inner * stretch / stretches;
    const size_t end = 1 + inner * (stretch + 1) / stretches;
    size_t least = begin;
    size_t greatest = begin;
    for (size_t i = begin; i < end; ++i) {
      if (values[i] < values[least] || std::isnan(values[least])) least = i;
      if (values[i] > values[greatest] || std::isnan(values[greatest])) greatest = i;
    }
    kept.push_back(std::min(least, greatest));
    if (least != greatest) kept.push_back(std::max(least, greatest));
  }
  kept.push_back(values.size() - 1);
  return kept;
}

}  // namespace det::api
