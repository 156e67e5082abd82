#include "master/api/runtime/report_metrics.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {
namespace {

namespace trial = det::trial::v1;

// The name is part of an index, whose entries are bounded.
constexpr size_t kGroupLimit = 200;

absl::Status CheckReport(const std::string& group, int64_t steps_completed) {
  if (group.empty() || group.size() > kGroupLimit || group.find('.') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("metric group \"", group,
                                                   "\" must be a name without a dot, of at most ",
                                                   kGroupLimit, " bytes"));
  }
  if (steps_completed < 0) {
    return absl::InvalidArgumentError("steps_completed must not be negative");
  }
  return absl::OkStatus();
}

absl::StatusOr<model::MetricReport> ToModel(const trial::ReportMetricsRequest& request,
                                            const trial::MetricReport& report, absl::Time now) {
  DET_RETURN_IF_ERROR(CheckReport(report.group(), report.steps_completed()));
  model::MetricReport out;
  out.trial = model::TrialId(request.trial_id());
  out.run_id = request.trial_run_id();
  out.group = report.group();
  out.steps_completed = report.steps_completed();
  out.time = report.has_report_time() ? FromProto(report.report_time()) : now;
  out.metrics = FromStruct(report.metrics(), Numbers::kDoubles);
  if (report.batch_metrics_size() > 0) {
    model::Value::List batches;
    for (const auto& batch : report.batch_metrics()) {
      batches.push_back(FromStruct(batch, Numbers::kDoubles));
    }
    out.batch_metrics = std::move(batches);
  }
  return out;
}

// Webhooks may want to hear of what was stored, before the sender is answered.
Done LookAfterwards(const Edge& edge, std::vector<model::MetricReport> reports, Done done) {
  return
      [&edge, reports = std::move(reports), done = std::move(done)](absl::Status stored) mutable {
        if (!stored.ok()) return done(std::move(stored));
        // The engine's answers come on its loop, which must not wait.
        edge.pool->Post([&edge, reports = std::move(reports), done = std::move(done)]() mutable {
          done(edge.webhooks->Look(reports));
        });
      };
}

void SubmitValidations(const Edge& edge, model::ExperimentId experiment,
                       const model::AllocationId& id, std::vector<model::MetricReport> reports,
                       size_t next, std::function<void(bool)> best_so_far, Done done) {
  if (next == reports.size()) return done(absl::OkStatus());
  cluster::ValidationReported event{.allocation = id, .report = reports[next]};
  edge.engine->Submit(
      std::move(event), [&edge, experiment, id, reports = std::move(reports), next,
                         best_so_far = std::move(best_so_far), done = std::move(done)](
                            const absl::StatusOr<engine::Applied>& applied) mutable {
        if (!applied.ok()) return done(applied.status());
        edge.watch->MetricsArrived(experiment, absl::MakeConstSpan(&reports[next], 1));
        if (applied->best_so_far && best_so_far) best_so_far(true);
        SubmitValidations(edge, experiment, id, std::move(reports), next + 1,
                          std::move(best_so_far), std::move(done));
      });
}

}  // namespace

absl::StatusOr<std::vector<model::MetricReport>> ToReports(
    const trial::ReportMetricsRequest& request, absl::Time now) {
  std::vector<model::MetricReport> reports;
  for (const trial::MetricReport& report : request.reports()) {
    DET_ASSIGN_OR_RETURN(model::MetricReport converted, ToModel(request, report, now));
    reports.push_back(std::move(converted));
  }
  return reports;
}

void AddMetrics(const Edge& edge, model::ExperimentId experiment,
                const model::AllocationId& allocation, std::vector<model::MetricReport> reports,
                std::function<void(bool)> best_so_far, Done done) {
  if (edge.webhooks != nullptr && edge.webhooks->WantsMetrics()) {
    done = LookAfterwards(edge, reports, std::move(done));
  }
  std::vector<model::MetricReport> bulk;
  std::vector<model::MetricReport> validations;
  for (model::MetricReport& report : reports) {
    (report.group == "validation" ? validations : bulk).push_back(std::move(report));
  }
  if (!bulk.empty()) {
    const absl::Status stored = edge.store->AddMetrics(bulk);
    if (!stored.ok()) return done(stored);
    edge.watch->MetricsArrived(experiment, bulk);
  }
  SubmitValidations(edge, experiment, allocation, std::move(validations), 0, std::move(best_so_far),
                    std::move(done));
}

}  // namespace det::api
