// What TensorBoard shows of a trial: event files, which lie beside the checkpoints in
// <cluster>/tensorboard/experiment/<id>/trial/<id>. Off the cluster they stay in ./tensorboard.
//
// A Trial's reports are there without its doing, as training/<metric> and validation/<metric>. None
// of this ever fails a trial: what cannot be written or copied is a warning, told once. Used on the
// training thread; files are copied on a thread of their own.
#ifndef TRIAL_API_CPP_CORE_TENSORBOARD_H_
#define TRIAL_API_CPP_CORE_TENSORBOARD_H_

#include <cstdint>
#include <string>

#include "trial_api/cpp/core/metrics.h"

namespace det {

class Tensorboard {
 public:
  virtual ~Tensorboard() = default;

  // A folder of this rank's own, for event files that the program writes by other means.
  virtual std::string Folder() = 0;
  // A point of the curve `tag`, in a file of Folder(). TensorBoard keeps it as a float.
  virtual void AddScalar(const std::string& tag, int64_t step, double value) = 0;
  // Shown as Markdown. Bytes that are no UTF-8 are TensorBoard's to show.
  virtual void AddText(const std::string& tag, int64_t step, const std::string& text) = 0;
  // A point each, as `prefix`/<metric>.
  void AddScalars(const std::string& prefix, int64_t step, const MetricMap& metrics) {
    for (const auto& [name, value] : metrics) AddScalar(prefix + "/" + name, step, value);
  }

  // Begins to copy what has changed in Folder() beside the checkpoints. Does not wait.
  virtual void Upload() = 0;
  // Copies what there is, and waits until it is there or is given up.
  virtual void Finish() = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_TENSORBOARD_H_
