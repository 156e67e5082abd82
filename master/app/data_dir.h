// The master's data directory: made, found writable, locked against a second master; and the file
// in it that tells others where the master is. Other users of the machine cannot list it; they
// reach checkpoints/ and master.json in it.
//
// Used by master.cc on the main thread; blocks.
#ifndef MASTER_APP_DATA_DIR_H_
#define MASTER_APP_DATA_DIR_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/fd.h"

namespace det::app {

class DataDir {
 public:
  // FAILED_PRECONDITION when another master runs on it; PERMISSION_DENIED when it cannot be
  // written.
  static absl::StatusOr<DataDir> Open(const std::string& path);

  DataDir(DataDir&&) = default;
  // Removes the announcement; the lock goes with the descriptor.
  ~DataDir();

  const std::string& path() const { return path_; }

  // Writes master.json: {"pid": ..., "port": ..., "url": ...}.
  absl::Status Announce(int port, const std::string& url);

 private:
  DataDir(std::string path, base::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;  // absolute
  base::Fd lock_;
  bool announced_ = false;
};

}  // namespace det::app

#endif  // MASTER_APP_DATA_DIR_H_
