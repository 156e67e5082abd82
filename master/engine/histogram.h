// A histogram of durations. Engine updates it under a lock; Metrics reads a copy. PURE.
#ifndef MASTER_ENGINE_HISTOGRAM_H_
#define MASTER_ENGINE_HISTOGRAM_H_

#include <algorithm>
#include <array>
#include <cstdint>

namespace det::engine {

struct Histogram {
  // Upper bounds in seconds; the last bucket is unbounded.
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,  0.1,    0.25,  1.,   10.};

  void Add(double seconds) {
    ++counts[std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin()];
    sum += seconds;
  }

  std::array<int64_t, kBounds.size() + 1> counts = {};
  double sum = 0;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_HISTOGRAM_H_
