// Keeps a second agent out of a working folder.
#ifndef AGENT_FOLDER_LOCK_H_
#define AGENT_FOLDER_LOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/fd.h"

namespace det::agent {

// The folder is this process' own for as long as the result is open. FailedPrecondition: another
// agent has it.
absl::StatusOr<base::Fd> LockFolder(const std::string& work_dir);

}  // namespace det::agent

#endif  // AGENT_FOLDER_LOCK_H_
