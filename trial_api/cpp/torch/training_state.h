// What a checkpoint of a Trial holds, and how it is read and written.
//
//   model_<i>.pt      weights and buffers of the i-th wrapped model (chief), for torch::load
//   optimizer_<i>.pt  the i-th wrapped optimizer, with the chief's part of its state
//   optimizer_<i>.rank_<r>.pt  with that of each other rank: in turn loaded into one optimizer,
//                     they are the whole
//   trial.pt          what Trial::save_state wrote (chief)
//   loss_scale.pt     the scale of the losses, where they are scaled (chief)
//   callbacks.pt      what the callbacks' save_state wrote, by name (chief)
//   state.json        Progress (chief)
//   rank_<r>.pt       what rank r alone knows (rank_state.h)
//
// No pickle: nothing in a checkpoint is code. Called by the controller; not collective.
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

// How far training is.
struct Progress {
  int64_t steps_completed = 0;  // batches
  int64_t epoch = 0;
  int64_t batch = 0;          // of the epoch; the next to be trained
  int64_t reported_at = 0;    // steps_completed of the last report of training metrics
  int64_t validated_at = -1;  // steps_completed of the last validation; -1: none
  MetricMap validation;       // its metrics

  friend bool operator==(const Progress&, const Progress&) = default;
};

std::string ToJson(const Progress& progress);
// Throws Error when `json` is none of ToJson()'s.
Progress ProgressFromJson(const std::string& json);

// This rank's state at one moment, in the memory of the host, which is kept for the next one.
class StateSnapshot {
 public:
  StateSnapshot();
  ~StateSnapshot();

  // Prepares for Take() beside the training, behind the first step of the optimizers, with which
  // they get their state.
  void Reserve(const TrialContext& context);
  // On the training thread, which it stalls; not while Write() runs.
  void Take(TrialContext& context, const Trial& trial, const Progress& progress,
            MetricsSum& unreported);
  // This rank's files into `dir`. Any thread. Throws Error when they cannot be written.
  void Write(const std::string& dir);

 private:
  void Add(const std::string& name, torch::serialize::OutputArchive archive);
  void AddOfChief(TrialContext& context, const Trial& trial);

  HostCopies copies_;
  std::vector<std::pair<std::string, torch::serialize::OutputArchive>> archives_;  // by file name
  std::string progress_;                                                           // the chief's
};

// What another trial has learned, to go on from: its models, the state of its optimizers, and what
// its Trial saved. Own remain the optimizers' options (the learning rate above all), the progress
// and the random state. Throws Error naming the file that does not fit.
void LoadWeights(const std::string& dir, const TrialContext& context, Trial& trial);

// All that snapshots of any number of ranks wrote there; what each of them alone knew is divided
// among the ranks of now (rank_state.h). Throws Error naming the file that does not fit.
Progress LoadState(const std::string& dir, TrialContext& context, Trial& trial,
                   MetricsSum& unreported);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_TRAINING_STATE_H_
