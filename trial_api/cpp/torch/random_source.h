// Where a thread draws its random numbers from. Libtorch has one generator for the host in a
// process, from which it draws wherever no other is given; ranks that are threads of one process
// would draw from it in an order that is theirs.
#ifndef TRIAL_API_CPP_TORCH_RANDOM_SOURCE_H_
#define TRIAL_API_CPP_TORCH_RANDOM_SOURCE_H_

#include <cstdint>

#include <ATen/core/Generator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/torch.h>

namespace det::trial {

// While it lives, this thread has a generator of its own: what it draws on the host (weights,
// dropout, rand, ...) without naming a generator comes from there, and what it would have drawn
// alone in its process. One a thread; made and destroyed in it.
class OwnRandomSource {
 public:
  OwnRandomSource();
  ~OwnRandomSource();
  OwnRandomSource(const OwnRandomSource&) = delete;
  OwnRandomSource& operator=(const OwnRandomSource&) = delete;

 private:
  const c10::impl::IncludeDispatchKeyGuard guard_;
};

// From which this thread draws: its own, or the process'.
at::Generator RandomSource();

// Starts the generators of this rank anew, differently on each rank: those of the process, or where
// the thread has its own, that and its GPU's.
void SeedTorch(uint64_t seed, int rank, torch::Device device = torch::kCPU);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_RANDOM_SOURCE_H_
