#include "master/service/trial_workloads.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "master/service/convert.h"
#include "master/store/canonical.h"

namespace det::service {
namespace {

namespace api = det::api::v1;
using Request = api::GetTrialWorkloadsRequest;

struct Workload {
  int64_t steps = 0;
  int rank = 0;  // among those of the same length: trained, validated, saved
  api::WorkloadContainer shown;
};

bool Wanted(Request::FilterOption filter, const std::string& group) {
  switch (filter) {
    case Request::FILTER_OPTION_CHECKPOINT:
      return group == "checkpoint";
    case Request::FILTER_OPTION_VALIDATION:
      return group == "validation";
    case Request::FILTER_OPTION_CHECKPOINT_OR_VALIDATION:
      return group != "training";
    default:
      return true;
  }
}

void AddBatches(const model::MetricReport& report, api::MetricsWorkload* out) {
  const model::Value::List* batches = report.batch_metrics.AsList();
  if (batches == nullptr) return;
  for (const model::Value& batch : *batches) {
    *out->mutable_metrics()->add_batch_metrics() = ToStruct(batch);
  }
}

absl::Status AddReports(store::Store& store, const Request& request, const std::string& group,
                        int rank, std::vector<Workload>* out) {
  if (!Wanted(request.filter(), group)) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const auto reports,
                       store.ListMetrics({model::TrialId(request.trial_id())}, group));
  for (const model::MetricReport& report : reports) {
    Workload workload{.steps = report.steps_completed, .rank = rank};
    api::MetricsWorkload* shown =
        rank == 0 ? workload.shown.mutable_training() : workload.shown.mutable_validation();
    *shown = ToWorkload(report);
    if (request.include_batch_metrics()) AddBatches(report, shown);
    out->push_back(std::move(workload));
  }
  return absl::OkStatus();
}

absl::Status AddCheckpoints(store::Store& store, const Request& request,
                            std::vector<Workload>* out) {
  if (!Wanted(request.filter(), "checkpoint")) return absl::OkStatus();
  store::CheckpointQuery query;
  query.trial = model::TrialId(request.trial_id());
  if (request.remove_deleted_checkpoints()) {
    query.states = {model::CheckpointState::kCompleted, model::CheckpointState::kError};
  }
  DET_ASSIGN_OR_RETURN(const store::CheckpointPage page, store.ListCheckpoints(query));
  for (const store::CheckpointEntry& entry : page.checkpoints) {
    Workload workload{.steps = entry.checkpoint.steps_completed, .rank = 2};
    *workload.shown.mutable_checkpoint() = ToWorkload(entry.checkpoint);
    out->push_back(std::move(workload));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ListWorkloads(store::Store& store, const Request& request,
                           api::GetTrialWorkloadsResponse* response) {
  DET_RETURN_IF_ERROR(store.GetTrial(model::TrialId(request.trial_id())).status());
  std::vector<Workload> all;
  DET_RETURN_IF_ERROR(AddReports(store, request, "training", 0, &all));
  DET_RETURN_IF_ERROR(AddReports(store, request, "validation", 1, &all));
  DET_RETURN_IF_ERROR(AddCheckpoints(store, request, &all));
  std::stable_sort(all.begin(), all.end(), [](const Workload& a, const Workload& b) {
    return std::pair(a.steps, a.rank) < std::pair(b.steps, b.rank);
  });
  if (request.order_by() == api::ORDER_BY_DESC) std::reverse(all.begin(), all.end());
  const int total = static_cast<int>(all.size());
  const store::Range range = store::Resolve(ToWindow(request.offset(), request.limit()), total);
  for (int i = range.begin; i < range.end; ++i) {
    *response->add_workloads() = std::move(all[static_cast<size_t>(i)].shown);
  }
  *response->mutable_pagination() =
      ToPagination(request.offset(), request.limit(), response->workloads_size(), total);
  return absl::OkStatus();
}

}  // namespace det::service
