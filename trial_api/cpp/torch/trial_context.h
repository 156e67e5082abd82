// What a Trial knows of its experiment, and how it has its model trained on all slots: it wraps its
// models and optimizers in its constructor, then calls backward() and step_optimizer() in
// train_batch(). The same calls serve one slot and many.
//
// Made by RunTrial, used on the training thread only.
#ifndef TRIAL_API_CPP_TORCH_TRIAL_CONTEXT_H_
#define TRIAL_API_CPP_TORCH_TRIAL_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/context.h"
#include "trial_api/cpp/torch/clip.h"
#include "trial_api/cpp/torch/loss_scale.h"
#include "trial_api/cpp/torch/lr_schedule.h"
#include "trial_api/cpp/torch/metric_reducer.h"
#include "trial_api/cpp/torch/training_parts.h"
#include <torch/torch.h>

namespace det {

class TrialContext : public trial::TrainingParts {
 public:
  // Throws InvalidHp when global_batch_size cannot be divided among the slots, Error when the
  // configuration's `optimizations` are wrong.
  explicit TrialContext(Context& context);
  ~TrialContext();

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
  int64_t per_slot_batch_size() const { return global_batch_size() / readers().size; }

  const Ranks& ranks() const { return core_.ranks(); }
  // This rank among those that divide a batch among them: alone where each has all of it
  // (optimizations.strategy pipeline).
  Ranks readers() const { return among_readers_ ? Ranks() : ranks(); }
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
  std::shared_ptr<M> wrap_model(std::shared_ptr<M> model) {
    RegisterModel(model);
    return model;
  }
  template <class M>
  requires requires(M model) { model.ptr(); }
  M wrap_model(M holder) {
    RegisterModel(holder.ptr());
    return holder;
  }
  // Under optimizations.strategy pipeline a Sequential that trains becomes this rank's stage of it:
  // forward() takes a batch and gives the whole net's output, the same on every rank; parameters()
  // are the whole net's. Throws Error when it cannot be cut, or what trains is no Sequential.
  torch::nn::Sequential wrap_model(torch::nn::Sequential model);
  // Its state is saved. REQUIRES that the models whose parameters it has are wrapped.
  template <class O>
  std::shared_ptr<O> wrap_optimizer(O optimizer) {
    auto pointer = std::make_shared<O>(std::move(optimizer));
    optimizers_.push_back(pointer);
    return pointer;
  }
  // The metrics of `reducer` are reported beside those that train_batch() and evaluate_batch()
  // return (metric_reducer.h).
  template <class R>
  std::shared_ptr<R> wrap_reducer(std::shared_ptr<R> reducer, ReducerUse use = {}) {
    RegisterReducer(reducer, use);
    return reducer;
  }
  // Before each batch, the learning rate of each group of the optimizer's parameters becomes what
  // it is now times `factor` (lr_schedule.h), which counts batches, aggregated or not.
  void schedule_lr(std::shared_ptr<torch::optim::Optimizer> optimizer, LrFactor factor);
  // From now on train_batch() and evaluate_batch() compute in kBFloat16, or on a GPU kHalf, where
  // that is safe; weights and gradients stay float32. kHalf scales losses too. Throws Error when
  // the device cannot.
  void use_mixed_precision(torch::ScalarType type);
  // backward() multiplies the loss, step_optimizer() divides the gradients, and leaves out a step
  // whose gradients are not finite (loss_scale.h).
  void scale_losses(const LossScaling& scaling);
  double loss_scale() const { return loss_scale_ ? loss_scale_->value() : 1.0; }

  // The gradients of `loss` (a mean over this rank's records), averaged over all ranks. Every rank
  // calls it equally often. A parameter without part in the loss has gradient zero with several
  // ranks, none with one.
  //
  // With optimizations.aggregation_frequency n > 1, the gradients of n batches are added, divided
  // by n unless average_aggregated_gradients is false, and averaged over the ranks with the n-th
  // alone: the mathematics of a batch n times as large.
  void backward(const torch::Tensor& loss);
  // Clips the gradients, steps, clears the gradients:
  //
  //   context.step_optimizer(adam, {.norm = 1.0});
  //
  // Does nothing but with every n-th batch, as above. Throws Error when a limit of `clip` is not
  // above 0.
  void step_optimizer(torch::optim::Optimizer& optimizer, const Clip& clip = {});
  template <class O>
  void step_optimizer(const std::shared_ptr<O>& optimizer, const Clip& clip = {}) {
    step_optimizer(*optimizer, clip);
  }

 private:
  TrialContext(Context& context, const trial::Optimizations& optimizations);
  void RegisterModel(std::shared_ptr<torch::nn::Module> model);
  void Register(std::shared_ptr<torch::nn::Module> model);
  void RegisterReducer(std::shared_ptr<MetricReducer> reducer, ReducerUse use);

  const Hparams data_;
  int64_t global_batch_size_ = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_TRIAL_CONTEXT_H_
