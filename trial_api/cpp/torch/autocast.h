// During its lifetime, operations on this thread compute in a 16-bit type if torch considers that
// safe: matrix products and convolutions, but not sums and losses. Weights and gradients keep their
// types. Micikevicius et al., "Mixed Precision Training", 2018.
#ifndef TRIAL_API_CPP_TORCH_AUTOCAST_H_
#define TRIAL_API_CPP_TORCH_AUTOCAST_H_

#include <optional>

#include <torch/types.h>

namespace det::trial {

// Throws Error if a device cannot compute in `type`, or if it is not a 16-bit type.
void RequireAutocast(torch::ScalarType type, torch::Device device);

class Autocast {
 public:
  // nullopt: no autocasting, even inside an outer Autocast.
  Autocast(std::optional<torch::ScalarType> type, torch::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

  // Clears the cache of 16-bit weights; must be called after a step.
  static void ClearCache();

 private:
  const bool cuda_;
  const bool was_on_;
  const torch::ScalarType had_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_AUTOCAST_H_
