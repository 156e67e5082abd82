// Copies of the tensors in archives, in the memory of the host: libtorch archives hold references,
// which training goes on to change. Owned by StateSnapshot; one thread at a time.
//
// Memory is kept from one round to the next, and reserved before the first: a copy into pages that
// the kernel has yet to give costs several times as much.
#ifndef TRIAL_API_CPP_TORCH_HOST_COPIES_H_
#define TRIAL_API_CPP_TORCH_HOST_COPIES_H_

#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

namespace det::trial {

// The tensors at the top of `archive`, by name: those that were written to it, no copies.
std::vector<std::pair<std::string, torch::Tensor>> TensorsOf(
    torch::serialize::OutputArchive& archive);

class HostCopies {
 public:
  // Prepares, on another thread, for the tensors of these archives; they may change meanwhile.
  void Reserve(std::vector<torch::serialize::OutputArchive>& archives);

  // Begins a round: the copies of the one before are no longer needed, and what it needed is kept.
  void Restart();
  // Puts memory in the place of all tensors of `archive`, which Fill() copies into it.
  void Replace(torch::serialize::OutputArchive& archive);
  // On so many threads.
  void Fill(int threads);

  // Tensors of this round for which there was no memory.
  int64_t made() const { return made_; }

 private:
  struct Kind {
    torch::ScalarType type;
    std::vector<int64_t> sizes;
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Pair {
    torch::Tensor from;
    torch::Tensor to;
  };
  using Memory = std::map<Kind, std::vector<torch::Tensor>>;

  torch::Tensor MemoryFor(const torch::Tensor& tensor);

  Memory kept_;  // free in this round
  Memory used_;
  std::vector<Pair> to_fill_;
  int64_t made_ = 0;
  std::future<std::vector<torch::Tensor>> reserved_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_HOST_COPIES_H_
