// Averages gradients over the ranks while the backward pass is still computing.
//
// Gradients are stored in flat buckets, in the order in which the backward pass computes them (the
// last layers first), as in S. Li et al., "PyTorch Distributed: Experiences on Accelerating Data
// Parallel Training", VLDB 2020. A hook for each gradient counts down its bucket. Full buckets are
// passed, always in the same order, to a thread that all-reduces them over a separate channel. The
// last bucket, after which nothing is left to compute, is all-reduced in Finish(). One additional
// number in it carries each rank's wish to stop, so agreeing on it costs nothing.
//
// Owned by TrialContext and called on the training thread. Requires at least two ranks.
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

  // Collective: all ranks must pass the same parameters in the same order, in the memory that
  // `communicator` uses. `owners` contains for each parameter the rank that alone needs the
  // average, because only it updates the parameter; empty: all ranks need all averages. Throws
  // Error with the name of a parameter whose type or device is not supported.
  GradientReducer(Communicator& communicator, const NamedParameters& parameters,
                  const BucketLimits& limits = {},
                  Optimizations::Compression compression = Optimizations::Compression::kNone,
                  const std::vector<int>& owners = {});
  // Does not wait for peers: a running all-reduce is left to its thread.
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Called around one backward pass, or around the last of several passes whose gradients are
  // added: passes outside of the two add to this rank's gradients without communication. When
  // Finish() returns, every gradient is the average over all ranks (undefined on ranks that do not
  // own it); a parameter that was not used counts as zero. Returns whether `want_stop` was true on
  // any rank. Throws Error if another rank has ended.
  void Prepare(bool want_stop);
  bool Finish();

  size_t num_buckets() const;

  // The rounding errors of compression that are added to the next gradients (gradient_codec.h), in
  // the order of the parameters; undefined for parameters without error. Must not be called between
  // Prepare() and Finish(). Buckets may differ when it is set again.
  std::vector<torch::Tensor> GetResiduals() const;
  void SetResiduals(const std::vector<torch::Tensor>& left_out);

 private:
  struct Bucket;
  struct Shared;

  void FillBuckets(const NamedParameters& parameters, const BucketLimits& limits, bool on_device,
                   const std::vector<int>& owners);
  void MakeCodecs(Optimizations::Compression compression);
  void AddHooks();
  void Ready(size_t parameter);

  // Shared with the thread, which may outlive this object.
  std::shared_ptr<Shared> shared_;
  struct Parameter;
  std::vector<Parameter> parameters_;
  size_t given_ = 0;       // number of parameters, including those without gradient
  bool prepared_ = false;  // true between Prepare() and Finish()
  std::thread thread_;     // not started with a single bucket
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_GRADIENT_REDUCER_H_
