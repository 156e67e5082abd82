#include "cli/task_readiness.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/logs.h"
#include "cli/retry_policy.h"
#include "det/api/v1/task.pb.h"

namespace det::cli {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kMaxPause = absl::Milliseconds(500);
constexpr int kLastLines = 10;

absl::StatusOr<api::v1::Task> GetTask(const ApiClient& api, const std::string& id) {
  api::v1::GetTaskRequest request;
  request.set_task_id(id);
  api::v1::GetTaskResponse response;
  DET_RETURN_IF_ERROR(api.Call("TaskService.GetTask", request, &response));
  return response.task();
}

// Returns the newest allocation; an empty one if there is none yet.
api::v1::Allocation GetCurrent(const api::v1::Task& task) {
  return task.allocations().empty() ? api::v1::Allocation() : task.allocations(0);
}

// Returns "queued: needs 4 slots, 2 are free", or "starting".
std::string DescribeState(const ApiClient& api, const api::v1::Allocation& allocation) {
  if (allocation.state() != api::v1::Allocation::STATE_QUEUED) return "starting";
  api::v1::GetAllocationRequest request;
  request.set_allocation_id(allocation.allocation_id());
  api::v1::GetAllocationResponse response;
  // The reason is only information: the next call reports an error.
  const bool known = api.Call("TaskService.GetAllocation", request, &response).ok();
  const std::string reason = RemoveControlCharacters(response.allocation().wait_reason());
  return known && !reason.empty() ? absl::StrCat("queued: ", reason) : "queued";
}

absl::Status ReportEnd(const ApiClient& api, const std::string& noun, const api::v1::Task& task,
                       Screen* screen) {
  api::v1::TaskLogsRequest request;
  request.set_task_id(task.task_id());
  request.set_limit(kLastLines);
  request.set_order_by(api::v1::ORDER_BY_DESC);
  DET_RETURN_IF_ERROR(PrintLogs(api, request, LogFormat::kStderr, screen, RetryPolicy(screen)));
  const std::string reason = GetCurrent(task).exit_reason();
  return absl::FailedPreconditionError(
      absl::StrCat("the ", noun, " ", task.task_id(), " has ended",
                   reason.empty() ? "" : absl::StrCat(": ", reason), "; see `det ", noun, " logs ",
                   task.task_id(), "`"));
}

absl::Status Wait(const ApiClient& api, const std::string& noun, const std::string& id,
                  Screen* screen) {
  RetryPolicy retry(screen);
  absl::Duration pause = kFirstPause;
  std::string shown;
  while (true) {
    const absl::StatusOr<api::v1::Task> task = GetTask(api, id);
    if (!task.ok()) {
      DET_RETURN_IF_ERROR(retry.WaitBeforeRetry(task.status()));
      continue;
    }
    retry.OnResponse();
    if (task->has_end_time()) {
      screen->EndProgress(/*keep=*/false);
      return ReportEnd(api, noun, *task, screen);
    }
    const api::v1::Allocation allocation = GetCurrent(*task);
    if (allocation.is_ready()) return absl::OkStatus();
    const std::string state = DescribeState(api, allocation);
    if (state != shown) pause = kFirstPause;  // Changes come in quick succession.
    shown = state;
    screen->ShowProgress(absl::StrCat("Waiting for ", noun, " to become ready (", state, ")"));
    if (const absl::Status waited = WaitFor(-1, 0, pause); absl::IsCancelled(waited)) {
      return waited;
    }
    pause = std::min(pause * 1.5, kMaxPause);
  }
}

}  // namespace

absl::Status WaitUntilReady(const ApiClient& api, const std::string& noun, const std::string& id,
                            Screen* screen) {
  const absl::Status waited = Wait(api, noun, id, screen);
  screen->EndProgress(/*keep=*/false);
  if (absl::IsCancelled(waited)) {
    screen->PrintNotice(absl::StrCat("det: ", noun, " ", id,
                                     " is still starting; open it with `det ", noun, " open ", id,
                                     "`, stop it with `det ", noun, " kill ", id, "`"));
  }
  return waited;
}

}  // namespace det::cli
