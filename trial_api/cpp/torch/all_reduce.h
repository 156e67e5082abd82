// The strategy allreduce: gradients are averaged over the ranks during the backward pass, so every
// step equals that of one rank with all records. Optionally each rank keeps only a part of the
// optimizers' state.
//
// Created by MakeStrategy.
#ifndef TRIAL_API_CPP_TORCH_ALL_REDUCE_H_
#define TRIAL_API_CPP_TORCH_ALL_REDUCE_H_

#include <memory>
#include <vector>

#include "trial_api/cpp/torch/bucket_tuner.h"
#include "trial_api/cpp/torch/gradient_reducer.h"
#include "trial_api/cpp/torch/optimizer_state.h"
#include "trial_api/cpp/torch/state_parts.h"
#include "trial_api/cpp/torch/strategy.h"

namespace det::trial {

class AllReduce : public Strategy {
 public:
  // `clock` measures which of several bucket sizes is the fastest, if tuning is enabled.
  AllReduce(TrialContext& context, const Optimizations& optimizations, BucketTuner::Clock clock);
  ~AllReduce() override;

  void Backward(const torch::Tensor& loss, bool want_stop) override;
  bool OwnsGradients() const override { return reducer_ != nullptr; }
  bool AfterBatch(int64_t steps, bool want_stop) override;
  std::vector<int> Writers(const std::vector<torch::Tensor>& parameters) const override {
    return EvenWriters(context_, parameters);
  }
  // The number of buckets in the last Backward().
  size_t buckets() const { return reducer_->num_buckets(); }
  std::vector<torch::Tensor> GetResiduals() const override;
  bool SetResiduals(const std::vector<torch::Tensor>& left_out) override;

 protected:
  // Returns for each parameter the rank that alone needs its gradient; empty: all ranks need all
  // gradients.
  virtual std::vector<int> Owners(const GradientReducer::NamedParameters&) { return {}; }
  // The communicator for the memory in which the slots compute.
  Communicator& slot_communicator() const;

  TrialContext& context_;

 private:
  // Creates the reducer again, if there is one.
  void MakeReducer();
  BucketLimits Limits() const;
  Communicator& gradient_communicator() const;

  const Optimizations optimizations_;
  const BucketTuner::Clock clock_;
  std::unique_ptr<Communicator> gpu_communicator_;  // set on GPU slots
  std::unique_ptr<Communicator> hierarchical_;      // set if sums are computed per node first
  std::unique_ptr<BucketTuner> tuner_;              // set while bucket sizes are tuned
  std::unique_ptr<GradientReducer> reducer_;        // created in the first Backward()
  std::vector<torch::Tensor> left_out_;             // from a checkpoint, until reducer_ exists
  bool remake_ = false;          // recreate the reducer with other buckets before the next pass
  bool stop_exchanged_ = false;  // the wish to stop was sent with the gradients since AfterBatch()
  bool stop_ = false;
};

// Each rank updates a part of the parameters, whose optimizer state it alone has, and sends their
// weights to the others. A gradient is reduced to that rank only, except for int8 compression,
// hierarchical sums, and parameters of two optimizers, whose gradients all ranks get. Rajbhandari
// et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020, stage 1.
class ShardedAllReduce final : public AllReduce {
 public:
  ShardedAllReduce(TrialContext& context, const Optimizations& optimizations,
                   BucketTuner::Clock clock);

  bool BeforeStep(torch::optim::Optimizer& optimizer) override;
  bool AllFinite(bool own) override;
  void ClipGradients(torch::optim::Optimizer& optimizer, const Clip& clip) override;
  void Step(torch::optim::Optimizer& optimizer) override;
  void AfterStep(torch::optim::Optimizer& optimizer) override;
  std::vector<int> Writers(const std::vector<torch::Tensor>& parameters) const override {
    return parts_.GetOwners(parameters);
  }
  void Release() override { parts_.Release(); }

 private:
  std::vector<int> Owners(const GradientReducer::NamedParameters& parameters) override;
  Communicator& host_communicator() const;

  const bool can_shard_gradients_;
  bool sharded_gradients_ =
      false;  // gradients are valid on their owner only, from the first Backward() on
  StateParts parts_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_ALL_REDUCE_H_
