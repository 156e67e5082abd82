// Reduces the points of a curve and keeps its ends, maxima and minima.
//
// Pure; any thread.
#ifndef MASTER_API_TRIALS_DOWNSAMPLE_H_
#define MASTER_API_TRIALS_DOWNSAMPLE_H_

#include <cstddef>
#include <vector>

namespace det::api {

// Returns the indices of at most `max_points` points (values below 4 count as 4), in order: the
// first and the last point, and the minimum and maximum of each of the equal buckets between them.
// NaN is neither a minimum nor a maximum.
std::vector<size_t> Downsample(const std::vector<double>& values, size_t max_points);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_DOWNSAMPLE_H_
