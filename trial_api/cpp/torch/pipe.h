// A torch::nn::Sequential that is cut into stages, one on each rank: `optimizations.strategy`
// pipeline. Huang et al., "GPipe: efficient training of giant neural networks using pipeline
// parallelism", 2019.
//
// All ranks are given the same batch. It goes through the stages in micro-batches, so that several
// stages compute at once; what the last stage gives goes to all ranks, which so compute the same
// loss. Of its gradient the last stage's is used; the other stages are sent theirs.
//
// Made by Pipeline, on the training thread.
#ifndef TRIAL_API_CPP_TORCH_PIPE_H_
#define TRIAL_API_CPP_TORCH_PIPE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trial_api/cpp/core/ranks.h"
#include "trial_api/cpp/torch/wire.h"
#include <torch/torch.h>

namespace det::trial {

// The modules [begin, end) of the Sequential.
struct Stage {
  size_t begin = 0;
  size_t end = 0;

  friend bool operator==(const Stage&, const Stage&) = default;
};

// So that the greatest number of parameters of a stage is as small as can be, and each has some
// that train. Throws Error when there are too few modules, or stages would share a parameter.
std::vector<Stage> CutIntoStages(torch::nn::SequentialImpl& whole, int stages);

// Parameters and buffers of one stage.
std::vector<torch::Tensor> TensorsOf(torch::nn::SequentialImpl& whole, const Stage& stage);

class PipeImpl : public torch::nn::Module {
 public:
  struct Options {
    std::vector<Stage> stages;
    Ranks ranks;
    int64_t micro_batches = 1;
    // Of what this stage draws in the next forward pass (dropout). Other random numbers stay alike
    // on all ranks.
    std::function<uint64_t()> seed;
  };

  // Has all modules of `whole`, and computes with this rank's.
  PipeImpl(torch::nn::SequentialImpl& whole, const Options& options, std::shared_ptr<Wire> wire);

  // Collective, as is backward() of what it gives, once. Throws Error when `batch` or what a stage
  // gives is no tensor with a row for each record.
  torch::Tensor forward(torch::Tensor batch);

 private:
  struct MicroBatch {
    torch::Tensor given;
    torch::Tensor out;
  };

  bool is_first() const { return options_.ranks.rank == 0; }
  bool is_last() const { return options_.ranks.rank == options_.ranks.size - 1; }
  std::vector<MicroBatch> Compute(const torch::Tensor& batch);
  torch::Tensor RunStage(torch::Tensor given);
  // `gradient`: of what forward() gave.
  void SendBack(const std::vector<MicroBatch>& kept, const torch::Tensor& gradient);

  const Options options_;
  const std::shared_ptr<Wire> wire_;
  std::vector<torch::nn::AnyModule> own_;
};
TORCH_MODULE(Pipe);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_PIPE_H_
