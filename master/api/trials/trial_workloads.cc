#include "master/api/trials/trial_workloads.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/api/trials/metric_cursor.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {
namespace {

using Request = v1::GetTrialWorkloadsRequest;

bool WantsWorkload(Request::FilterOption filter, const std::string& group) {
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

bool IsDescending(const Request& request) { return request.order_by() == v1::ORDER_BY_DESC; }

// Workloads of one kind in ascending or descending order of their steps, read page by page.
class WorkloadSource {
 public:
  virtual ~WorkloadSource() = default;
  virtual absl::StatusOr<int64_t> Count() = 0;
  // Returns the steps of the next workload; nullopt after the last.
  virtual absl::StatusOr<std::optional<int64_t>> PeekSteps() = 0;
  virtual void Pop() = 0;
  // Returns the value of this metric in the next workload, if it has one.
  virtual absl::StatusOr<std::optional<double>> PeekMetric(const std::string&) {
    return std::nullopt;
  }
  virtual absl::Status WriteNext(v1::WorkloadContainer* out) = 0;
};

class ReportSource final : public WorkloadSource {
 public:
  ReportSource(store::Store& store, const Request& request, const std::string& group)
      : store_(store),
        request_(request),
        group_(group),
        cursor_(store, model::TrialId(request.trial_id()), group, IsDescending(request)) {}

  absl::StatusOr<int64_t> Count() override {
    return store_.CountMetrics(model::TrialId(request_.trial_id()), group_);
  }
  absl::StatusOr<std::optional<int64_t>> PeekSteps() override {
    DET_ASSIGN_OR_RETURN(const model::MetricReport* report, cursor_.Peek());
    if (report == nullptr) return std::nullopt;
    return std::optional(report->steps_completed);
  }
  void Pop() override { cursor_.Pop(); }
  absl::StatusOr<std::optional<double>> PeekMetric(const std::string& name) override {
    DET_ASSIGN_OR_RETURN(const model::MetricReport* report, cursor_.Peek());
    return store::GetMetricNumber(report->metrics, name);
  }
  absl::Status WriteNext(v1::WorkloadContainer* out) override {
    DET_ASSIGN_OR_RETURN(const model::MetricReport* report, cursor_.Peek());
    v1::MetricsWorkload* workload =
        group_ == "training" ? out->mutable_training() : out->mutable_validation();
    *workload = ToWorkload(*report, request_.include_batch_metrics());
    return absl::OkStatus();
  }

 private:
  store::Store& store_;
  const Request& request_;
  const std::string group_;
  MetricCursor cursor_;
};

class CheckpointSource final : public WorkloadSource {
 public:
  CheckpointSource(std::vector<store::CheckpointEntry> entries, bool descending)
      : entries_(std::move(entries)) {
    std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.checkpoint.steps_completed < b.checkpoint.steps_completed;
    });
    if (descending) std::reverse(entries_.begin(), entries_.end());
  }
  absl::StatusOr<int64_t> Count() override { return static_cast<int64_t>(entries_.size()); }
  absl::StatusOr<std::optional<int64_t>> PeekSteps() override {
    if (next_ == entries_.size()) return std::nullopt;
    return std::optional(entries_[next_].checkpoint.steps_completed);
  }
  void Pop() override { ++next_; }
  absl::Status WriteNext(v1::WorkloadContainer* out) override {
    *out->mutable_checkpoint() = ToWorkload(entries_[next_].checkpoint);
    return absl::OkStatus();
  }

 private:
  std::vector<store::CheckpointEntry> entries_;
  size_t next_ = 0;
};

using WorkloadSources = std::vector<std::unique_ptr<WorkloadSource>>;
using Workloads = google::protobuf::RepeatedPtrField<v1::WorkloadContainer>;

absl::StatusOr<std::unique_ptr<WorkloadSource>> OpenCheckpoints(store::Store& store,
                                                                const Request& request) {
  store::CheckpointQuery query;
  query.trial = model::TrialId(request.trial_id());
  if (request.remove_deleted_checkpoints()) {
    query.states = {model::CheckpointState::kCompleted, model::CheckpointState::kError,
                    model::CheckpointState::kPartiallyDeleted};
  }
  DET_ASSIGN_OR_RETURN(store::CheckpointPage page, store.ListCheckpoints(query));
  return std::make_unique<CheckpointSource>(std::move(page.checkpoints), IsDescending(request));
}

// Opens the requested sources in the order of workloads with the same steps: checkpoint, training,
// validation; or the reverse.
absl::StatusOr<WorkloadSources> OpenSources(store::Store& store, const Request& request) {
  WorkloadSources sources;
  if (WantsWorkload(request.filter(), "checkpoint")) {
    DET_ASSIGN_OR_RETURN(sources.emplace_back(), OpenCheckpoints(store, request));
  }
  for (const char* group : {"training", "validation"}) {
    if (!WantsWorkload(request.filter(), group)) continue;
    sources.push_back(std::make_unique<ReportSource>(store, request, group));
  }
  if (IsDescending(request)) std::reverse(sources.begin(), sources.end());
  return sources;
}

