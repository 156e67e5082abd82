// Random number generators of threads. Libtorch has one default generator for the host in a
// process; ranks that are threads of one process would use it in a nondeterministic order.
#ifndef TRIAL_API_CPP_TORCH_RANDOM_SOURCE_H_
#define TRIAL_API_CPP_TORCH_RANDOM_SOURCE_H_

#include <cstdint>

#include <ATen/core/Generator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/types.h>

namespace det::trial {

// During its lifetime, this thread has a separate default generator for the host (weights, dropout,
// rand, ...) and draws the same numbers as it would in its own process. One per thread; created and
// destroyed on it.
class OwnRandomSource {
 public:
  OwnRandomSource();
  ~OwnRandomSource();
  OwnRandomSource(const OwnRandomSource&) = delete;
  OwnRandomSource& operator=(const OwnRandomSource&) = delete;

 private:
  const c10::impl::IncludeDispatchKeyGuard guard_;
};

// Returns the generator of this thread: its own, or the default generator of the process.
at::Generator RandomSource();

// Seeds the generators of this rank, differently on each rank: those of the process, or, if the
// thread has its own generator, that one and the one of its GPU.
void SeedTorch(uint64_t seed, int rank, torch::Device device = torch::kCPU);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_RANDOM_SOURCE_H_
