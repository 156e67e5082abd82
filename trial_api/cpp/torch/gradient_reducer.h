// Averages gradients over the ranks while the backward pass still computes them.
//
// Gradients live in flat buckets, in the order in which backward makes them ready (the last layers
// first), as in S. Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel
// Training", VLDB 2020. A hook behind each gradient counts down its bucket; full buckets go, always
// in the same order, to a thread of our own that all-reduces them over a channel of its own; the
// last bucket, behind which nothing is left to compute, is all-reduced where Finish() is called.
// One more number in it carries each rank's wish to stop, so agreeing on it costs nothing.
//
// Owned by TrialContext and called on the training thread. Only for two ranks or more.
#ifndef TRIAL_API_CPP_TORCH_GRADIENT_REDUCER_H_
#define TRIAL_API_CPP_TORCH_GRADIENT_REDUCER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/torch/optimizations.h"
#include <torch/types.h>

namespace det::trial {

struct BucketLimits {
  int64_t first_bytes = int64_t{1} << 20;  // small, so that communication starts early
  int64_t other_bytes = int64_t{25} << 20;
};

class GradientReducer {
 public:
  using NamedParameters = std::vector<std::pair<std::string, torch::Tensor>>;

  // Collective: every rank gives the same parameters in the same order, which lie where the data of
  // `communicator` do. `owners`: of each, the rank that alone needs the average, as others do not
  // step with it; empty: all need all. Throws Error naming a parameter whose type or device it
  // cannot average.
  GradientReducer(Communicator& communicator, const NamedParameters& parameters,
                  const BucketLimits& limits = {},
                  Optimizations::Compression compression = Optimizations::Compression::kNone,
                  const std::vector<int>& owners = {});
  // Does not wait for a peer: an all-reduce under way is left to its thread.
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Around one backward pass, or the last of several whose gradients are added: passes outside of
  // the two add to this rank's gradients and communicate nothing. Finish() returns once every
  // gradient is the average over all ranks, undefined on those that do not own it: a parameter that
  // took no part counts as zero. Its
  // result: whether any rank said `want_stop`. Throws Error when a peer is gone.
  void Prepare(bool want_stop);
  bool Finish();

  size_t num_buckets() const;

  // What compression has left out of this rank's gradients and adds to the next (gradient_codec.h),
  // in the order of the parameters: undefined for those that have nothing. Not between Prepare()
  // and Finish(). Buckets may be others when it is set again.
  std::vector<torch::Tensor> LeftOut() const;
  void SetLeftOut(const std::vector<torch::Tensor>& left_out);

 private:
  struct Bucket;
  struct Shared;

  void FillBuckets(const NamedParameters& parameters, const BucketLimits& limits, bool on_device,
                   const std::vector<int>& owners);
  void MakeCodecs(Optimizations::Compression compression);
  void AddHooks();
  void Ready(size_t parameter);

  // Shared with the thread, which may outlive us.
  std::shared_ptr<Shared> shared_;
  struct Parameter;
  std::vector<Parameter> parameters_;
  size_t given_ = 0;       // parameters, with those that require no gradient
  bool prepared_ = false;  // between Prepare() and Finish()
  std::thread thread_;     // none with a single bucket
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_GRADIENT_REDUCER_H_
