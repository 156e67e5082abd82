// The strategy allreduce: gradients are averaged over the ranks while the backward pass finds them,
// so every step is that of one rank with all of the records. With parts of the optimizers' state on
// the ranks, if that is asked for.
//
// Made by MakeStrategy.
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
  // `clock` tells which of several sizes of buckets is the fastest, where that is asked for.
  AllReduce(TrialContext& context, const Optimizations& optimizations, BucketTuner::Clock clock);
  ~AllReduce() override;

  void Backward(const torch::Tensor& loss, bool want_stop) override;
  bool OwnsGradients() const override { return reducer_ != nullptr; }
  bool AfterBatch(int64_t steps, bool want_stop) override;
  std::vector<int> Writers(const std::vector<torch::Tensor>& parameters) const override {
    return EvenWriters(context_, parameters);
  }
  // Of the last Backward().
  size_t buckets() const { return reducer_->num_buckets(); }
  std::vector<torch::Tensor> LeftOut() const override;
  bool SetLeftOut(const std::vector<torch::Tensor>& left_out) override;

 protected:
  // Of each parameter, the rank that alone needs its gradient; none: all need all.
  virtual std::vector<int> Owners(const GradientReducer::NamedParameters&) { return {}; }
  // Of the memory that the slots compute in.
  Communicator& of_slots() const;

  TrialContext& context_;

 private:
  // Anew, where there is one.
  void MakeReducer();
  BucketLimits Limits() const;
  Communicator& of_gradients() const;

  const Optimizations optimizations_;
  const BucketTuner::Clock clock_;
  std::unique_ptr<Communicator> of_gpus_;       // on GPU slots
  std::unique_ptr<Communicator> hierarchical_;  // where sums go by nodes
  std::unique_ptr<BucketTuner> tuner_;          // where sizes are tried
  std::unique_ptr<GradientReducer> reducer_;    // from the first Backward()
  std::vector<torch::Tensor> left_out_;         // of a checkpoint, until then
  bool remake_ = false;                         // with other buckets, before the next pass
  bool told_ = false;                           // with the gradients, since AfterBatch()
  bool stop_ = false;
};

// Each rank steps with a part of the parameters, of which it alone has the state, and gives their
// weights to the others. Gradients go to that rank alone, but for those in bytes, by way of the
// nodes, or of a parameter of two optimizers, which all get. Rajbhandari et al., "ZeRO: Memory
// Optimizations Toward Training Trillion Parameter Models", 2020, stage 1.
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
    return parts_.OwnersOf(parameters);
  }
  void Release() override { parts_.Release(); }

 private:
  std::vector<int> Owners(const GradientReducer::NamedParameters& parameters) override;
  Communicator& of_host() const;

  const bool may_be_in_parts_;
  bool in_parts_ = false;  // each gradient is its owner's alone, from the first Backward() on
  StateParts parts_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_ALL_REDUCE_H_
