// Downloads checkpoints and ranks them.
#ifndef CLI_COMMANDS_CHECKPOINT_FILES_H_
#define CLI_COMMANDS_CHECKPOINT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "cli/command.h"
#include "det/api/v1/checkpoint.pb.h"

namespace det::cli {

// Returns --output, --quiet and --mode. `output` is the help of -o.
std::vector<Option> DownloadOptions(const std::string& output);
// Returns a usage error for an invalid --mode.
absl::Status CheckDownloadOptions(const Invocation& run);

// Downloads the files of a checkpoint to `target`, a new or empty directory: completely or not at
// all. Returns ALREADY_EXISTS if the directory is not empty, DATA_LOSS if a file is incomplete.
absl::Status DownloadCheckpoint(Invocation& run, const ApiClient& api,
                                const api::v1::Checkpoint& checkpoint, const std::string& target);

// The metric to rank by and the number of checkpoints to keep.
struct BestBy {
  std::string metric;  // validation metric; empty: the searcher metric
  bool smaller_is_better = true;
  int count = 1;
};
// --sort-by and --smaller-is-better; the default is the experiment's searcher.
const std::vector<Option>& BestByOptions();
absl::StatusOr<BestBy> ReadBestBy(const Invocation& run, const ApiClient& api, int experiment);

using Checkpoints = google::protobuf::RepeatedPtrField<api::v1::Checkpoint>;
// Keeps the best checkpoints, best first; removes those without the metric.
void KeepBest(const BestBy& by, Checkpoints* checkpoints);

// Accepts "a,b c" and "a b c".
std::vector<std::string> ReadUuids(const Invocation& run);

}  // namespace det::cli

#endif  // CLI_COMMANDS_CHECKPOINT_FILES_H_
