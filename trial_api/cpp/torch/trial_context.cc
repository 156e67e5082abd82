#include "trial_api/cpp/torch/trial_context.h"

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

constexpr char kNameLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

// As the configuration has it; none: everything as it is.
std::optional<torch::ScalarType> PrecisionOf(const trial::Optimizations& optimizations,
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
    : core_(context),
      data_(context.data_json()),
      device_(trial::SlotDevice(context.ranks())),
      aggregation_frequency_(optimizations.aggregation_frequency),
      batch_share_(optimizations.average_aggregated_gradients
                       ? 1.0 / static_cast<double>(optimizations.aggregation_frequency)
                       : 1.0),
      scheduled_rates_(std::make_unique<trial::ScheduledRates>()),
      reducers_(std::make_unique<trial::Reducers>()),
      strategy_(trial::MakeStrategy(*this, optimizations)),
      among_readers_(strategy_->SameRecords() ? core::MakeSingleCommunicator() : nullptr) {
  if (const auto type = PrecisionOf(optimizations, device_)) {
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
        "hyperparameter global_batch_size is missing: records in one batch of all slots");
  }
  return global_batch_size_;
}

void TrialContext::RegisterModel(std::shared_ptr<torch::nn::Module> model) {
  strategy_->RequireCut(*model);
  Register(std::move(model));
}

torch::nn::Sequential TrialContext::wrap_model(torch::nn::Sequential model) {
  Register(model.ptr());
  return strategy_->Cut(std::move(model));
}

void TrialContext::Register(std::shared_ptr<torch::nn::Module> model) {
  if (strategy_->OwnsGradients())
    throw Error("wrap_model() after the first backward(): wrap in the constructor");
  model->to(device_);
  if (!strategy_->SharesLater()) Share(*model);
  models_.push_back(std::move(model));
}

void TrialContext::Share(const torch::nn::Module& model) {
  for (const torch::Tensor& parameter : model.parameters()) BroadcastTensor(parameter);
  for (const torch::Tensor& buffer : model.buffers()) BroadcastTensor(buffer);
}

void TrialContext::ShareModels() {
  if (!strategy_->SharesLater()) return;
  for (const auto& model : models_) Share(*model);
}

void TrialContext::RegisterReducer(std::shared_ptr<MetricReducer> reducer, ReducerUse use) {
  reducers_->Add(std::move(reducer), use);
}

void TrialContext::schedule_lr(std::shared_ptr<torch::optim::Optimizer> optimizer,
                               LrFactor factor) {
  scheduled_rates_->Add(std::move(optimizer), std::move(factor));
}

void TrialContext::SetCallbacks(Callbacks callbacks) {
  for (const auto& [name, callback] : callbacks) {
    if (name.empty() || name.find_first_not_of(kNameLetters) != std::string::npos) {
      throw Error("callback \"" + name + "\": a name is made of letters, digits and _");
    }
  }
  callbacks_ = std::move(callbacks);
}

void TrialContext::BroadcastTensor(torch::Tensor tensor) {
  if (ranks().size == 1 || tensor.numel() == 0) return;
  torch::NoGradGuard no_grad;
  torch::Tensor flat = tensor.detach().to(torch::kCPU).contiguous();
  core_.communicator().Broadcast(flat.data_ptr(), flat.nbytes(), 0);
  if (flat.data_ptr() != tensor.data_ptr()) tensor.copy_(flat);
}

void TrialContext::BroadcastBuffers() {
  for (const auto& model : models_) {
    for (const torch::Tensor& buffer : model->buffers()) BroadcastTensor(buffer);
  }
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
  trial::Autocast::Forget();
  torch::NoGradGuard no_grad;
  for (auto& group : optimizer.param_groups()) {
    for (torch::Tensor& parameter : group.params()) {
      if (strategy_->OwnsGradients()) {
        if (parameter.grad().defined()) parameter.mutable_grad().zero_();
      } else {
        // The next backward pass then stores its result where it computed it.
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

void TrialContext::SetSteps(int64_t completed, int64_t max) {
  steps_completed_ = completed;
  max_steps_ = max;
  scheduled_rates_->Set(completed, max);
  if (loss_scale_) loss_scale_->Update();
}

bool TrialContext::AgreeToStop() {
  const bool want_stop = core_.preemption().Requested();
  if (ranks().size == 1) return want_stop;
  if (AmidAggregation()) return false;
  return strategy_->AfterBatch(steps_completed_ / aggregation_frequency_, want_stop);
}

void TrialContext::Synchronize() {
  strategy_->Synchronize();
  BroadcastBuffers();
}

}  // namespace det
