// Writes what came from elsewhere below a folder, and nowhere else.
// Called by ProcessDriver on a task's thread, which waits for the disk. Never follows a symbolic
// link out of the folder, never makes a device, never keeps owners or set-id bits.
#ifndef AGENT_DRIVER_UNPACK_H_
#define AGENT_DRIVER_UNPACK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/core/task.h"
#include "base/fd.h"

namespace det::agent {

// Unpacks a gzipped tar archive into `dir`, which exists. INVALID_ARGUMENT names the entry that is
// absolute, leaves the folder, or is a link that does; DATA_LOSS if the archive is damaged.
absl::Status Unpack(base::Fd archive, const std::string& dir);

// INVALID_ARGUMENT as above.
absl::Status WriteRunFiles(const std::vector<RunFile>& files, const std::string& dir);

// Whether a relative path stays inside, judged by its words: no "..", nothing absolute or empty.
bool StaysInside(absl::string_view path);

}  // namespace det::agent

#endif  // AGENT_DRIVER_UNPACK_H_
