// Copies of the tensors in an archive, in the memory of the host: libtorch archives hold
// references, which training goes on to change. Owned by StateSnapshot; one thread at a time.
#ifndef TRIAL_API_CPP_TORCH_HOST_COPIES_H_
#define TRIAL_API_CPP_TORCH_HOST_COPIES_H_

#include <cstddef>
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
  // Puts copies in the place of all tensors of `archive`.
  void Replace(torch::serialize::OutputArchive& archive);
  // The copies made so far are no longer needed: the next ones go into their memory, as long as
  // they come in the same order with the same shapes.
  void Restart() { next_ = 0; }

 private:
  void ReplaceIn(c10::ivalue::Object& object);
  torch::Tensor Copy(const torch::Tensor& tensor);

  std::vector<torch::Tensor> copies_;
  size_t next_ = 0;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_HOST_COPIES_H_
