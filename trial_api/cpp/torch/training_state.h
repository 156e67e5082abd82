// Reads and writes the contents of a Trial's checkpoint:
//
//   model_<i>.pt      weights and buffers of the i-th wrapped model (chief), for torch::load
//   optimizer_<i>.pt  the i-th wrapped optimizer, with the chief's part of its state
//   optimizer_<i>.rank_<r>.pt  with the part of each other rank; loading all of them into one
//                     optimizer gives the whole state
//   trial.pt          the state from Trial::save_state (chief)
//   loss_scale.pt     the loss scale, if losses are scaled (chief)
//   callbacks.pt      the state from the callbacks' save_state, by name (chief)
//   state.json        Progress (chief)
//   rank_<r>.pt       the state that only rank r has (rank_state.h)
//
// Checkpoints contain no pickled code. Called by the controller; not collective.
#ifndef TRIAL_API_CPP_TORCH_TRAINING_STATE_H_
#define TRIAL_API_CPP_TORCH_TRAINING_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/torch/host_copies.h"
#include "trial_api/cpp/torch/metrics_sum.h"
#include "trial_api/cpp/torch/trial.h"

namespace det::trial {

// The progress of the training.
struct Progress {
  int64_t steps_completed = 0;  // in batches
  int64_t epoch = 0;
  int64_t batch = 0;          // next batch to train, within the epoch
  int64_t reported_at = 0;    // steps_completed at the last report of training metrics
  int64_t validated_at = -1;  // steps_completed at the last validation; -1: none
  MetricMap validation;       // metrics of the last validation

  friend bool operator==(const Progress&, const Progress&) = default;
};

std::string ToJson(const Progress& progress);
// Throws Error if `json` was not produced by ToJson().
Progress ProgressFromJson(const std::string& json);

// A copy of this rank's state in host memory, which is reused for the next one.
class StateSnapshot {
 public:
  StateSnapshot();
  ~StateSnapshot();

  // Allocates memory for Take() concurrently with training, after the first step of the optimizers,
  // which creates their state.
  void Reserve(const TrialContext& context);
  // Copies the state. Blocks the training thread; must not be called while Write() runs.
  void Take(TrialContext& context, const Trial& trial, const Progress& progress,
            MetricsSum& unreported);
  // Writes this rank's files to `dir`. Any thread. Throws Error if they cannot be written.
  void Write(const std::string& dir);

 private:
  void Add(const std::string& name, torch::serialize::OutputArchive archive);
  void AddChiefState(TrialContext& context, const Trial& trial);

  HostCopies copies_;
  // with file names
  std::vector<std::pair<std::string, torch::serialize::OutputArchive>> archives_;
  std::string progress_;  // JSON; on the chief
};

// Loads the models, the state of the optimizers and the state of the Trial from another trial's
// checkpoint. The options of the optimizers (such as the learning rate), the progress and the
// random state are not changed. Throws Error with the name of a file that does not match.
void LoadWeights(const std::string& dir, const TrialContext& context, Trial& trial);

// Loads a checkpoint that any number of ranks wrote; state that only one of them had is divided
// among the current ranks (rank_state.h). Throws Error with the name of a file that does not match.
Progress LoadState(const std::string& dir, TrialContext& context, Trial& trial,
                   MetricsSum& unreported);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_TRAINING_STATE_H_
