// Within its life, operations on this thread compute in a type of 16 bits where torch knows that to
// be safe: matrix products and convolutions, not sums and losses. Weights and gradients stay as
// they are. Micikevicius et al., "Mixed Precision Training", 2018.
#ifndef TRIAL_API_CPP_TORCH_AUTOCAST_H_
#define TRIAL_API_CPP_TORCH_AUTOCAST_H_

#include <optional>

#include <torch/torch.h>

namespace det::trial {

// Throws Error when a device cannot compute in `type`, or when that is not of 16 bits.
void RequireAutocast(torch::ScalarType type, torch::Device device);

class Autocast {
 public:
  // nullopt: everything as it is, in an outer Autocast too.
  Autocast(std::optional<torch::ScalarType> type, torch::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

  // Weights in 16 bits are kept for a while; those of before a step are old.
  static void Forget();

 private:
  const bool cuda_;
  const bool was_on_;
  const torch::ScalarType had_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_AUTOCAST_H_
