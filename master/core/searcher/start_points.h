// The first points of a search, before a model can be fitted. PURE.
#ifndef MASTER_CORE_SEARCHER_START_POINTS_H_
#define MASTER_CORE_SEARCHER_START_POINTS_H_

#include "base/rng.h"
#include "master/core/searcher/encoding.h"
#include "master/core/searcher/history.h"

namespace det::searcher {

// Returns the one of several uniform points that is farthest from all existing ones (Mitchell,
// "Spectrally optimal sampling for distribution ray tracing", 1991).
Coordinates StartPoint(const Encoding& encoding, const History::Ranking& ranking, base::Rng& rng);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_START_POINTS_H_
