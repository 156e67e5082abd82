// Callbacks of the training loop, which Trial::build_callbacks() returns by name.
//
// Methods are called on the training thread of every rank unless stated otherwise, in the order of
// the names, at the same points of the training on all ranks. An exception of a callback ends the
// trial like an exception of the Trial.
#ifndef TRIAL_API_CPP_TORCH_CALLBACK_H_
#define TRIAL_API_CPP_TORCH_CALLBACK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "trial_api/cpp/core/metrics.h"
#include <torch/serialize/archive.h>

namespace det {

class Callback {
 public:
  virtual ~Callback() = default;

  // Called before the checkpoint in the directory `dir` is loaded, also for a warm start from
  // another trial.
  virtual void on_checkpoint_load_start(const std::string& /*dir*/) {}
  // Called once in each run of the trial, after a checkpoint has been loaded, if there is one.
  virtual void on_training_start() {}
  // Called at the start of `epoch` (from 0). Not called for an epoch that a resumed run continues.
  virtual void on_training_epoch_start(int64_t /*epoch*/) {}
  virtual void on_training_epoch_end(int64_t /*epoch*/) {}
  // Called with the training metrics that the trial reports: the means over the batches since the
  // last report.
  virtual void on_training_report(int64_t /*steps*/, const MetricMap&) {}
  // Called before each validation.
  virtual void on_validation_start() {}
  // Called with the validation metrics that the trial reports; the same on every rank.
  virtual void on_validation_end(int64_t /*steps*/, const MetricMap&) {}
  // Called before the state is copied for a checkpoint.
  virtual void on_checkpoint_start(int64_t /*steps*/) {}
  // Called when this rank's files of the checkpoint are in `dir`. Files that are added there, with
  // names unique to this rank, become part of it. Runs on the saving thread while training
  // continues, so it must own the data that it uses.
  virtual void on_checkpoint_write_end(int64_t /*steps*/, const std::string& /*dir*/) {}
  // Called when the checkpoint is stored: before the next one is started, or at the end of the run.
  virtual void on_checkpoint_upload_end(int64_t /*steps*/, const std::string& /*uuid*/) {}
  // Called when everything has been trained, reported and saved; not if the trial is preempted.
  virtual void on_training_end() {}
  // Called at the end of the run, even if it is preempted or has failed. Exceptions after a failure
  // are ignored.
  virtual void on_trial_shutdown() {}

  // Saves the state that must survive a restart. Only the state of the chief is saved.
  virtual void save_state(torch::serialize::OutputArchive&) const {}
  // Restores the state. Not called if the checkpoint has no callback of this name, nor for a warm
  // start.
  virtual void load_state(torch::serialize::InputArchive&) {}
};

// Callbacks by name; names consist of letters, digits and _, and identify the saved state.
using Callbacks = std::map<std::string, std::shared_ptr<Callback>>;

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_CALLBACK_H_
