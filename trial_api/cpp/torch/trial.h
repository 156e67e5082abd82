// The libtorch Trial API: subclass Trial, and the controller trains it on one slot or many, on the
// cluster and off it, reports its metrics, saves its checkpoints and stops when it is preempted.
//
//   class MyTrial : public det::Trial {
//    public:
//     explicit MyTrial(det::TrialContext& context);
//     ...
//   };
//   int main(int argc, char** argv) { return det::RunTrial<MyTrial>(argc, argv); }
//
// The entrypoint `my_trial.cc:MyTrial` brings its own main(). The controller calls a Trial on one
// thread. Whatever a Trial throws ends the trial; InvalidHp ends it without a restart.
#ifndef TRIAL_API_CPP_TORCH_TRIAL_H_
#define TRIAL_API_CPP_TORCH_TRIAL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "trial_api/cpp/torch/callback.h"
#include "trial_api/cpp/torch/dataset.h"
#include "trial_api/cpp/torch/trial_context.h"
#include <torch/torch.h>

namespace det {

// One number, still a tensor or not.
class Metric {
 public:
  Metric(torch::Tensor value) : tensor_(std::move(value)) {}  // NOLINT: on purpose
  Metric(double value) : tensor_(torch::scalar_tensor(value, torch::kFloat64)) {}  // NOLINT

  const torch::Tensor& tensor() const { return tensor_; }

 private:
  torch::Tensor tensor_;
};

using BatchMetrics = std::map<std::string, Metric>;

class Trial {
 public:
  virtual ~Trial() = default;

  virtual DataLoader build_training_data_loader() = 0;
  virtual DataLoader build_validation_data_loader() = 0;

  // Trains on this rank's part of a global batch: forward, TrialContext::backward and
  // step_optimizer. The metrics of several batches are averaged. `batch_idx` counts from the start
  // of `epoch`, both from 0.
  virtual BatchMetrics train_batch(const Batch& batch, int64_t epoch, int64_t batch_idx) = 0;

  // Means over the records of `batch`, in evaluation mode and without gradients. The validation
  // metric is the mean over all records of all ranks. It calls no collective operation: ranks may
  // have unequal numbers of batches.
  virtual BatchMetrics evaluate_batch(const Batch& batch) = 0;

  // What hears of each phase of training (callback.h).
  virtual Callbacks build_callbacks() { return {}; }

  // What the Trial itself must remember beyond models and optimizers. The chief's is saved.
  virtual void save_state(torch::serialize::OutputArchive&) const {}
  virtual void load_state(torch::serialize::InputArchive&) {}
};

using TrialFactory = std::function<std::unique_ptr<Trial>(TrialContext&)>;

// The whole life of one rank: reads the command line (--help) and the environment, trains, and
// returns the exit code. An error is one line on stderr.
int RunTrialMain(int argc, char** argv, const TrialFactory& make_trial);

template <class T>
int RunTrial(int argc, char** argv) {
  return RunTrialMain(argc, argv,
                      [](TrialContext& context) { return std::make_unique<T>(context); });
}

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_TRIAL_H_
