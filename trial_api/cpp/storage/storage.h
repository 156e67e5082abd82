// Where checkpoints lie. Called by Checkpoints, which lets the ranks work together; any thread, one
// call at a time per checkpoint.
//
// A checkpoint is written aside, rank by rank, and published whole: BeginWrite on each rank, the
// rank's files, EndWrite on each rank, then Publish on the chief. Never speaks to the master.
#ifndef TRIAL_API_CPP_STORAGE_STORAGE_H_
#define TRIAL_API_CPP_STORAGE_STORAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace det::storage {

struct FileRecord {
  std::string path;  // below the checkpoint
  int64_t size = 0;
  std::string sha256;  // in hexadecimal digits
  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

class Storage {
 public:
  virtual ~Storage() = default;

  // All throw Error naming the file or the checkpoint.

  // An empty directory for the files of this rank.
  virtual std::string BeginWrite(const std::string& uuid, int rank) = 0;
  // What this rank has written, now durable.
  virtual std::vector<FileRecord> EndWrite(const std::string& uuid, int rank) = 0;
  // Merges the ranks' files, whose names must differ, adds metadata.json and manifest.json, and
  // makes the checkpoint visible. Returns all of its files.
  virtual std::vector<FileRecord> Publish(const std::string& uuid,
                                          const std::vector<std::vector<FileRecord>>& by_rank,
                                          const std::string& metadata_json) = 0;
  // Whatever there is of a checkpoint, written or half written. Never throws: what cannot be
  // removed stays.
  virtual void Remove(const std::string& uuid) = 0;
  // Removes what an earlier run with the same owner left half written. Never throws.
  virtual void RemoveLeftovers() = 0;
  // The checkpoints that this owner has published, of at most so many steps_completed (see
  // metadata.json), newest first; none without an owner. Says nothing of their files. Never throws.
  virtual std::vector<std::string> Saved(int64_t max_steps) = 0;
  // A local directory with the files, each compared with the manifest.
  virtual std::string Open(const std::string& uuid) = 0;
  // Files below `folder` that have changed since the last time, to `name` beside the checkpoints;
  // each is replaced whole. Does nothing when there is no such folder.
  virtual void CopyBeside(const std::string& folder, const std::string& name) = 0;
};

// A directory that every node sees under the same path. `owner`, made of letters, digits, '_' and
// '-', marks what is half written, and stands in the manifest of what is whole; no two runs that
// live at the same time may share it.
std::unique_ptr<Storage> MakeSharedFs(std::string base, std::string owner);

// A bucket (docs/checkpoint-storage.md). `config_json`: an experiment's configuration, whose
// checkpoint_storage names it. `scratch`: a folder of this task alone, for files on their way;
// empty for one of the system's. Throws Error for a configuration that names none.
std::unique_ptr<Storage> MakeBucketStorage(const std::string& config_json, std::string scratch,
                                           std::string owner);

// Of a file's content. Throws Error.
std::string Sha256OfFile(const std::string& path);
std::string Sha256OfText(const std::string& text);

}  // namespace det::storage

#endif  // TRIAL_API_CPP_STORAGE_STORAGE_H_
