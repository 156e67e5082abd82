// Writes files from untrusted sources below a directory, and nowhere else. Called by ProcessDriver
// on a task's thread; blocks on disk access. Never follows a symbolic link out of the directory,
// never creates devices, and never preserves owners or set-id bits.
#ifndef AGENT_DRIVER_UNPACK_H_
#define AGENT_DRIVER_UNPACK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/core/task.h"
#include "base/fd.h"

namespace det::agent {

// Unpacks a gzipped tar archive into the existing directory `dir`. Returns INVALID_ARGUMENT with
// the name of an entry that is absolute, leaves the directory, or is a link that does; DATA_LOSS if
// the archive is damaged.
absl::Status Unpack(base::Fd archive, const std::string& dir);

// Returns INVALID_ARGUMENT for a file that leaves the directory.
absl::Status WriteRunFiles(const std::vector<RunFile>& files, const std::string& dir);

// Returns whether a relative path stays inside its directory; examines only the text: no "..", not
// absolute and not empty.
bool StaysInside(absl::string_view path);

}  // namespace det::agent

#endif  // AGENT_DRIVER_UNPACK_H_
