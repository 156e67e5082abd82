// Points of a curve, thinned out so that its first, its last, its peaks and its dips stay.
//
// Pure; any thread.
#ifndef MASTER_API_TRIALS_DOWNSAMPLE_H_
#define MASTER_API_TRIALS_DOWNSAMPLE_H_

#include <cstddef>
#include <vector>

namespace det::api {

// The indices of at most `most` (at least 4) of the points, in order: the first, the last, and of
// each of equal stretches in between the least and the greatest. `values`: not-a-number counts as
// neither.
std::vector<size_t> Thin(const std::vector<double>& values, size_t most);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_DOWNSAMPLE_H_
