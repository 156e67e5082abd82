// What each rank alone knows of a training, rank_<r>.pt of a checkpoint: its random state, its
// metrics and parts of reducers since the last report, its gradients for which no step has been
// made yet (optimizations.aggregation_frequency), and what compression left out of them
// (gradient_codec.h).
//
// Any number of ranks goes on from it without loss. What old rank q had is taken over by new rank
// q % M of M, which adds it up; new ranks for which nothing is left begin with nothing. Gradients
// are means over ranks: those of N ranks are multiplied by M/N, so that their mean over M is the
// same.
//
// Part of StateSnapshot and LoadState (training_state.h). Not collective.
#ifndef TRIAL_API_CPP_TORCH_RANK_STATE_H_
#define TRIAL_API_CPP_TORCH_RANK_STATE_H_

#include <string>

#include "trial_api/cpp/torch/metrics_sum.h"
#include <torch/torch.h>

namespace det {

class TrialContext;

namespace trial {

std::string RankFileName(int rank);

// This rank's. Its tensors are those of the training, not copies.
torch::serialize::OutputArchive RankState(TrialContext& context, MetricsSum& unreported);

// This rank's share of what all ranks wrote to `dir`. A rank that was not there keeps the random
// state it has. Throws Error naming the file that does not fit.
void LoadRankState(const std::string& dir, TrialContext& context, MetricsSum& unreported);

}  // namespace trial
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_RANK_STATE_H_
