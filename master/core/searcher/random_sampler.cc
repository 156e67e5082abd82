#include "master/core/searcher/random_sampler.h"

#include "absl/status/status.h"
#include "master/core/searcher/space.h"

namespace det::searcher {

model::Hparams RandomSampler::Next(const model::SearchSpace& space, const model::RequestId&,
                                   base::Rng& rng) {
  return Sample(space, rng);
}

absl::Status RandomSampler::Restore(const model::Value& snapshot) {
  if (snapshot.is_null()) return absl::OkStatus();
  return absl::InvalidArgumentError("searcher snapshot: the random sampler has no state");
}

}  // namespace det::searcher
