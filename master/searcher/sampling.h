// Draws one point of a search space: integers include both bounds, a `log` is base^x with x
// uniform. Called by the search methods. The order of drawing is that of the names, so that equal
// generators give equal points whatever the order in the user's file. PURE.
#ifndef MASTER_SEARCHER_SAMPLING_H_
#define MASTER_SEARCHER_SAMPLING_H_

#include "base/rng.h"
#include "master/model/search_space.h"
#include "master/model/value.h"

namespace det::searcher {

// REQUIRES a valid space: minval <= maxval, vals not empty.
model::Hparams Sample(const model::SearchSpace& space, base::Rng& rng);

// Whether every sample of the space is the same point.
bool IsSinglePoint(const model::SearchSpace& space);

}  // namespace det::searcher

#endif  // MASTER_SEARCHER_SAMPLING_H_
