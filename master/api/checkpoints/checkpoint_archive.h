// All files of a checkpoint as one archive, made while it is read: no more than a piece of a file
// and a portion of the archive is in memory.
//
// Called by one thread at a time, which may block.
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
  // Path -> bytes, as the checkpoint lists them; a folder ends with '/'.
  using Files = std::map<std::string, int64_t>;
  using Open = std::function<absl::StatusOr<Pieces>(const std::string& path)>;

  // `time`: of all that is in it.
  CheckpointArchive(Format format, Files files, absl::Time time, Open open);
  ~CheckpointArchive();

  // What comes next of it; nothing at its end. Errors are those of `open` and of its pieces, and
  // DATA_LOSS for a file that is not as long as listed. None after an error.
  absl::StatusOr<std::string> Next();

 private:
  absl::Status Step();
  absl::Status BeginFile();
  absl::Status Check(int code) const;

  const Files files_;
  const absl::Time time_;
  const Open open_;
  Files::const_iterator next_;
  std::string path_;  // of the file that is being read
  Pieces pieces_;
  int64_t left_ = 0;
  std::string out_;
  bool over_ = false;
  // Writes to out_.
  std::unique_ptr<archive, int (*)(archive*)> writer_;
};

}  // namespace det::api

#endif  // MASTER_API_CHECKPOINTS_CHECKPOINT_ARCHIVE_H_
