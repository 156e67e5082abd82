// A search space laid flat, and points drawn from it: integers include both bounds, a `log` is
// base^x with x uniform. A hyperparameter whose conditions do not hold is absent from the point.
// The order of drawing does not depend on the order in the user's file, so that equal generators
// give equal points. Called by samplers and search methods. PURE.
#ifndef MASTER_CORE_SEARCHER_SPACE_H_
#define MASTER_CORE_SEARCHER_SPACE_H_

#include <string>
#include <vector>

#include "base/rng.h"
#include "master/core/model/search_space.h"
#include "master/core/model/value.h"

namespace det::searcher {

// A hyperparameter that is not a map of others.
struct Leaf {
  std::vector<std::string> path;
  const model::Hyperparameter* hparam = nullptr;  // of the space it was made from
};

// In an order in which each comes after those that its conditions look at, otherwise by name.
// Those whose conditions go in a circle are never present, and come last.
std::vector<Leaf> Leaves(const model::SearchSpace& space);

// A point without any leaf: the maps alone, so that an empty one is kept.
model::Hparams Skeleton(const model::SearchSpace& space);

// Whether the leaf's conditions hold, given the leaves before it.
bool IsPresent(const Leaf& leaf, const model::Hparams& so_far);

// The leaf's value in a point; nullptr where it is absent.
const model::Value* Get(const Leaf& leaf, const model::Hparams& point);
void Put(const Leaf& leaf, model::Value value, model::Hparams& point);

// REQUIRES a valid hyperparameter, not nested: minval <= maxval, vals not empty.
model::Value Draw(const model::Hyperparameter& hparam, base::Rng& rng);
model::Hparams Sample(const model::SearchSpace& space, base::Rng& rng);

// Whether every sample of the space is the same point.
bool IsSinglePoint(const model::SearchSpace& space);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SPACE_H_
