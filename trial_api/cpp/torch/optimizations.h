// The section `optimizations` of the experiment configuration, as far as a Trial obeys it.
//
// Read by TrialContext, on the training thread.
#ifndef TRIAL_API_CPP_TORCH_OPTIMIZATIONS_H_
#define TRIAL_API_CPP_TORCH_OPTIMIZATIONS_H_

#include <cstdint>
#include <string_view>

namespace det::trial {

struct Optimizations {
  int64_t aggregation_frequency = 1;         // batches whose gradients are added before a step
  bool average_aggregated_gradients = true;  // whether their sum is divided by their number
};

// From a whole configuration as JSON text. Absent fields, and null, keep their defaults. Throws
// Error naming the field that is wrong.
Optimizations ParseOptimizations(std::string_view config_json);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_OPTIMIZATIONS_H_
