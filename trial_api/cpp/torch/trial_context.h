// What a Trial knows of its experiment, and how it has its model trained on all slots: it wraps its
// models and optimizers in its constructor, then calls backward() and step_optimizer() in
// train_batch(). The same calls serve one slot and many.
//
// Made by RunTrial, used on the training thread only.
#ifndef TRIAL_API_CPP_TORCH_TRIAL_CONTEXT_H_
#define TRIAL_API_CPP_TORCH_TRIAL_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/context.h"
#include <torch/torch.h>

namespace det {

namespace trial {
class GradientReducer;
}  // namespace trial

class TrialContext {
 public:
  // Throws InvalidHp when global_batch_size cannot be divided among the slots.
  explicit TrialContext(Context& context);
  ~TrialContext();
  TrialContext(const TrialContext&) = delete;
  TrialContext& operator=(const TrialContext&) = delete;

  // The hyperparameter `name`; throws Error naming it when it is missing or of another type.
  template <class T>
  T hparam(std::string_view name) const {
    return core_.hparams().Get<T>(name);
  }
  const Hparams& hparams() const { return core_.hparams(); }
  // The `data` section of the configuration, read like hyperparameters.
  const Hparams& data() const { return data_; }

  // The hyperparameter global_batch_size, and the share of one slot.
  int64_t global_batch_size() const;
  int64_t per_slot_batch_size() const { return global_batch_size() / ranks().size; }

  const Ranks& ranks() const { return core_.ranks(); }
  uint32_t seed() const { return core_.seed(); }
  torch::Device device() const { return device_; }
  // Batches trained so far, for schedules of the learning rate and such.
  int64_t steps_completed() const { return steps_completed_; }
  // Batches to be trained in all; 0 in the Trial's constructor.
  int64_t max_steps() const { return max_steps_; }
  // Metrics, checkpoints and communication below the level of Trial.
  Context& core() { return core_; }

  // Moves the model to the slot's device and gives every rank the initial weights of the chief. Its
  // gradients are averaged and its weights saved. `model`: a module holder or shared_ptr.
  template <class M>
  M wrap_model(M model) {
    RegisterModel(Pointer(model));
    return model;
  }
  // Its state is saved. REQUIRES that the models whose parameters it has are wrapped.
  template <class O>
  std::shared_ptr<O> wrap_optimizer(O optimizer) {
    auto pointer = std::make_shared<O>(std::move(optimizer));
    optimizers_.push_back(pointer);
    return pointer;
  }

  // The gradients of `loss` (a mean over this rank's records), averaged over all ranks. Every rank
  // calls it equally often. A parameter without part in the loss has gradient zero with several
  // ranks, none with one.
  void backward(const torch::Tensor& loss);
  // Scales the gradients down to the norm `max_norm`, if given; steps; clears the gradients.
  void step_optimizer(torch::optim::Optimizer& optimizer, std::optional<double> max_norm = {});
  template <class O>
  void step_optimizer(const std::shared_ptr<O>& optimizer, std::optional<double> max_norm = {}) {
    step_optimizer(*optimizer, max_norm);
  }

  // For the controller.
  const std::vector<std::shared_ptr<torch::nn::Module>>& models() const { return models_; }
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() const {
    return optimizers_;
  }
  void SetSteps(int64_t completed, int64_t max);
  // Collective, after each train_batch(): whether any rank wants to stop.
  bool AgreeToStop();
  // Collective: buffers (running means and such) of the chief replace those of the others.
  void BroadcastBuffers();

 private:
  static std::shared_ptr<torch::nn::Module> Pointer(std::shared_ptr<torch::nn::Module> module) {
    return module;
  }
  template <class T>
  static std::shared_ptr<torch::nn::Module> Pointer(const torch::nn::ModuleHolder<T>& holder) {
    return holder.ptr();
  }
  void RegisterModel(std::shared_ptr<torch::nn::Module> model);
  void BroadcastTensor(torch::Tensor tensor);

  Context& core_;
  const Hparams data_;
  const torch::Device device_;
  int64_t global_batch_size_ = 0;
  int64_t steps_completed_ = 0;
  int64_t max_steps_ = 0;
  std::vector<std::shared_ptr<torch::nn::Module>> models_;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers_;
  std::unique_ptr<trial::GradientReducer> reducer_;  // from the first backward() of several ranks
  bool reduced_since_agreement_ = false;
  bool stop_agreed_ = false;
};

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_TRIAL_CONTEXT_H_
