// The first points of a search, before there is anything to learn from. PURE.
#ifndef MASTER_CORE_SEARCHER_START_POINTS_H_
#define MASTER_CORE_SEARCHER_START_POINTS_H_

#include "base/rng.h"
#include "master/core/searcher/encoding.h"
#include "master/core/searcher/history.h"

namespace det::searcher {

// Of some uniform points the one that lies farthest from all that there are (Mitchell, "Spectrally
// optimal sampling for distribution ray tracing", 1991).
Coordinates StartPoint(const Encoding& encoding, const History::Ranking& ranking, base::Rng& rng);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_START_POINTS_H_
