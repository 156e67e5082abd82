// Saving and finding checkpoints. A checkpoint is a directory of files under a UUID; it is complete
// or invisible: written aside, synced, renamed, then registered with the master.
//
// Layout in shared storage: <base>/<uuid>/<files of all ranks> with metadata.json and manifest.json
// (size and SHA-256 of each file) at the root.
#ifndef TRIAL_API_CPP_CORE_CHECKPOINT_H_
#define TRIAL_API_CPP_CORE_CHECKPOINT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace det {

class Checkpoints {
 public:
  virtual ~Checkpoints() = default;

  // Collective: every rank calls it, and `write` on each rank puts that rank's files into the
  // directory it is given (names must differ between ranks). `metadata_json` of the chief counts.
  // Returns the UUID on every rank once the checkpoint is registered; on a failure of any rank,
  // nothing is registered, what was written is removed, and every rank throws Error.
  virtual std::string Save(int64_t steps_completed, const std::string& metadata_json,
                           const std::function<void(const std::string& dir)>& write) = 0;

  // The checkpoint that this run starts from; none for a fresh start.
  virtual std::optional<std::string> Latest() const = 0;

  // A local directory with the files of a checkpoint, verified against its manifest. Throws Error
  // naming the file that is missing or damaged.
  virtual std::string Open(const std::string& uuid) = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_CHECKPOINT_H_
