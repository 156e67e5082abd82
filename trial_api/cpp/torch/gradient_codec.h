// As what gradients travel between ranks: `optimizations.gradient_compression`.
//
// 16 bits are added on the way. Bytes are levels of a scale that is each rank's own, so every rank
// gets all of them and adds them up itself; what rounding leaves out is added to this rank's next
// gradients, so that it is late and not lost (behind a change of the loss scale, by its factor too
// much or too little, once). Seide et al., "1-bit stochastic gradient descent",
// 2014; Karimireddy et al., "Error feedback fixes SignSGD", 2019.
//
// One for each bucket of the GradientReducer, one thread at a time.
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

  // Collective: numbers become their means over all ranks. `flat` is one-dimensional, of float or
  // double. Behind its first `gradients` numbers stand others, which stay above 0 if they are on
  // any rank, and 0 if they are on all. Throws PeerGone.
  virtual void Average(Communicator& channel, torch::Tensor flat, int64_t gradients) = 0;
  // The same for `root` alone; what the others have then is undefined. Not in bytes.
  virtual void AverageTo(int root, Communicator& channel, torch::Tensor flat) = 0;

  // What rounding has left out of this rank's gradients so far, and is to be added to the next:
  // as many numbers as gradients, or undefined where there is nothing.
  virtual torch::Tensor left_out() const { return {}; }
  virtual void set_left_out(const torch::Tensor&) {}
};

std::unique_ptr<GradientCodec> MakeGradientCodec(Optimizations::Compression compression);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_GRADIENT_CODEC_H_
