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

#include "absl/strings/str_cat.h"
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

// Of whose reports; empty: of both.
std::string GroupOf(const Request& request) {
  if (!request.group().empty()) return request.group();
  if (request.metric_type() == v1::METRIC_TYPE_TRAINING) return "training";
  return request.metric_type() == v1::METRIC_TYPE_VALIDATION ? "validation" : "";
}

void AddBatches(const model::MetricReport& report, v1::MetricsWorkload* out) {
  const model::Value::List* batches = report.batch_metrics.AsList();
  if (batches == nullptr) return;
  for (const model::Value& batch : *batches) {
    *out->mutable_metrics()->add_batch_metrics() = ToStruct(batch);
  }
}

bool IsDescending(const Request& request) { return request.order_by() == v1::ORDER_BY_DESC; }

// One kind of workloads, by steps or backwards; the portions of it are read as they come.
class Source {
 public:
  virtual ~Source() = default;
  virtual absl::StatusOr<int64_t> Count() = 0;
  // Of the next one; none behind the last.
  virtual absl::StatusOr<std::optional<int64_t>> Steps() = 0;
  virtual void Pop() = 0;
  // Of the next one, if it has that metric.
  virtual absl::StatusOr<std::optional<double>> Metric(const std::string&) { return std::nullopt; }
  virtual absl::Status Show(v1::WorkloadContainer* out) = 0;
};

class ReportSource final : public Source {
 public:
  ReportSource(store::Store& store, const Request& request, const std::string& group)
      : store_(store),
        request_(request),
        group_(group),
        cursor_(store, model::TrialId(request.trial_id()), group, IsDescending(request)) {}

  absl::StatusOr<int64_t> Count() override {
    return store_.CountMetrics(model::TrialId(request_.trial_id()), group_);
  }
  absl::StatusOr<std::optional<int64_t>> Steps() override {
    DET_ASSIGN_OR_RETURN(const model::MetricReport* report, cursor_.Peek());
    if (report == nullptr) return std::nullopt;
    return std::optional(report->steps_completed);
  }
  void Pop() override { cursor_.Pop(); }
  absl::StatusOr<std::optional<double>> Metric(const std::string& name) override {
    DET_ASSIGN_OR_RETURN(const model::MetricReport* report, cursor_.Peek());
    return store::MetricNumber(report->metrics, name);
  }
  absl::Status Show(v1::WorkloadContainer* out) override {
    DET_ASSIGN_OR_RETURN(const model::MetricReport* report, cursor_.Peek());
    v1::MetricsWorkload* shown =
        group_ == "training" ? out->mutable_training() : out->mutable_validation();
    *shown = ToWorkload(*report);
    if (request_.include_batch_metrics()) AddBatches(*report, shown);
    return absl::OkStatus();
  }

 private:
  store::Store& store_;
  const Request& request_;
  const std::string group_;
  MetricCursor cursor_;
};

class CheckpointSource final : public Source {
 public:
  CheckpointSource(std::vector<store::CheckpointEntry> entries, bool descending)
      : entries_(std::move(entries)) {
    std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.checkpoint.steps_completed < b.checkpoint.steps_completed;
    });
    if (descending) std::reverse(entries_.begin(), entries_.end());
  }
  absl::StatusOr<int64_t> Count() override { return static_cast<int64_t>(entries_.size()); }
  absl::StatusOr<std::optional<int64_t>> Steps() override {
    if (next_ == entries_.size()) return std::nullopt;
    return std::optional(entries_[next_].checkpoint.steps_completed);
  }
  void Pop() override { ++next_; }
  absl::Status Show(v1::WorkloadContainer* out) override {
    *out->mutable_checkpoint() = ToWorkload(entries_[next_].checkpoint);
    return absl::OkStatus();
  }

 private:
  std::vector<store::CheckpointEntry> entries_;
  size_t next_ = 0;
};

using Sources = std::vector<std::unique_ptr<Source>>;
using Workloads = google::protobuf::RepeatedPtrField<v1::WorkloadContainer>;

absl::StatusOr<std::unique_ptr<Source>> Checkpoints(store::Store& store, const Request& request) {
  store::CheckpointQuery query;
  query.trial = model::TrialId(request.trial_id());
  if (request.remove_deleted_checkpoints()) {
    query.states = {model::CheckpointState::kCompleted, model::CheckpointState::kError,
                    model::CheckpointState::kPartiallyDeleted};
  }
  DET_ASSIGN_OR_RETURN(store::CheckpointPage page, store.ListCheckpoints(query));
  return std::make_unique<CheckpointSource>(std::move(page.checkpoints), IsDescending(request));
}

