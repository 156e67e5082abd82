// Perturbation of points, the explore step of population-based training (Jaderberg et al.,
// "Population based training of neural networks", 2017, section 4.1.1 and appendix A). Called by
// search methods. PURE.
#ifndef MASTER_CORE_SEARCHER_PERTURB_H_
#define MASTER_CORE_SEARCHER_PERTURB_H_

#include "base/rng.h"
#include "master/core/model/search_space.h"
#include "master/core/model/value.h"

namespace det::searcher {

// Perturbs one hyperparameter, up or down with equal probability:
//   int, double, log   multiplied or divided by `factor` and clamped to the range. An int is
//                      rounded and moves by at least 1, inwards from a bound. A double that is 0 is
//                      resampled, because no factor changes it.
//   categorical        the previous or next choice in the list; at its ends, the inner one.
//   const              unchanged.
// A value that is not valid for the hyperparameter is resampled. REQUIRES factor >= 1, not a map,
// and what Draw requires.
model::Value Perturb(const model::Hyperparameter& hparam, const model::Value& value, double factor,
                     base::Rng& rng);

// Resamples every hyperparameter of `point` with `resample_probability`, and perturbs it otherwise.
// Conditions are evaluated on the new values: newly present hyperparameters are sampled.
model::Hparams Explore(const model::SearchSpace& space, const model::Hparams& point,
                       double resample_probability, double factor, base::Rng& rng);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PERTURB_H_
