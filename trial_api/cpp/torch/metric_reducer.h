// Metrics that are not means over records: an F1 score, the area under a curve, a median.
//
//   class Accuracy : public det::MetricReducer {
//    public:
//     void update(const torch::Tensor& right) { right_ += right.sum(); all_ += right.numel(); }
//     void reset() override { ... }
//     torch::Tensor per_rank() override { return torch::tensor({right_, all_}); }
//     std::map<std::string, double> across_ranks(const std::vector<torch::Tensor>& parts) override;
//   };
//   accuracy_ = context.wrap_reducer(std::make_shared<Accuracy>());
//
// train_batch() and evaluate_batch() pass data to the reducer; the controller calls the functions
// below, on the training thread of every rank.
#ifndef TRIAL_API_CPP_TORCH_METRIC_REDUCER_H_
#define TRIAL_API_CPP_TORCH_METRIC_REDUCER_H_

#include <map>
#include <string>
#include <vector>

#include <torch/types.h>

namespace det {

class MetricReducer {
 public:
  virtual ~MetricReducer() = default;

  // Clears the state.
  virtual void reset() = 0;
  // Returns the state of this rank since reset(), as a tensor of any shape and type.
  virtual torch::Tensor per_rank() = 0;
  // Computes the metrics, by name, from the parts of all ranks, on the CPU. There may be more parts
  // than ranks: those that each rank had when a checkpoint was saved, by any number of ranks. The
  // result must not depend on the order; each rank computes it.
  virtual std::map<std::string, double> across_ranks(const std::vector<torch::Tensor>& parts) = 0;
};

// Which reports contain the metrics of a reducer.
struct ReducerUse {
  bool training = true;
  bool validation = true;
};

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_METRIC_REDUCER_H_
