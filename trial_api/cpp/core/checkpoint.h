// Saving and opening checkpoints. A checkpoint is a directory of files under a UUID. It is either
// complete or invisible: it is written to a temporary directory, synced, renamed, and then
// registered with the master. If the master is unavailable, the registration follows later; the
// checkpoint is complete without it.
//
// Layout in shared storage: <base>/<uuid>/<files of all ranks> with metadata.json and manifest.json
// (size and SHA-256 of each file) at the root.
#ifndef TRIAL_API_CPP_CORE_CHECKPOINT_H_
#define TRIAL_API_CPP_CORE_CHECKPOINT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace det {

class Checkpoints {
 public:
  virtual ~Checkpoints() = default;

  // Writes the files of one rank to the directory `dir`; file names must differ between ranks.
  using Writer = std::function<void(const std::string& dir)>;

  // Starts a checkpoint and returns. Collective: every rank must call it. `write` is called on
  // another thread while training continues, so it must own the data that it writes.
  // `metadata_json` is a JSON object; that of the chief is stored. Waits for the previous
  // checkpoint first, as FinishSave() does.
  virtual void StartSave(int64_t steps_completed, const std::string& metadata_json,
                         Writer write) = 0;
  // Waits until the checkpoint that was started is complete. Returns its UUID on every rank; empty
  // if none was started since the last call. If any rank fails, nothing is registered, the files
  // are removed, and every rank throws Error.
  virtual std::string FinishSave() = 0;
  // Combines StartSave and FinishSave.
  std::string Save(int64_t steps_completed, const std::string& metadata_json, Writer write) {
    StartSave(steps_completed, metadata_json, std::move(write));
    return FinishSave();
  }

  // Returns the UUID of the checkpoint that this attempt starts from; nullopt for a new attempt.
  virtual std::optional<std::string> Latest() const = 0;

  struct Opened {
    std::string uuid;
    std::string dir;
  };
  // Opens the checkpoint Latest(). Collective. If it is damaged, logs a warning and opens the
  // newest intact checkpoint that the trial saved before it; throws Error if there is none.
  virtual std::optional<Opened> OpenLatest() = 0;

  // Returns a local directory with the files of a checkpoint, verified against its manifest. Throws
  // Error with the name of a missing or damaged file.
  virtual std::string Open(const std::string& uuid) = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_CHECKPOINT_H_
