// The master's data directory: created, checked to be writable, and locked against a second master.
// It contains master.json, which tells other programs the master's address. Other users of the
// machine cannot list it, but can access checkpoints/ and master.json in it.
//
// Used by master.cc on the main thread; blocks.
#ifndef MASTER_APP_DATA_DIR_H_
#define MASTER_APP_DATA_DIR_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/fd.h"

namespace det::app {

class DataDir {
 public:
  // FAILED_PRECONDITION if another master uses it; PERMISSION_DENIED if it is not writable.
  static absl::StatusOr<DataDir> Open(const std::string& path);

  DataDir(DataDir&&) = default;
  // Removes master.json; closing the descriptor releases the lock.
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
