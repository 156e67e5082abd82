// Metrics of many batches as one: the mean over records, over batches and over ranks.
//
// Owned by the controller, on the training thread. Keeps tensors as they are until they are asked
// for, so that a device does not wait for every batch.
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
  // `records`: how much this batch counts.
  void Add(const BatchMetrics& metrics, int64_t records);
  void Clear();

  // Collective: the means over everything that all ranks added; the same on each.
  MetricMap Mean(Communicator& communicator);

  // This rank's part to the last bit, to go on with after a restart.
  std::string ToText();
  // Adds what ToText() wrote. Throws Error when the text is none of its.
  void AddText(const std::string& text);

 private:
  struct Entry {
    double sum = 0.0;
    double weight = 0.0;
    std::vector<torch::Tensor> pending;  // not yet in the sums
    std::vector<double> pending_weights;
  };
  void Settle();

  std::map<std::string, Entry> entries_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_METRICS_SUM_H_
