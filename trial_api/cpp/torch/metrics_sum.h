// The weighted mean of metrics over many batches and over ranks.
//
// Owned by the controller, used on the training thread. Keeps tensors until their values are
// needed, so that it does not wait for a device in every batch.
#ifndef TRIAL_API_CPP_TORCH_METRICS_SUM_H_
#define TRIAL_API_CPP_TORCH_METRICS_SUM_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/torch/trial.h"

namespace det::trial {

class MetricsSum {
 public:
  // Adds the metrics of a batch. A tensor counts as the mean of its elements.
  void Add(const BatchMetrics& metrics, double weight);
  void Clear();

  // Returns the means over all batches that all ranks added. Collective; the same on each rank.
  MetricMap Mean(Communicator& communicator);

  // Returns this rank's part, with all bits, to continue after a restart.
  std::string ToText();
  // Adds a part that ToText() returned. Throws Error for other texts.
  void AddText(const std::string& text);

 private:
  struct Entry {
    double sum = 0.0;
    double weight = 0.0;
    std::vector<torch::Tensor> pending;  // not added to the sums yet
    std::vector<double> pending_weights;
  };
  void AddPending();

  std::map<std::string, Entry> entries_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_METRICS_SUM_H_
