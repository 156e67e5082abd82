#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/commands/struct_text.h"
#include "cli/commands/trial.h"
#include "cli/format.h"

namespace det::cli {
namespace {

using api::v1::MetricsWorkload;
using api::v1::WorkloadContainer;

constexpr int kPageSize = 1000;

std::vector<Cell> MetricsRow(int trial, const char* kind, const MetricsWorkload& workload) {
  return {absl::StrCat(trial),
          absl::StrCat(workload.total_batches()),
          kind,
          MakeAgeCell(workload.end_time(), absl::Now()),
          FormatStruct(workload.metrics().avg_metrics()),
          "-"};
}

}  // namespace

absl::StatusOr<api::v1::GetTrialWorkloadsResponse> GetWorkloads(const ApiClient& api, int trial) {
  api::v1::GetTrialWorkloadsRequest request;
  request.set_trial_id(trial);
  request.set_order_by(api::v1::ORDER_BY_ASC);
  request.set_limit(kPageSize);
  api::v1::GetTrialWorkloadsResponse all;
  while (true) {
    api::v1::GetTrialWorkloadsResponse page;
    DET_RETURN_IF_ERROR(api.Call("TrialService.GetTrialWorkloads", request, &page));
    all.mutable_workloads()->MergeFrom(page.workloads());
    *all.mutable_pagination() = page.pagination();
    if (page.workloads_size() == 0 || all.workloads_size() >= page.pagination().total()) {
      return all;
    }
    request.set_offset(all.workloads_size());
  }
}

Table EmptyWorkloadTable() {
  return Table({{"TRIAL", true},
                {"BATCH", true},
                {"KIND"},
                {"TIME"},
                {"METRICS", false, true},
                {"CHECKPOINT", false, true}});
}

void AddWorkloads(int trial, const api::v1::GetTrialWorkloadsResponse& workloads, Table* table) {
  for (const WorkloadContainer& each : workloads.workloads()) {
    if (each.has_training()) {
      table->AddRow(MetricsRow(trial, "training", each.training()));
    } else if (each.has_validation()) {
      table->AddRow(MetricsRow(trial, "validation", each.validation()));
    } else if (each.has_checkpoint()) {
      table->AddRow({absl::StrCat(trial), absl::StrCat(each.checkpoint().total_batches()),
                     "checkpoint", MakeAgeCell(each.checkpoint().end_time(), absl::Now()), "-",
                     each.checkpoint().uuid()});
    }
  }
}

}  // namespace det::cli
