// The state of a training that only one rank has, in rank_<r>.pt of a checkpoint: its random state,
// its metrics and parts of reducers since the last report, its gradients for which no step has been
// made yet (optimizations.aggregation_frequency), and the rounding errors of compression
// (gradient_codec.h).
//
// Any number of ranks can continue from it without loss. The new rank q % M of M takes over the
// state of the old rank q and adds it up; new ranks without old ones start empty. Gradients are
// means over ranks, so those of N ranks are multiplied by M/N, which preserves their mean over M
// ranks.
//
// Used by StateSnapshot and LoadState (training_state.h). Not collective.
#ifndef TRIAL_API_CPP_TORCH_RANK_STATE_H_
#define TRIAL_API_CPP_TORCH_RANK_STATE_H_

#include <string>

#include "trial_api/cpp/torch/metrics_sum.h"
#include <torch/serialize/archive.h>

namespace det {

class TrialContext;

namespace trial {

std::string RankFileName(int rank);

// Returns the state of this rank. Its tensors are those of the training, not copies.
torch::serialize::OutputArchive RankState(TrialContext& context, MetricsSum& unreported);

// Loads this rank's share of the files that all ranks wrote to `dir`. A new rank keeps its random
// state. Throws Error with the name of a file that does not match.
void LoadRankState(const std::string& dir, TrialContext& context, MetricsSum& unreported);

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_RANK_STATE_H_
