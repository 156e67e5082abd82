// det cluster snapshot
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "det/api/v1/job.pb.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunSnapshot(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetSchedulerSnapshotRequest request;
  request.set_resource_pool(run.args.Get("pool").value_or(""));
  api::v1::GetSchedulerSnapshotResponse response;
  DET_RETURN_IF_ERROR(api->Call("JobService.GetSchedulerSnapshot", request, &response));
  DET_RETURN_IF_ERROR(run.PrintJson(response.snapshot()));
  return kExitOk;
}

}  // namespace

std::vector<Command> ClusterCommands() {
  return {
      {{"cluster", "snapshot"},
       "Print the input of the scheduler as JSON",
       {},
       {{"pool", 0, "POOL", "Only this resource pool"}},
       RunSnapshot,
       "Use the output with `det dev schedule --snapshot FILE`. docs/scheduling.md describes the "
       "format."},
  };
}

}  // namespace det::cli
