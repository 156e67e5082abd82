// A point near another one: how population-based training explores (Jaderberg et al., "Population
// based training of neural networks", 2017, section 4.1.1 and appendix A). Called by search
// methods. PURE.
#ifndef MASTER_CORE_SEARCHER_PERTURB_H_
#define MASTER_CORE_SEARCHER_PERTURB_H_

#include "base/rng.h"
#include "master/core/model/search_space.h"
#include "master/core/model/value.h"

namespace det::searcher {

// One hyperparameter's step, up or down with equal chance:
//   int, double, log   multiplied or divided by `factor` and kept in the range. An int is rounded,
//                      and moves by 1 at least, inwards from a bound. A double that is 0, which no
//                      factor moves, is drawn anew.
//   categorical        the choice before or after in the list; at its ends, the one inside.
//   const              stays.
// A value that is not of this hyperparameter is drawn anew. REQUIRES factor >= 1, no map, and what
// Draw requires.
model::Value Perturb(const model::Hyperparameter& hparam, const model::Value& value, double factor,
                     base::Rng& rng);

// Every hyperparameter of `point`, drawn anew with `resample_probability`, otherwise perturbed.
// Conditions are judged by the new values: what they bring in is drawn, what they rule out is left
// out.
model::Hparams Explore(const model::SearchSpace& space, const model::Hparams& point,
                       double resample_probability, double factor, base::Rng& rng);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_PERTURB_H_
