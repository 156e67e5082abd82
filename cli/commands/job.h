// Shared by the files of `det job` and `det experiment set`.
#ifndef CLI_COMMANDS_JOB_H_
#define CLI_COMMANDS_JOB_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"

namespace det::cli {

// The properties of a job that can be changed while it waits or runs.
inline constexpr std::array<const char*, 6> kJobProperties = {
    "priority", "weight", "max-slots", "resource-pool", "ahead-of", "behind-of"};

struct JobChange {
  std::string job;       // job ID or experiment ID
  std::string property;  // one of kJobProperties
  std::string value;
};

// Sends the changes in one request, all or none, and prints them. Returns the exit code.
absl::StatusOr<int> UpdateJobs(Invocation& run, const std::vector<JobChange>& changes);

absl::StatusOr<int> RunJobExplain(Invocation& run);

}  // namespace det::cli

#endif  // CLI_COMMANDS_JOB_H_
