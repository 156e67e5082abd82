// The strategy pipeline: each rank computes one stage of each model (pipe.h) and updates its
// parameters, whose optimizer state it alone has. All weights are in the host memory of each rank;
// those of other stages are as of the last synchronization.
//
// Created by MakeStrategy.
#ifndef TRIAL_API_CPP_TORCH_PIPELINE_H_
#define TRIAL_API_CPP_TORCH_PIPELINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "trial_api/cpp/torch/pipe.h"
#include "trial_api/cpp/torch/strategy.h"
#include "trial_api/cpp/torch/wire.h"

namespace det::trial {

class Pipeline final : public Strategy {
 public:
  // Collective.
  Pipeline(TrialContext& context, int64_t micro_batches);

  bool SameRecords() const override { return true; }
  torch::nn::Sequential Partition(torch::nn::Sequential whole) override;
  void RequirePartition(const torch::nn::Module& model) const override;

  bool AllFinite(bool own) override;
  void ClipGradients(torch::optim::Optimizer& optimizer, const Clip& clip) override;
  bool AfterBatch(int64_t steps, bool want_stop) override;
  void Synchronize() override;
  std::vector<int> Writers(const std::vector<torch::Tensor>& parameters) const override;
  void Release() override;
  bool StepsWith(const torch::Tensor& parameter) const override;

 private:
  struct Net {
    torch::nn::Sequential whole;
    std::vector<Stage> stages;
  };

  Communicator& communicator() const;
  // Returns a different seed for each stage and forward pass; the same in a resumed run.
  uint64_t NextSeed();
  // Moves modules of other stages out of GPU memory.
  void KeepOnHost(const Net& net) const;

  TrialContext& context_;
  const int64_t micro_batches_;
  const std::shared_ptr<Wire> wire_;
  std::vector<Net> nets_;
  std::map<const c10::TensorImpl*, int> rank_of_;  // parameter -> rank
  int64_t seeded_at_ = -1;                         // batch of the last seed
  uint64_t passes_ = 0;                            // forward passes of that batch
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_PIPELINE_H_
