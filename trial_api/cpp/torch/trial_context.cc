#include "trial_api/cpp/torch/trial_context.h"

#include <optional>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/single_communicator.h"
#include "trial_api/cpp/torch/autocast.h"
#include "trial_api/cpp/torch/device.h"
#include "trial_api/cpp/torch/optimizations.h"
#include "trial_api/cpp/torch/reducers.h"
#include "trial_api/cpp/torch/scheduled_rates.h"
#include "trial_api/cpp/torch/strategy.h"

namespace det {
namespace {

// The type from the configuration; nullopt: no mixed precision.
std::optional<torch::ScalarType> GetPrecision(const trial::Optimizations& optimizations,
                                              torch::Device device) {
  switch (optimizations.mixed_precision) {
    case trial::Optimizations::Precision::kAsIs:
      break;
    case trial::Optimizations::Precision::kOfDevice:
      return device.is_cuda() ? torch::kHalf : torch::kBFloat16;
    case trial::Optimizations::Precision::kFloat16:
      return torch::kHalf;
    case trial::Optimizations::Precision::kBFloat16:
      return torch::kBFloat16;
  }
  return std::nullopt;
}

}  // namespace

TrialContext::TrialContext(Context& context)
    : TrialContext(context, trial::ParseOptimizations(context.config_json())) {}

TrialContext::TrialContext(Context& context, const trial::Optimizations& optimizations)
    : TrainingParts(context, optimizations), data_(context.data_json()) {
  strategy_ = trial::MakeStrategy(*this, optimizations);
  if (strategy_->SameRecords()) reader_communicator_ = core::MakeSingleCommunicator();
  if (const auto type = GetPrecision(optimizations, device_)) {
    try {
      use_mixed_precision(*type);
    } catch (const Error& error) {
      throw Error(std::string("configuration: optimizations.mixed_precision: ") + error.what());
    }
  }
  if (!hparams().Has("global_batch_size")) return;
  global_batch_size_ = hparam<int64_t>("global_batch_size");
  const int size = readers().size;
  if (global_batch_size_ < 1) {
    throw InvalidHp("global_batch_size " + std::to_string(global_batch_size_) +
                    ": must be at least 1");
  }
  if (global_batch_size_ % size != 0) {
    throw InvalidHp("global_batch_size " + std::to_string(global_batch_size_) +
                    " cannot be divided evenly among " + std::to_string(size) +
                    " slots: use a multiple of " + std::to_string(size));
  }
}

TrialContext::~TrialContext() = default;

int64_t TrialContext::global_batch_size() const {
  if (global_batch_size_ == 0) {
    throw InvalidHp(
        "hyperparameter global_batch_size is missing: the number of records in a batch of all "
        "slots");
  }
  return global_batch_size_;
}

void TrialContext::RegisterModel(std::shared_ptr<torch::nn::Module> model) {
  strategy_->RequirePartition(*model);
  Register(std::move(model));
}

torch::nn::Sequential TrialContext::wrap_model(torch::nn::Sequential model) {
  Register(model.ptr());
  return strategy_->Partition(std::move(model));
}

void TrialContext::Register(std::shared_ptr<torch::nn::Module> model) {
  if (strategy_->OwnsGradients())
    throw Error(
        "wrap_model() was called after the first backward(); wrap models in the constructor");
  model->to(device_);
  for (const torch::Tensor& parameter : model->parameters()) BroadcastTensor(parameter);
  for (const torch::Tensor& buffer : model->buffers()) BroadcastTensor(buffer);
  models_.push_back(std::move(model));
}

void TrialContext::RegisterReducer(std::shared_ptr<MetricReducer> reducer, ReducerUse use) {
  reducers_->Add(std::move(reducer), use);
}

void TrialContext::schedule_lr(std::shared_ptr<torch::optim::Optimizer> optimizer,
                               LrFactor factor) {
  scheduled_rates_->Add(std::move(optimizer), std::move(factor));
}

void TrialContext::backward(const torch::Tensor& loss) {
  // Gradients are computed in the types of the forward pass, and summed in those of the weights.
  const trial::Autocast as_it_was(std::nullopt, device_);
  const double factor = batch_share_ * loss_scale();
  const torch::Tensor scaled = factor == 1.0 ? loss : loss * factor;
  if (!StepsNow()) return scaled.backward();
  strategy_->Backward(scaled, core_.preemption().Requested());
}

void TrialContext::step_optimizer(torch::optim::Optimizer& optimizer, const Clip& clip) {
  if (!StepsNow()) return;
  const auto agree = [this](bool finite) { return strategy_->AllFinite(finite); };
  if (strategy_->BeforeStep(optimizer) &&
      (!loss_scale_ || loss_scale_->Unscale(optimizer, agree))) {
    strategy_->ClipGradients(optimizer, clip);
    strategy_->Step(optimizer);
  }
  strategy_->AfterStep(optimizer);
  trial::Autocast::ClearCache();
  torch::NoGradGuard no_grad;
  for (auto& group : optimizer.param_groups()) {
    for (torch::Tensor& parameter : group.params()) {
      if (strategy_->OwnsGradients()) {
        if (parameter.grad().defined()) parameter.mutable_grad().zero_();
      } else {
        // The next backward pass then stores its result without a copy.
        parameter.mutable_grad().reset();
      }
    }
  }
}

void TrialContext::use_mixed_precision(torch::ScalarType type) {
  trial::RequireAutocast(type, device_);
  autocast_type_ = type;
  if (type == torch::kHalf && !loss_scale_) scale_losses({});
}

void TrialContext::scale_losses(const LossScaling& scaling) { loss_scale_.emplace(scaling); }

}  // namespace det
