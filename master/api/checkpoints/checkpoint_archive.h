// CheckpointArchive: packs all files of a checkpoint into one archive while it is read. Only a
// chunk of a file and a chunk of the archive are in memory.
//
// Called by one thread at a time; blocks.
#ifndef MASTER_API_CHECKPOINTS_CHECKPOINT_ARCHIVE_H_
#define MASTER_API_CHECKPOINTS_CHECKPOINT_ARCHIVE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/api/checkpoints/checkpoint_files.h"

struct archive;

namespace det::api {

class CheckpointArchive {
 public:
  enum class Format { kTgz, kZip };
  // The checkpoint's paths and their sizes in bytes; the path of a directory ends with '/'.
  using Files = std::map<std::string, int64_t>;
  using Open = std::function<absl::StatusOr<ChunkReader>(const std::string& path)>;

  // All entries get the modification time `time`.
  CheckpointArchive(Format format, Files files, absl::Time time, Open open);
  ~CheckpointArchive();

  // Returns the next chunk of the archive, or an empty string at its end. Returns the errors of
  // `open` and of its readers, and DATA_LOSS if the size of a file differs from its size in
  // `files`. Must not be called after an error.
  absl::StatusOr<std::string> Next();

 private:
  absl::Status ReadStep();
  absl::Status BeginFile();
  absl::Status CheckResult(int code) const;

  const Files files_;
  const absl::Time time_;
  const Open open_;
  Files::const_iterator next_;
  std::string path_;  // the file that is being read
  ChunkReader reader_;
  int64_t left_ = 0;  // bytes of the file that were not read yet
  std::string out_;
  bool finished_ = false;
  // Appends to out_.
  std::unique_ptr<archive, int (*)(archive*)> writer_;
};

}  // namespace det::api

#endif  // MASTER_API_CHECKPOINTS_CHECKPOINT_ARCHIVE_H_
