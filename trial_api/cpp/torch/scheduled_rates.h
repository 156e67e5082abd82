// The optimizers whose learning rates follow a schedule. Owned by the TrialContext, on the training
// thread.
#ifndef TRIAL_API_CPP_TORCH_SCHEDULED_RATES_H_
#define TRIAL_API_CPP_TORCH_SCHEDULED_RATES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "trial_api/cpp/torch/lr_schedule.h"
#include <torch/torch.h>

namespace det::trial {

class ScheduledRates {
 public:
  // The rates of its groups at this moment are what `factor` multiplies.
  void Add(std::shared_ptr<torch::optim::Optimizer> optimizer, LrFactor factor);
  // For the batch after `steps` of `max_steps`.
  void Set(int64_t steps, int64_t max_steps);

 private:
  struct Entry {
    std::shared_ptr<torch::optim::Optimizer> optimizer;
    LrFactor factor;
    std::vector<double> rates;  // of its groups
  };
  std::vector<Entry> entries_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_SCHEDULED_RATES_H_
