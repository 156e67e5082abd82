// The encoding of gradients between ranks: `optimizations.gradient_compression`.
//
// 16-bit values are summed during the reduction. int8 values use a scale of each rank, so every
// rank receives all of them and sums them itself; the rounding error is added to this rank's next
// gradients, so it is delayed and not lost (after a change of the loss scale it is wrong by that
// factor, once). Seide et al., "1-bit stochastic gradient descent", 2014; Karimireddy et al.,
// "Error feedback fixes SignSGD", 2019.
//
// One for each bucket of the GradientReducer; one thread at a time.
#ifndef TRIAL_API_CPP_TORCH_GRADIENT_CODEC_H_
#define TRIAL_API_CPP_TORCH_GRADIENT_CODEC_H_

#include <cstdint>
#include <memory>

#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/torch/optimizations.h"
#include <torch/types.h>

namespace det::trial {

class GradientCodec {
 public:
  virtual ~GradientCodec() = default;

  // Replaces `flat` by the mean over all ranks. Collective. `flat` is one-dimensional, of type
  // float or double. After its first `gradients` numbers there are others that remain above 0 if
  // they are above 0 on any rank, and 0 if they are 0 on all. Throws PeerGone.
  virtual void Average(Communicator& channel, torch::Tensor flat, int64_t gradients) = 0;
  // Same as Average for `root` only; the contents on other ranks are undefined. Not supported by
  // int8.
  virtual void AverageTo(int root, Communicator& channel, torch::Tensor flat) = 0;

  // The rounding error of this rank's gradients so far, which is added to the next gradients: as
  // many numbers as gradients, or undefined if there is none.
  virtual torch::Tensor residual() const { return {}; }
  virtual void set_residual(const torch::Tensor&) {}
};

std::unique_ptr<GradientCodec> MakeGradientCodec(Optimizations::Compression compression);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_GRADIENT_CODEC_H_
