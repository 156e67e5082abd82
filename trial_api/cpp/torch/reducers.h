// The metric reducers of a Trial, as the controller uses them: a training report contains the data
// since the last report, a validation the data of that validation.
//
// Owned by the TrialContext, used on the training thread.
#ifndef TRIAL_API_CPP_TORCH_REDUCERS_H_
#define TRIAL_API_CPP_TORCH_REDUCERS_H_

#include <memory>
#include <string>
#include <vector>

#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/torch/metric_reducer.h"

namespace det::trial {

class Reducers {
 public:
  void Add(std::shared_ptr<MetricReducer> reducer, ReducerUse use);
  bool empty() const { return entries_.empty(); }

  // Adds the reduced metrics to `metrics`, then clears the reducers. Collective. Throws Error if a
  // name exists already.
  void ReduceTraining(Communicator& communicator, MetricMap& metrics);
  // Clears data from before the validation that starts now.
  void StartValidation();
  // Same as ReduceTraining(), for a validation.
  void ReduceValidation(Communicator& communicator, MetricMap& metrics);

  // Returns this rank's part of the training data that has not been reported yet, to continue after
  // a restart.
  std::string TrainingText() const;
  // Adds a part that TrainingText() returned. Throws Error for other texts, or for those of a Trial
  // with other reducers.
  void AddTrainingText(const std::string& text);

 private:
  struct Entry {
    std::shared_ptr<MetricReducer> reducer;
    ReducerUse use;
    std::vector<torch::Tensor> carried;  // parts of training from before a restart
  };
  void Reduce(bool ReducerUse::* used, Communicator& communicator, MetricMap& metrics);

  std::vector<Entry> entries_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_REDUCERS_H_
