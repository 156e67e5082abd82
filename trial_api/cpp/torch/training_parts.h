// The part of TrialContext that the training loop and the strategies use: wrapped models and
// optimizers, the progress, and operations of all ranks.
//
// The base class of TrialContext, used on the training thread. Not for use by Trials.
#ifndef TRIAL_API_CPP_TORCH_TRAINING_PARTS_H_
#define TRIAL_API_CPP_TORCH_TRAINING_PARTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trial_api/cpp/core/context.h"
#include "trial_api/cpp/torch/callback.h"
#include "trial_api/cpp/torch/loss_scale.h"
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

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
  // Throws Error if a name is not valid as part of a file name.
  void SetCallbacks(Callbacks callbacks);
  // Called before each batch, and at the end. Also sets the learning rates.
  void SetSteps(int64_t completed, int64_t max);
  // Returns whether there are gradients for which no step has been made yet.
  bool IsAggregating() const { return steps_completed_ % aggregation_frequency_ != 0; }
  // Returns whether any rank wants to stop. Collective; called after each train_batch() and
  // SetSteps(). Several ranks exchange this with other communication: with every n-th batch, or
  // some batches later.
  bool AgreeToStop();
  // The communicator among TrialContext::readers(); sums over records are sums over these ranks.
  Communicator& reader_communicator() {
    return reader_communicator_ ? *reader_communicator_ : core_.communicator();
  }
  // Makes the weights of all ranks the same, with the chief's buffers, before a validation or
  // checkpoint. Collective.
  void Synchronize();
  // Copies the buffers (running means, for example) of the chief to all ranks. Collective.
  void BroadcastBuffers();

 protected:
  // The derived class must create `strategy_`.
  TrainingParts(Context& context, const Optimizations& optimizations);
  ~TrainingParts();

  void BroadcastTensor(torch::Tensor tensor);
  // Returns whether the current batch is the last of those that are aggregated.
  bool StepsNow() const { return (steps_completed_ + 1) % aggregation_frequency_ == 0; }

  Context& core_;
  const torch::Device device_;
  int64_t steps_completed_ = 0;
  int64_t max_steps_ = 0;
  const int64_t aggregation_frequency_;
  const double batch_share_;  // weight of a batch among those that are aggregated
  std::vector<std::shared_ptr<torch::nn::Module>> models_;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers_;
  std::optional<torch::ScalarType> autocast_type_;
  std::optional<LossScale> loss_scale_;
  const std::unique_ptr<ScheduledRates> scheduled_rates_;
  const std::unique_ptr<Reducers> reducers_;
  Callbacks callbacks_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Communicator> reader_communicator_;  // null: same as all ranks
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_TRAINING_PARTS_H_
