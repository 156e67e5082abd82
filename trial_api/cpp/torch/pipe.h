// A torch::nn::Sequential that is divided into stages, one on each rank: `optimizations.strategy`
// pipeline. Huang et al., "GPipe: efficient training of giant neural networks using pipeline
// parallelism", 2019.
//
// All ranks get the same batch. It passes through the stages in micro-batches, so that several
// stages compute at the same time; the output of the last stage is sent to all ranks, which
// therefore compute the same loss. The last stage uses the gradient of its output; the other stages
// receive the gradients of theirs.
//
// Created by Pipeline, used on the training thread.
#ifndef TRIAL_API_CPP_TORCH_PIPE_H_
#define TRIAL_API_CPP_TORCH_PIPE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trial_api/cpp/core/ranks.h"
#include "trial_api/cpp/torch/wire.h"
#include <torch/nn/modules/container/sequential.h>
#include <torch/types.h>

namespace det::trial {

// The modules [begin, end) of the Sequential.
struct Stage {
  size_t begin = 0;
  size_t end = 0;

  friend bool operator==(const Stage&, const Stage&) = default;
};

// Divides the modules so that the largest number of parameters of a stage is minimal, and each
// stage has parameters that train. Throws Error if there are too few modules, or if stages would
// share a parameter.
std::vector<Stage> PartitionIntoStages(torch::nn::SequentialImpl& whole, int stages);

// Returns the parameters and buffers of one stage.
std::vector<torch::Tensor> GetTensors(torch::nn::SequentialImpl& whole, const Stage& stage);

class PipeImpl : public torch::nn::Module {
 public:
  struct Options {
    std::vector<Stage> stages;
    Ranks ranks;
    int64_t micro_batches = 1;
    // Returns the seed for random numbers of this stage in the next forward pass (dropout). Other
    // random numbers remain the same on all ranks.
    std::function<uint64_t()> seed;
  };

  // Contains all modules of `whole`, and computes with those of this rank.
  PipeImpl(torch::nn::SequentialImpl& whole, const Options& options, std::shared_ptr<Wire> wire);

  // Collective, as is backward() of the result, which may be called once. Throws Error if `batch`
  // or the output of a stage is not a tensor with a row for each record.
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
  // `gradient` is the gradient of the output of forward().
  void SendBack(const std::vector<MicroBatch>& kept, const torch::Tensor& gradient);

  const Options options_;
  const std::shared_ptr<Wire> wire_;
  std::vector<torch::nn::AnyModule> own_;
};
TORCH_MODULE(Pipe);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_PIPE_H_