// Returns the source of the next workload of all sources; null after the last.
absl::StatusOr<WorkloadSource*> FindNextSource(const WorkloadSources& sources, bool descending) {
  WorkloadSource* next = nullptr;
  int64_t next_steps = 0;
  for (const auto& source : sources) {
    DET_ASSIGN_OR_RETURN(const std::optional<int64_t> steps, source->PeekSteps());
    if (!steps) continue;
    if (next != nullptr && (descending ? *steps <= next_steps : *steps >= next_steps)) continue;
    next = source.get();
    next_steps = *steps;
  }
  return next;
}

absl::StatusOr<int> CountAll(const WorkloadSources& sources) {
  int64_t count = 0;
  for (const auto& source : sources) {
    DET_ASSIGN_OR_RETURN(const int64_t source_count, source->Count());
    count += source_count;
  }
  return static_cast<int>(count);
}

absl::StatusOr<int> ListBySteps(store::Store& store, const Request& request, Workloads* out) {
  DET_ASSIGN_OR_RETURN(const WorkloadSources sources, OpenSources(store, request));
  DET_ASSIGN_OR_RETURN(const int total, CountAll(sources));
  const store::Range range = store::Resolve(ToWindow(request.offset(), request.limit()), total);
  for (int i = 0; i < range.end; ++i) {
    DET_ASSIGN_OR_RETURN(WorkloadSource * next, FindNextSource(sources, IsDescending(request)));
    if (next == nullptr) break;
    if (i >= range.begin) DET_RETURN_IF_ERROR(next->WriteNext(out->Add()));
    next->Pop();
  }
  return total;
}

// Returns the indices of the workloads in the order of steps, sorted by the metric. Workloads
// without the metric come last.
absl::StatusOr<std::vector<int>> RankByMetric(const WorkloadSources& sources,
                                              const Request& request) {
  std::vector<std::pair<double, int>> ranked;
  std::vector<int> others;
  for (int index = 0;; ++index) {
    DET_ASSIGN_OR_RETURN(WorkloadSource * next, FindNextSource(sources, /*descending=*/false));
    if (next == nullptr) break;
    DET_ASSIGN_OR_RETURN(const std::optional<double> metric, next->PeekMetric(request.sort_key()));
    if (metric && !std::isnan(*metric)) {
      ranked.emplace_back(IsDescending(request) ? -*metric : *metric, index);
    } else {
      others.push_back(index);
    }
    next->Pop();
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> indices;
  for (const auto& [metric, index] : ranked) indices.push_back(index);
  indices.insert(indices.end(), others.begin(), others.end());
  return indices;
}

// Reads all workloads to sort them, and again to write those of the requested window.
absl::StatusOr<int> ListByMetric(store::Store& store, const Request& request, Workloads* out) {
  Request by_steps = request;
  by_steps.clear_order_by();
  DET_ASSIGN_OR_RETURN(WorkloadSources sources, OpenSources(store, by_steps));
  DET_ASSIGN_OR_RETURN(const std::vector<int> ranking, RankByMetric(sources, request));
  const int total = static_cast<int>(ranking.size());
  const store::Range range = store::Resolve(ToWindow(request.offset(), request.limit()), total);
  std::map<int, v1::WorkloadContainer*> selected;
  for (int i = range.begin; i < range.end; ++i) {
    selected[ranking[static_cast<size_t>(i)]] = out->Add();
  }
  DET_ASSIGN_OR_RETURN(sources, OpenSources(store, by_steps));
  int index = 0;
  for (const auto& [selected_index, workload] : selected) {
    for (; index <= selected_index; ++index) {
      DET_ASSIGN_OR_RETURN(WorkloadSource * next, FindNextSource(sources, /*descending=*/false));
      if (next == nullptr) return total;
      if (index == selected_index) DET_RETURN_IF_ERROR(next->WriteNext(workload));
      next->Pop();
    }
  }
  return total;
}

}  // namespace

absl::Status ListWorkloads(store::Store& store, const Request& request,
                           v1::GetTrialWorkloadsResponse* response) {
  DET_RETURN_IF_ERROR(store.GetBareTrial(model::TrialId(request.trial_id())).status());
  const bool by_steps = request.sort_key().empty() || request.sort_key() == "batches";
  DET_ASSIGN_OR_RETURN(const int total, (by_steps ? ListBySteps : ListByMetric)(
                                            store, request, response->mutable_workloads()));
  // Existing clients know no limit as -1.
  const int limit = request.limit() == 0 ? -1 : request.limit();
  *response->mutable_pagination() =
      ToPagination(request.offset(), limit, response->workloads_size(), total);
  return absl::OkStatus();
}

}  // namespace det::api
