// The interface of a Trial to its experiment and to the training: it wraps its models and
// optimizers in its constructor, then calls backward() and step_optimizer() in train_batch(). The
// calls are the same for one slot and for many.
//
// Created by RunTrial, used on the training thread only.
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
#include <torch/nn/modules/container/sequential.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

namespace det {

class TrialContext : public trial::TrainingParts {
 public:
  // Throws InvalidHp if global_batch_size cannot be divided among the slots, Error if
  // `optimizations` in the configuration is invalid.
  explicit TrialContext(Context& context);
  ~TrialContext();

  // Returns the hyperparameter `name`. T is bool, int, int64_t, float, double or std::string.
  // Throws InvalidHp with the name if it is missing or has another type.
  template <class T>
  T hparam(std::string_view name) const {
    return core_.hparams().Get<T>(name);
  }
  const Hparams& hparams() const { return core_.hparams(); }
  // The `data` section of the configuration, accessed like hyperparameters.
  const Hparams& data() const { return data_; }

  // The hyperparameter global_batch_size, and the share of one slot, both in records.
  int64_t global_batch_size() const;
  int64_t per_slot_batch_size() const { return global_batch_size() / readers().size; }

  const Ranks& ranks() const { return core_.ranks(); }
  // The position of this rank among the ranks that divide a batch: a single rank if each gets the
  // whole batch (optimizations.strategy pipeline).
  Ranks readers() const { return reader_communicator_ ? Ranks() : ranks(); }
  uint32_t seed() const { return core_.seed(); }
  torch::Device device() const { return device_; }
  // Number of batches trained so far.
  int64_t steps_completed() const { return steps_completed_; }
  // Total number of batches to train; 0 in the Trial's constructor.
  int64_t max_steps() const { return max_steps_; }
  // The Core API: metrics, checkpoints and communication.
  Context& core() { return core_; }

  // Moves the model to the slot's device and gives every rank the chief's initial weights. Its
  // gradients are averaged and its weights are saved. `model` is a module holder or a shared_ptr.
  // Throws Error after the first backward().
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
  // With optimizations.strategy pipeline, a Sequential with trainable parameters becomes this
  // rank's stage of it: forward() takes a batch and returns the output of the whole net, the same
  // on every rank; parameters() are those of the whole net. Throws Error if it cannot be divided,
  // or if a model with trainable parameters is not a Sequential.
  torch::nn::Sequential wrap_model(torch::nn::Sequential model);
  // Registers an optimizer, whose state is saved. REQUIRES that the models with its parameters are
  // wrapped already.
  template <class O>
  std::shared_ptr<O> wrap_optimizer(O optimizer) {
    auto pointer = std::make_shared<O>(std::move(optimizer));
    optimizers_.push_back(pointer);
    return pointer;
  }
  // Registers a reducer, whose metrics are reported in addition to those that train_batch() and
  // evaluate_batch() return (metric_reducer.h).
  template <class R>
  std::shared_ptr<R> wrap_reducer(std::shared_ptr<R> reducer, ReducerUse use = {}) {
    RegisterReducer(reducer, use);
    return reducer;
  }
  // Sets, before each batch, the learning rate of each parameter group of the optimizer to its
  // current rate times `factor` (lr_schedule.h), which counts batches, aggregated or not.
  void schedule_lr(std::shared_ptr<torch::optim::Optimizer> optimizer, LrFactor factor);
  // Makes train_batch() and evaluate_batch() compute in kBFloat16, or on a GPU in kHalf, where that
  // is safe; weights and gradients remain float32. kHalf also scales losses. Throws Error if the
  // device does not support the type.
  void use_mixed_precision(torch::ScalarType type);
  // Enables loss scaling: backward() multiplies the loss, step_optimizer() divides the gradients,
  // and skips a step whose gradients are not finite (loss_scale.h).
  void scale_losses(const LossScaling& scaling);
  double loss_scale() const { return loss_scale_ ? loss_scale_->value() : 1.0; }

  // Computes the gradients of `loss`, a scalar tensor (the mean over this rank's records), averaged
  // over all ranks. All ranks must call it equally often. The gradient of a parameter that does not
  // contribute to the loss is zero with several ranks, and undefined with one.
  //
  // With optimizations.aggregation_frequency n > 1, the gradients of n batches are added, divided
  // by n unless average_aggregated_gradients is false, and averaged over the ranks only with the
  // n-th batch: the same mathematics as a batch n times as large.
  void backward(const torch::Tensor& loss);
  // Clips the gradients, updates the parameters, and clears the gradients:
  //
  //   context.step_optimizer(adam, {.norm = 1.0});
  //
  // With aggregation, steps only with every n-th batch. Throws Error if a limit of `clip` is not
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
