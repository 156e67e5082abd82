// det job explain
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/job.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/job.pb.h"

namespace det::cli {
namespace {

using api::v1::ExplainJobResponse;
using api::v1::Job;
using Waiting = ExplainJobResponse::Waiting;

constexpr int kMaxNames = 12;

std::string FormatJob(const Job& job) {
  std::vector<std::string> parts = {
      absl::StrCat("pool ", job.resource_pool()),
      absl::StrCat("uses ", job.allocated_slots(), " of ", job.requested_slots(), " slots"),
      absl::StrCat("priority ", job.priority()),
  };
  if (job.weight() != 1) parts.push_back(absl::StrCat("weight ", FormatPlainNumber(job.weight())));
  const int ahead = job.summary().jobs_ahead();
  if (ahead >= 0) parts.push_back(absl::StrCat(FormatCount(ahead, "job"), " ahead"));
  return absl::StrCat("Job ", job.job_id(), " (", RemoveControlCharacters(job.name()),
                      "): ", absl::StrJoin(parts, ", "), ".\n");
}

std::string FormatNames(const std::vector<std::string>& all) {
  const size_t shown = std::min<size_t>(all.size(), kMaxNames);
  const std::string names = absl::StrJoin(all.begin(), all.begin() + shown, ", ");
  return shown == all.size() ? names : absl::StrCat(names, " and ", all.size() - shown, " more");
}

// Trials that wait for the same allocations for the same reason.
struct TrialGroup {
  std::vector<std::string> trials;
  const Waiting* waiting = nullptr;
};

bool IsSame(const Waiting& a, const Waiting& b) {
  return a.kind() == b.kind() && a.reason() == b.reason() &&
         a.estimate_basis() == b.estimate_basis() &&
         a.estimated_start().seconds() == b.estimated_start().seconds() &&
         std::equal(a.waits_for().begin(), a.waits_for().end(), b.waits_for().begin(),
                    b.waits_for().end());
}

std::vector<TrialGroup> GroupTrials(const ExplainJobResponse& response) {
  std::vector<TrialGroup> groups;
  for (const Waiting& each : response.waiting()) {
    if (groups.empty() || !IsSame(*groups.back().waiting, each)) groups.push_back({{}, &each});
    groups.back().trials.push_back(absl::StrCat(each.trial_id()));
  }
  return groups;
}

std::string FormatGroup(const TrialGroup& group, absl::Time now) {
  const Waiting& waiting = *group.waiting;
  const bool one = group.trials.size() == 1;
  std::string text =
      absl::StrCat(one ? "Trial " : "Trials ", FormatNames(group.trials),
                   one ? " is waiting: " : " are waiting: ",
                   waiting.reason().empty() ? "not evaluated by the scheduler yet"
                                            : RemoveControlCharacters(waiting.reason()),
                   ".\n");
  if (!waiting.waits_for().empty()) {
    const std::vector<std::string> ends(waiting.waits_for().begin(), waiting.waits_for().end());
    absl::StrAppend(&text, "  Waits for the end or preemption of: ", FormatNames(ends), ".\n");
  }
  if (waiting.has_estimated_start()) {
    const absl::Duration in = ToTime(waiting.estimated_start()) - now;
    absl::StrAppend(&text,
                    "  Estimated start: ", in < absl::Seconds(1) ? "now" : "in " + FormatSpan(in),
                    " (", FormatTimestamp(waiting.estimated_start()), ")");
  } else {
    absl::StrAppend(&text, "  Estimated start: unknown");
  }
  return absl::StrCat(text, waiting.estimate_basis().empty() ? "" : ", ", waiting.estimate_basis(),
                      ".\n");
}

}  // namespace

absl::StatusOr<int> RunJobExplain(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::ExplainJobRequest request;
  request.set_job_id(run.args.Word("JOB"));
  ExplainJobResponse response;
  DET_RETURN_IF_ERROR(api->Call("JobService.ExplainJob", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  std::string text = FormatJob(response.job());
  if (response.waiting().empty()) absl::StrAppend(&text, "\nNo trial is waiting for slots.\n");
  for (const TrialGroup& group : GroupTrials(response)) {
    absl::StrAppend(&text, "\n", FormatGroup(group, absl::Now()));
  }
  run.screen->Print(text);
  return kExitOk;
}

}  // namespace det::cli
