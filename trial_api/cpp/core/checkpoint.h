// Saving and finding checkpoints. A checkpoint is a directory of files under a UUID; it is complete
// or invisible: written aside, synced, renamed, then registered with the master. A master that is
// away hears of it later; the checkpoint is complete without it.
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

  // Puts the files of one rank into `dir`; their names must differ between ranks.
  using Writer = std::function<void(const std::string& dir)>;

  // Collective: every rank calls it. Begins a checkpoint and returns: `write` is called on a thread
  // beside the training, so it owns what it writes. `metadata_json` of the chief counts. First
  // waits as FinishSave() does: one at a time.
  virtual void StartSave(int64_t steps_completed, const std::string& metadata_json,
                         Writer write) = 0;
  // Waits until the checkpoint that was begun is complete; its UUID on every rank, empty when none
  // was begun since the last call. On a failure of any rank, nothing is registered, what was
  // written is removed, and every rank throws Error.
  virtual std::string FinishSave() = 0;
  // Both at once.
  std::string Save(int64_t steps_completed, const std::string& metadata_json, Writer write) {
    StartSave(steps_completed, metadata_json, std::move(write));
    return FinishSave();
  }

  // The checkpoint that this run starts from; none for a fresh start.
  virtual std::optional<std::string> Latest() const = 0;

  struct Opened {
    std::string uuid;
    std::string dir;
  };
  // Collective: opens that checkpoint. When it is damaged, says so and opens the newest whole one
  // that the trial saved before it; throws Error when there is none.
  virtual std::optional<Opened> OpenLatest() = 0;

  // A local directory with the files of a checkpoint, verified against its manifest. Throws Error
  // naming the file that is missing or damaged.
  virtual std::string Open(const std::string& uuid) = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_CHECKPOINT_H_