// In the order of those of one length: trained, validated, saved; or backwards.
absl::StatusOr<Sources> OpenSources(store::Store& store, const Request& request) {
  Sources sources;
  for (const char* group : {"training", "validation"}) {
    if (!WantsWorkload(request.filter(), group)) continue;
    if (const std::string only = GroupOf(request); !only.empty() && only != group) continue;
    sources.push_back(std::make_unique<ReportSource>(store, request, group));
  }
  if (WantsWorkload(request.filter(), "checkpoint")) {
    DET_ASSIGN_OR_RETURN(sources.emplace_back(), Checkpoints(store, request));
  }
  if (IsDescending(request)) std::reverse(sources.begin(), sources.end());
  return sources;
}

// The source whose next workload is the next of all; null behind the last.
absl::StatusOr<Source*> First(const Sources& sources, bool descending) {
  Source* first = nullptr;
  int64_t found = 0;
  for (const auto& source : sources) {
    DET_ASSIGN_OR_RETURN(const std::optional<int64_t> steps, source->Steps());
    if (!steps) continue;
    if (first != nullptr && (descending ? *steps <= found : *steps >= found)) continue;
    first = source.get();
    found = *steps;
  }
  return first;
}

absl::StatusOr<int> CountAll(const Sources& sources) {
  int64_t count = 0;
  for (const auto& source : sources) {
    DET_ASSIGN_OR_RETURN(const int64_t more, source->Count());
    count += more;
  }
  return static_cast<int>(count);
}

absl::StatusOr<int> ListBySteps(store::Store& store, const Request& request, Workloads* out) {
  DET_ASSIGN_OR_RETURN(const Sources sources, OpenSources(store, request));
  DET_ASSIGN_OR_RETURN(const int total, CountAll(sources));
  const store::Range range = store::Resolve(ToWindow(request.offset(), request.limit()), total);
  for (int i = 0; i < range.end; ++i) {
    DET_ASSIGN_OR_RETURN(Source * next, First(sources, IsDescending(request)));
    if (next == nullptr) break;
    if (i >= range.begin) DET_RETURN_IF_ERROR(next->Show(out->Add()));
    next->Pop();
  }
  return total;
}

// Places in the order of steps, in the order of the metric: those without it last.
absl::StatusOr<std::vector<int>> RankByMetric(const Sources& sources, const Request& request) {
  std::vector<std::pair<double, int>> ranked;
  std::vector<int> others;
  for (int place = 0;; ++place) {
    DET_ASSIGN_OR_RETURN(Source * next, First(sources, /*descending=*/false));
    if (next == nullptr) break;
    DET_ASSIGN_OR_RETURN(const std::optional<double> metric, next->Metric(request.sort_key()));
    if (metric && !std::isnan(*metric)) {
      ranked.emplace_back(IsDescending(request) ? -*metric : *metric, place);
    } else {
      others.push_back(place);
    }
    next->Pop();
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> places;
  for (const auto& [metric, place] : ranked) places.push_back(place);
  places.insert(places.end(), others.begin(), others.end());
  return places;
}

// Reads all of them for their order, and again for what is shown.
absl::StatusOr<int> ListByMetric(store::Store& store, const Request& request, Workloads* out) {
  Request by_steps = request;
  by_steps.clear_order_by();
  DET_ASSIGN_OR_RETURN(Sources sources, OpenSources(store, by_steps));
  DET_ASSIGN_OR_RETURN(const std::vector<int> places, RankByMetric(sources, request));
  const int total = static_cast<int>(places.size());
  const store::Range range = store::Resolve(ToWindow(request.offset(), request.limit()), total);
  std::map<int, v1::WorkloadContainer*> shown;
  for (int i = range.begin; i < range.end; ++i) shown[places[static_cast<size_t>(i)]] = out->Add();
  DET_ASSIGN_OR_RETURN(sources, OpenSources(store, by_steps));
  int place = 0;
  for (const auto& [at, workload] : shown) {
    for (; place <= at; ++place) {
      DET_ASSIGN_OR_RETURN(Source * next, First(sources, /*descending=*/false));
      if (next == nullptr) return total;
      if (place == at) DET_RETURN_IF_ERROR(next->Show(workload));
      next->Pop();
    }
  }
  return total;
}

}  // namespace

absl::Status ListWorkloads(store::Store& store, const Request& request,
                           v1::GetTrialWorkloadsResponse* response) {
  DET_RETURN_IF_ERROR(store.GetBareTrial(model::TrialId(request.trial_id())).status());
  if (!request.group().empty() && request.group() != "training" &&
      request.group() != "validation") {
    return absl::InvalidArgumentError(
        absl::StrCat("group: expected training or validation, found ", request.group(),
                     "; GET /api/v1/trials/metrics/trial_metrics has the reports of other "
                     "groups"));
  }
  const bool by_steps = request.sort_key().empty() || request.sort_key() == "batches";
  DET_ASSIGN_OR_RETURN(const int total, (by_steps ? ListBySteps : ListByMetric)(
                                            store, request, response->mutable_workloads()));
  *response->mutable_pagination() =
      ToPagination(request.offset(), request.limit(), response->workloads_size(), total);
  return absl::OkStatus();
}

}  // namespace det::api
