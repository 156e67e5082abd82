// What the files of `det job` share, and `det experiment set` with them.
#ifndef CLI_COMMANDS_JOB_H_
#define CLI_COMMANDS_JOB_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"

namespace det::cli {

// What can be changed of a job while it waits or runs.
inline constexpr std::array<const char*, 6> kJobProperties = {
    "priority", "weight", "max-slots", "resource-pool", "ahead-of", "behind-of"};

struct JobChange {
  std::string job;       // its id, or that of its experiment
  std::string property;  // of kJobProperties
  std::string value;
};

// Sends them as one request, all or nothing, and says so; the exit code.
absl::StatusOr<int> UpdateJobs(Invocation& run, const std::vector<JobChange>& changes);

absl::StatusOr<int> RunJobExplain(Invocation& run);

}  // namespace det::cli

#endif  // CLI_COMMANDS_JOB_H_
