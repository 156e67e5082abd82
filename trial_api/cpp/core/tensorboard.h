// TensorBoard event files of a trial, stored next to the checkpoints in
// <cluster>/tensorboard/experiment/<id>/trial/<id>. Off the cluster they remain in ./tensorboard.
//
// Reported metrics of the groups training and validation are added automatically, as
// Determined/<metric> and Determined/val_<metric>. Failures never end a trial: files that cannot be
// written or copied cause one warning. Any thread; another thread copies files, once per second at
// most.
#ifndef TRIAL_API_CPP_CORE_TENSORBOARD_H_
#define TRIAL_API_CPP_CORE_TENSORBOARD_H_

#include <cstdint>
#include <string>

#include "trial_api/cpp/core/metrics.h"

namespace det {

class Tensorboard {
 public:
  virtual ~Tensorboard() = default;

  // Returns a directory of this rank for event files that the program writes by other means.
  virtual std::string Folder() = 0;
  // Adds a point to the curve `tag`, in a file of Folder(). TensorBoard stores it as float.
  virtual void AddScalar(const std::string& tag, int64_t step, double value) = 0;
  // Adds a text that TensorBoard shows as Markdown.
  virtual void AddText(const std::string& tag, int64_t step, const std::string& text) = 0;
  // Adds a point for each metric, as `prefix`/<metric>.
  void AddScalars(const std::string& prefix, int64_t step, const MetricMap& metrics) {
    for (const auto& [name, value] : metrics) AddScalar(prefix + "/" + name, step, value);
  }

  // Lets files of Folder() that have changed be copied to the checkpoint storage. Does not wait.
  virtual void Upload() = 0;
  // Copies the remaining files, and waits until they are copied or have failed.
  virtual void Finish() = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_TENSORBOARD_H_
