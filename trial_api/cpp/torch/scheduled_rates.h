// The optimizers whose learning rates follow a schedule. Owned by the TrialContext, used on the
// training thread.
#ifndef TRIAL_API_CPP_TORCH_SCHEDULED_RATES_H_
#define TRIAL_API_CPP_TORCH_SCHEDULED_RATES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "trial_api/cpp/torch/lr_schedule.h"
#include <torch/optim/optimizer.h>

namespace det::trial {

class ScheduledRates {
 public:
  // Adds an optimizer; `factor` multiplies the current rates of its groups.
  void Add(std::shared_ptr<torch::optim::Optimizer> optimizer, LrFactor factor);
  // Sets the rates for the batch that follows `steps` completed batches of `max_steps`.
  void Set(int64_t steps, int64_t max_steps);

 private:
  struct Entry {
    std::shared_ptr<torch::optim::Optimizer> optimizer;
    LrFactor factor;
    std::vector<double> rates;  // initial rates of its groups
  };
  std::vector<Entry> entries_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_SCHEDULED_RATES_H_
