#include "trial_api/cpp/torch/training_parts.h"

#include <string>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/device.h"
#include "trial_api/cpp/torch/optimizations.h"
#include "trial_api/cpp/torch/reducers.h"
#include "trial_api/cpp/torch/scheduled_rates.h"
#include "trial_api/cpp/torch/strategy.h"

namespace det::trial {
namespace {

constexpr char kNameLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

}  // namespace

TrainingParts::TrainingParts(Context& context, const Optimizations& optimizations)
    : core_(context),
      device_(GetSlotDevice(context.ranks())),
      aggregation_frequency_(optimizations.aggregation_frequency),
      batch_share_(optimizations.average_aggregated_gradients
                       ? 1.0 / static_cast<double>(optimizations.aggregation_frequency)
                       : 1.0),
      scheduled_rates_(std::make_unique<ScheduledRates>()),
      reducers_(std::make_unique<Reducers>()) {}

TrainingParts::~TrainingParts() = default;

void TrainingParts::SetCallbacks(Callbacks callbacks) {
  for (const auto& [name, callback] : callbacks) {
    if (name.empty() || name.find_first_not_of(kNameLetters) != std::string::npos) {
      throw Error("callback \"" + name + "\": a name may contain only letters, digits and _");
    }
  }
  callbacks_ = std::move(callbacks);
}

void TrainingParts::SetSteps(int64_t completed, int64_t max) {
  steps_completed_ = completed;
  max_steps_ = max;
  // Between two optimizer steps the learning rates stay the same.
  scheduled_rates_->Set(completed - completed % aggregation_frequency_, max);
  if (loss_scale_) loss_scale_->Update();
}

bool TrainingParts::AgreeToStop() {
  const bool want_stop = core_.preemption().Requested();
  if (core_.ranks().size == 1) return want_stop;
  if (IsAggregating()) return false;
  return strategy_->AfterBatch(steps_completed_ / aggregation_frequency_, want_stop);
}

void TrainingParts::BroadcastTensor(torch::Tensor tensor) {
  if (core_.ranks().size == 1 || tensor.numel() == 0) return;
  torch::NoGradGuard no_grad;
  torch::Tensor flat = tensor.detach().to(torch::kCPU).contiguous();
  core_.communicator().Broadcast(flat.data_ptr(), flat.nbytes(), 0);
  if (flat.data_ptr() != tensor.data_ptr()) tensor.copy_(flat);
}

void TrainingParts::BroadcastBuffers() {
  for (const auto& model : models_) {
    for (const torch::Tensor& buffer : model->buffers()) BroadcastTensor(buffer);
  }
}

void TrainingParts::Synchronize() {
  strategy_->Synchronize();
  BroadcastBuffers();
}

}  // namespace det::trial
