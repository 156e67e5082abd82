// Copying checkpoints here, and which of many.
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

// --output, --quiet and --mode. `output` says what stands for no -o.
std::vector<Option> DownloadOptions(const std::string& output);
// A usage error for a --mode that there is none of.
absl::Status CheckDownloadOptions(const Invocation& run);

// Its files below `target`, which is new or empty: whole or not at all. ALREADY_EXISTS for a folder
// that holds something; DATA_LOSS for a file that does not come whole.
absl::Status DownloadCheckpoint(Invocation& run, const ApiClient& api,
                                const api::v1::Checkpoint& checkpoint, const std::string& target);

// By which number, and how many.
struct BestBy {
  std::string metric;  // of the validation; empty: the searcher's
  bool smaller_is_better = true;
  int count = 1;
};
// --sort-by and --smaller-is-better, else as the experiment's searcher has it.
const std::vector<Option>& BestByOptions();
absl::StatusOr<BestBy> ReadBestBy(const Invocation& run, const ApiClient& api, int experiment);

using Checkpoints = google::protobuf::RepeatedPtrField<api::v1::Checkpoint>;
// Leaves the best, the best first; those without the metric go.
void KeepBest(const BestBy& by, Checkpoints* checkpoints);

// "a,b c" as well as "a b c".
std::vector<std::string> Uuids(const Invocation& run);

}  // namespace det::cli

#endif  // CLI_COMMANDS_CHECKPOINT_FILES_H_
