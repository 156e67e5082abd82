// Copies of the tensors of archives in host memory: libtorch archives contain references, which
// training continues to change. Owned by StateSnapshot; one thread at a time.
//
// Memory is reused from one round to the next, and reserved before the first: a copy to pages that
// the kernel has not allocated yet takes several times as long.
#ifndef TRIAL_API_CPP_TORCH_HOST_COPIES_H_
#define TRIAL_API_CPP_TORCH_HOST_COPIES_H_

#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <torch/serialize/archive.h>
#include <torch/types.h>

namespace det::trial {

// Returns the top-level tensors of `archive` by name, without copying them.
std::vector<std::pair<std::string, torch::Tensor>> GetTensors(
    torch::serialize::OutputArchive& archive);

class HostCopies {
 public:
  // Allocates memory for the tensors of these archives on another thread; the tensors may change
  // meanwhile.
  void Reserve(std::vector<torch::serialize::OutputArchive>& archives);

  // Starts a round: the copies of the previous round are no longer needed, and their memory is
  // reused.
  void Restart();
  // Replaces all tensors of `archive` by memory, to which Fill() copies them.
  void Replace(torch::serialize::OutputArchive& archive);
  // Copies the tensors, with `threads` threads.
  void Fill(int threads);

  // The number of tensors of this round for which memory had to be allocated.
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

  Memory kept_;  // not used in this round
  Memory used_;
  std::vector<Pair> to_fill_;
  int64_t made_ = 0;
  std::future<std::vector<torch::Tensor>> reserved_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_HOST_COPIES_H_
