// Checkpoint storage. Called by Checkpoints, which coordinates the ranks; any thread, one call at a
// time per checkpoint.
//
// A checkpoint is written to a temporary place, rank by rank, and published as a whole: BeginWrite
// on each rank, the rank's files, EndWrite on each rank, then Publish on the chief. Never calls the
// master.
#ifndef TRIAL_API_CPP_STORAGE_STORAGE_H_
#define TRIAL_API_CPP_STORAGE_STORAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace det::storage {

struct FileRecord {
  std::string path;  // relative to the checkpoint
  int64_t size = 0;
  std::string sha256;  // hexadecimal
  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

class Storage {
 public:
  virtual ~Storage() = default;

  // All functions throw Error with the name of the file or checkpoint, unless stated otherwise.

  // Returns an empty directory for the files of this rank.
  virtual std::string BeginWrite(const std::string& uuid, int rank) = 0;
  // Makes the files of this rank durable, and returns them.
  virtual std::vector<FileRecord> EndWrite(const std::string& uuid, int rank) = 0;
  // Merges the files of all ranks, whose names must differ, adds metadata.json and manifest.json,
  // and makes the checkpoint visible. Returns all of its files.
  virtual std::vector<FileRecord> Publish(const std::string& uuid,
                                          const std::vector<std::vector<FileRecord>>& by_rank,
                                          const std::string& metadata_json) = 0;
  // Removes a checkpoint, complete or incomplete. Never throws; files that cannot be removed
  // remain.
  virtual void Remove(const std::string& uuid) = 0;
  // Removes incomplete checkpoints of earlier attempts with the same owner. Never throws.
  virtual void RemoveLeftovers() = 0;
  // Returns the checkpoints that this owner has published with at most `max_steps` steps_completed
  // (see metadata.json), newest first; none without an owner. Does not check their files. Never
  // throws.
  virtual std::vector<std::string> ListSaved(int64_t max_steps) = 0;
  // Returns a local directory with the files of a checkpoint, after verifying each against the
  // manifest.
  virtual std::string Open(const std::string& uuid) = 0;
  // Copies the files below `folder` that have changed since the last call to `name` next to the
  // checkpoints; each is replaced as a whole, or an event file of TensorBoard extended. Does
  // nothing if the directory does not exist.
  virtual void CopyNextToCheckpoints(const std::string& folder, const std::string& name) = 0;
};

// Checkpoints in a directory that all nodes see under the same path. `owner` (letters, digits, '_'
// and '-') identifies incomplete checkpoints and is stored in the manifest; runs at the same time
// must have different owners.
std::unique_ptr<Storage> MakeSharedFs(std::string base, std::string owner);

// Checkpoints in a bucket (docs/checkpoint-storage.md). `config_json` is an experiment
// configuration whose checkpoint_storage describes the bucket. `scratch` is a private directory for
// temporary files; empty: a system directory. Throws Error for a configuration without a valid
// bucket.
std::unique_ptr<Storage> MakeBucketStorage(const std::string& config_json, std::string scratch,
                                           std::string owner);

// Returns the SHA-256 of a file or text. Throws Error.
std::string ComputeFileSha256(const std::string& path);
std::string ComputeTextSha256(const std::string& text);

}  // namespace det::storage

#endif  // TRIAL_API_CPP_STORAGE_STORAGE_H_
