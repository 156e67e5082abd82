// Metrics that are no means over records: an F1 score, the area under a curve, a median.
//
//   class Accuracy : public det::MetricReducer {
//    public:
//     void update(const torch::Tensor& right) { right_ += right.sum(), all_ += right.numel(); }
//     void reset() override { ... }
//     torch::Tensor per_rank() override { return torch::tensor({right_, all_}); }
//     std::map<std::string, double> across_ranks(const std::vector<torch::Tensor>& parts) override;
//   };
//   accuracy_ = context.wrap_reducer(std::make_shared<Accuracy>());
//
// train_batch() and evaluate_batch() give it what they like; the controller calls the rest, on the
// training thread of every rank.
#ifndef TRIAL_API_CPP_TORCH_METRIC_REDUCER_H_
#define TRIAL_API_CPP_TORCH_METRIC_REDUCER_H_

#include <map>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace det {

class MetricReducer {
 public:
  virtual ~MetricReducer() = default;

  // Forgets everything.
  virtual void reset() = 0;
  // What this rank was given since reset(), of any shape and type.
  virtual torch::Tensor per_rank() = 0;
  // The metrics, by name, from the parts of all ranks, on the CPU. More parts than there are ranks
  // may be among them: what each rank had when a checkpoint was saved, be they many or few since.
  // The result must not depend on the order; each rank computes it for itself.
  virtual std::map<std::string, double> across_ranks(const std::vector<torch::Tensor>& parts) = 0;
};

// What a reducer's metrics are reported with.
struct ReducerUse {
  bool training = true;
  bool validation = true;
};

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_METRIC_REDUCER_H_
