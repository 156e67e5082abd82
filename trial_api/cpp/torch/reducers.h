// The reducers of a Trial, as the controller uses them: with each report of training what was given
// since the last, with each validation what was given in it.
//
// Owned by the TrialContext, on the training thread.
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

  // Collective: adds to `metrics`, then forgets. Throws Error when a name is there already.
  void ReduceTraining(Communicator& communicator, MetricMap& metrics);
  // Forgets what was given outside of the validation that begins.
  void StartValidation();
  // As ReduceTraining().
  void ReduceValidation(Communicator& communicator, MetricMap& metrics);

  // This rank's part of what training has not reported yet, to go on with after a restart.
  std::string TrainingText() const;
  // Adds what TrainingText() wrote. Throws Error when the text is none of its, or of a Trial with
  // other reducers.
  void AddTrainingText(const std::string& text);

 private:
  struct Entry {
    std::shared_ptr<MetricReducer> reducer;
    ReducerUse use;
    std::vector<torch::Tensor> carried;  // parts of training from before a restart
  };
  void Reduce(bool ReducerUse::*used, Communicator& communicator, MetricMap& metrics);

  std::vector<Entry> entries_;
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_REDUCERS_H_
