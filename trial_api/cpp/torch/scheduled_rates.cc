#include "trial_api/cpp/torch/scheduled_rates.h"

#include <utility>

namespace det::trial {

void ScheduledRates::Add(std::shared_ptr<torch::optim::Optimizer> optimizer, LrFactor factor) {
  std::vector<double> rates;
  for (const auto& group : optimizer->param_groups()) rates.push_back(group.options().get_lr());
  entries_.push_back({std::move(optimizer), std::move(factor), std::move(rates)});
}

void ScheduledRates::Set(int64_t steps, int64_t max_steps) {
  for (const Entry& entry : entries_) {
    const double factor = entry.factor(steps, max_steps);
    auto& groups = entry.optimizer->param_groups();
    for (size_t i = 0; i < entry.rates.size(); ++i) {
      groups[i].options().set_lr(entry.rates[i] * factor);
    }
  }
}

}  // namespace det::trial
