// What a Trial may hook into the training loop: Trial::build_callbacks() returns it by name.
//
// Called on the training thread of every rank but where it says otherwise, in the order of the
// names, at the same points of training on all. Whatever a callback throws ends the trial, as if
// the Trial had thrown it.
#ifndef TRIAL_API_CPP_TORCH_CALLBACK_H_
#define TRIAL_API_CPP_TORCH_CALLBACK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "trial_api/cpp/core/metrics.h"
#include <torch/torch.h>

namespace det {

class Callback {
 public:
  virtual ~Callback() = default;

  // Before the checkpoint in `dir` is loaded, if there is one: also another trial's, for a warm
  // start.
  virtual void on_checkpoint_load_start(const std::string& /*dir*/) {}
  // Once in each run of the trial, after a checkpoint, if any, has been loaded.
  virtual void on_training_start() {}
  // Not for an epoch that a resumed run begins in its midst.
  virtual void on_training_epoch_start(int64_t /*epoch*/) {}
  virtual void on_training_epoch_end(int64_t /*epoch*/) {}
  // What the trial reports: the means over the batches since the last report.
  virtual void on_training_report(int64_t /*steps*/, const MetricMap&) {}
  virtual void on_validation_start() {}
  // What the trial reports, the same on every rank.
  virtual void on_validation_end(int64_t /*steps*/, const MetricMap&) {}
  // Before the state of this moment is taken for a checkpoint.
  virtual void on_checkpoint_start(int64_t /*steps*/) {}
  // This rank's files of that checkpoint are in `dir`; what is put there too is part of it, under
  // names of this rank's own. On the thread that writes, beside the training: it owns what it uses.
  virtual void on_checkpoint_write_end(int64_t /*steps*/, const std::string& /*dir*/) {}
  // That checkpoint is stored: told before the next one is begun, or at the end of the run.
  virtual void on_checkpoint_upload_end(int64_t /*steps*/, const std::string& /*uuid*/) {}
  // All has been trained, reported and saved; not when the trial is preempted.
  virtual void on_training_end() {}
  // At the very end of the run, also when it is preempted or has failed; what is thrown behind a
  // failure is lost.
  virtual void on_trial_shutdown() {}

  // What it must remember over a restart. The chief's is saved.
  virtual void save_state(torch::serialize::OutputArchive&) const {}
  // Not called when the checkpoint knows no callback of this name, nor for a warm start.
  virtual void load_state(torch::serialize::InputArchive&) {}
};

// By names of letters, digits and _, under which their state is saved.
using Callbacks = std::map<std::string, std::shared_ptr<Callback>>;

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_CALLBACK_H_
