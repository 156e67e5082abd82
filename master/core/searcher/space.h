// A flattened search space, and points drawn from it: integers include both bounds, a `log` is
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
  const model::Hyperparameter* hparam = nullptr;  // part of the space
};

// Returns the leaves, each after those that its conditions name, otherwise by name. Leaves with
// cyclic conditions are never present and come last.
std::vector<Leaf> Leaves(const model::SearchSpace& space);

// Returns a point without leaves: only the maps, so that empty maps are kept.
model::Hparams Skeleton(const model::SearchSpace& space);

// Whether the leaf's conditions hold, given the leaves before it.
bool IsPresent(const Leaf& leaf, const model::Hparams& so_far);

// Returns the leaf's value in a point; nullptr if it is absent.
const model::Value* Get(const Leaf& leaf, const model::Hparams& point);
void Put(const Leaf& leaf, model::Value value, model::Hparams& point);

// Draws a value. REQUIRES a valid hyperparameter that is not nested: minval <= maxval, vals not
// empty.
model::Value Draw(const model::Hyperparameter& hparam, base::Rng& rng);
model::Hparams Sample(const model::SearchSpace& space, base::Rng& rng);

// Whether the space has only one point.
bool IsSinglePoint(const model::SearchSpace& space);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SPACE_H_
