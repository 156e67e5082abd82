// The training loop of one rank: train, report, validate, save, stop.
//
// The work that is due is a function of the number of trained batches (schedule.h) and is done
// before the next batch; the state in a checkpoint records what was done. So a resumed run
// continues exactly as the run that saved it would have.
//
// Created by RunTrial, used on the training thread. All ranks make the same decisions.
#ifndef TRIAL_API_CPP_TORCH_CONTROLLER_H_
#define TRIAL_API_CPP_TORCH_CONTROLLER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "trial_api/cpp/torch/dataset.h"
#include "trial_api/cpp/torch/metrics_sum.h"
#include "trial_api/cpp/torch/sampler.h"
#include "trial_api/cpp/torch/schedule.h"
#include "trial_api/cpp/torch/training_state.h"
#include "trial_api/cpp/torch/trial.h"

namespace det::trial {

class Controller {
 public:
  enum class End { kFinished, kPreempted };

  Controller(TrialContext& context, Trial& trial);

  // Runs the training. Collective. Returns when it is finished, or saved because of a preemption.
  End Run();

 private:
  End Train();
  void Restore();
  // Calls `method` of each callback.
  template <class... Parameters, class... Arguments>
  void Notify(void (Callback::*method)(Parameters...), const Arguments&... arguments) {
    for (const auto& [name, callback] : context_.callbacks()) ((*callback).*method)(arguments...);
  }
  // Does the work that is due after the current number of batches and has not been done yet.
  void DoDueWork();
  // Returns whether the ranks agreed to stop.
  bool TrainBatch();
  void ReportTraining();
  // Adds the length of the training as the searcher measures it: batches, epochs and records.
  void AddLengths(MetricMap& metrics) const;
  // Returns whether it is the best validation of the experiment so far.
  bool Validate();
  bool BestByPolicy(bool best_on_chief);
  // Blocks training while its state is copied; writing happens concurrently.
  void Save();
  // Waits for the running save, if there is one.
  void FinishSave();
  // Returns the function that writes the snapshot concurrently.
  Checkpoints::Writer MakeWriter() const;
  Batch Read(const DataLoader& loader, Sampler& sampler, int64_t epoch, int64_t batch);
  void WarnAboutRecordsPerEpoch() const;
  // Throws Error if the search cannot use the validation.
  void RequireSearcherMetric(const MetricMap& reported) const;
  Sampler MakeSampler(const DataLoader& loader, bool training) const;
  int64_t BatchSize(const DataLoader& loader) const;
  void SetTrainMode(bool on);

  TrialContext& context_;
  Trial& trial_;
  DataLoader training_loader_;
  DataLoader validation_loader_;
  Sampler training_sampler_;
  Sampler validation_sampler_;
  const Schedule schedule_;

  Progress progress_;
  MetricsSum unreported_;
  int64_t saved_at_ = -1;
  bool reserved_ = false;                          // memory for the snapshot is reserved
  const std::shared_ptr<StateSnapshot> snapshot_;  // shared with the running save
};

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_CONTROLLER_H_
