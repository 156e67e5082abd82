// What the training loop and the strategies need of a TrialContext, beside what it is to a Trial:
// what was wrapped, how far training is, and what the ranks do together.
//
// The base of TrialContext, on the training thread; not for Trials.
#ifndef TRIAL_API_CPP_TORCH_TRAINING_PARTS_H_
#define TRIAL_API_CPP_TORCH_TRAINING_PARTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trial_api/cpp/core/context.h"
#include "trial_api/cpp/torch/callback.h"
#include "trial_api/cpp/torch/loss_scale.h"
#include <torch/torch.h>

namespace det::trial {

class Reducers;
class ScheduledRates;
class Strategy;
struct Optimizations;

class TrainingParts {
 public:
  TrainingParts(const TrainingParts&) = delete;
  TrainingParts& operator=(const TrainingParts&) = delete;

  const std::vector<std::shared_ptr<torch::nn::Module>>& models() const { return models_; }
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() const {
    return optimizers_;
  }
  std::optional<torch::ScalarType> autocast_type() const { return autocast_type_; }
  std::optional<LossScale>& scaling() { return loss_scale_; }
  Reducers& reducers() const { return *reducers_; }
  Strategy& strategy() const { return *strategy_; }
  const Callbacks& callbacks() const { return callbacks_; }
  // Throws Error when a name cannot be one in a file.
  void SetCallbacks(Callbacks callbacks);
  // Before each batch, and at the end: sets the learning rates too.
  void SetSteps(int64_t completed, int64_t max);
  // Whether there are gradients for which no step has been made yet.
  bool AmidAggregation() const { return steps_completed_ % aggregation_frequency_ != 0; }
  // Collective, after each train_batch() and SetSteps(): whether any rank wants to stop. Several
  // ranks hear of it where they communicate anyway: with every n-th batch, or some batches later.
  bool AgreeToStop();
  // Among TrialContext::readers(): what sums over records sums over these ranks.
  Communicator& among_readers() { return among_readers_ ? *among_readers_ : core_.communicator(); }
  // Collective: makes the ranks one net, with the chief's buffers, for a validation or checkpoint.
  void Synchronize();
  // Collective: buffers (running means and such) of the chief replace those of the others.
  void BroadcastBuffers();

 protected:
  // `strategy_` is still to be made.
  TrainingParts(Context& context, const Optimizations& optimizations);
  ~TrainingParts();

  void BroadcastTensor(torch::Tensor tensor);
  // Whether the batch under way is the n-th of those that are aggregated.
  bool StepsNow() const { return (steps_completed_ + 1) % aggregation_frequency_ == 0; }

  Context& core_;
  const torch::Device device_;
  int64_t steps_completed_ = 0;
  int64_t max_steps_ = 0;
  const int64_t aggregation_frequency_;
  const double batch_share_;  // of a batch among those that are aggregated
  std::vector<std::shared_ptr<torch::nn::Module>> models_;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers_;
  std::optional<torch::ScalarType> autocast_type_;
  std::optional<LossScale> loss_scale_;
  const std::unique_ptr<ScheduledRates> scheduled_rates_;
  const std::unique_ptr<Reducers> reducers_;
  Callbacks callbacks_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Communicator> among_readers_;  // none: the ranks'
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_TRAINING_PARTS_H_
