// The libtorch Trial API: define a subclass of Trial. The controller trains it on one or more
// slots, on or off the cluster, reports its metrics, saves its checkpoints and stops when it is
// preempted.
//
//   class MyTrial : public det::Trial {
//    public:
//     explicit MyTrial(det::TrialContext& context);
//     ...
//   };
//   int main(int argc, char** argv) { return det::RunTrial<MyTrial>(argc, argv); }
//
// With the entrypoint `my_trial.cc:MyTrial`, main() is generated. The controller calls a Trial on
// one thread. An exception from a Trial ends the trial; InvalidHp ends it without a restart.
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

// A metric: a number, or a tensor, which counts as the mean of its elements.
class Metric {
 public:
  Metric(torch::Tensor value) : tensor_(std::move(value)) {}  // NOLINT: on purpose
  Metric(double value) : tensor_(torch::scalar_tensor(value, torch::kFloat64)) {}  // NOLINT

  const torch::Tensor& tensor() const { return tensor_; }

 private:
  torch::Tensor tensor_;
};

// What the metrics of a validation are means over.
enum class ValidationAverage {
  kOverBatches,  // a last, smaller batch counts as much as the others
  kOverRecords,
};

using BatchMetrics = std::map<std::string, Metric>;

class Trial {
 public:
  virtual ~Trial() = default;

  // Return the data for training and validation. Called once per process, after the constructor.
  virtual DataLoader build_training_data_loader() = 0;
  virtual DataLoader build_validation_data_loader() = 0;

  // Trains on `batch`, this rank's part of a global batch: computes the loss, and calls
  // TrialContext::backward and step_optimizer. Returns metrics by name, which are averaged over the
  // batches between two reports. `batch_idx` counts batches within `epoch`; both start at 0.
  virtual BatchMetrics train_batch(const Batch& batch, int64_t epoch, int64_t batch_idx) = 0;

  // Evaluates `batch`, in evaluation mode and without gradients. Returns metrics by name, each the
  // mean over the records of the batch; validation_average() determines how batches are weighted.
  // Must not call collective operations, because ranks may have different numbers of batches.
  virtual BatchMetrics evaluate_batch(const Batch& batch) = 0;

  // Returns how batches are weighted in a validation: equally, as in a PyTorchTrial, or with their
  // numbers of records. The difference is a last batch that is smaller than the others.
  virtual ValidationAverage validation_average() const { return ValidationAverage::kOverBatches; }

  // Returns callbacks for the phases of training (callback.h), by name.
  virtual Callbacks build_callbacks() { return {}; }

  // Save and restore state of the Trial itself, beyond models and optimizers. Only the state of the
  // chief is saved; all ranks load it.
  virtual void save_state(torch::serialize::OutputArchive&) const {}
  virtual void load_state(torch::serialize::InputArchive&) {}
};

using TrialFactory = std::function<std::unique_ptr<Trial>(TrialContext&)>;

// Runs the ranks of this process: parses the command line (--help) and the environment, trains, and
// returns the exit code. Prints an error as one line to stderr.
int RunTrialMain(int argc, char** argv, const TrialFactory& make_trial);

template <class T>
int RunTrial(int argc, char** argv) {
  return RunTrialMain(argc, argv,
                      [](TrialContext& context) { return std::make_unique<T>(context); });
}

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_TRIAL_H_
