#include "master/api/runtime/report_metrics.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {
namespace {

namespace trial = det::trial::v1;

// The name is part of an index, whose entries have a maximum size.
constexpr size_t kMaxGroupLength = 200;

absl::Status CheckReport(const std::string& group, int64_t steps_completed) {
  if (group.empty() || group.size() > kMaxGroupLength || group.find('.') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("metric group \"", group,
                                                   "\" must be a name without a dot, of at most ",
                                                   kMaxGroupLength, " bytes"));
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

// One event for all validations: a report costs one commit, however many it contains.
void SubmitValidations(engine::Engine& engine, live::ExperimentWatch& watch,
                       model::ExperimentId experiment, const model::AllocationId& allocation,
                       std::vector<model::MetricReport> reports, absl::AnyInvocable<void()> on_best,
                       Done done) {
  if (reports.empty()) return done(absl::OkStatus());
  cluster::ValidationsReported event{.allocation = allocation, .reports = reports};
  SubmitAndContinue(
      engine, std::move(event),
      [&watch, experiment, reports = std::move(reports), on_best = std::move(on_best)](
          const engine::Applied& applied, Done finish) mutable {
        watch.MetricsArrived(experiment, reports);
        if (applied.best_so_far && on_best) on_best();
        finish(absl::OkStatus());
      },
      std::move(done));
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

Done CheckTriggersAfter(webhooks::TriggerWatch* triggers, base::ThreadPool& pool,
                        const std::vector<model::MetricReport>& reports, Done done) {
  if (triggers == nullptr || !triggers->HasMetricTriggers()) return done;
  return [triggers, &pool, reports, done = std::move(done)](absl::Status stored) mutable {
    if (!stored.ok()) return done(std::move(stored));
    pool.Post([triggers, reports = std::move(reports), done = std::move(done)]() mutable {
      done(triggers->Check(reports));
    });
  };
}

void AddMetrics(engine::Engine& engine, store::Store& store, live::ExperimentWatch& watch,
                webhooks::TriggerWatch* triggers, base::ThreadPool& pool,
                model::ExperimentId experiment, const model::AllocationId& allocation,
                std::vector<model::MetricReport> reports, absl::AnyInvocable<void()> on_best,
                Done done) {
  done = CheckTriggersAfter(triggers, pool, reports, std::move(done));
  std::vector<model::MetricReport> bulk;
  std::vector<model::MetricReport> validations;
  for (model::MetricReport& report : reports) {
    (report.group == "validation" ? validations : bulk).push_back(std::move(report));
  }
  if (bulk.empty()) {
    return SubmitValidations(engine, watch, experiment, allocation, std::move(validations),
                             std::move(on_best), std::move(done));
  }
  std::vector<model::MetricReport> written = bulk;
  store.AddMetrics(std::move(written),
                   [&engine, &watch, experiment, allocation, bulk = std::move(bulk),
                    validations = std::move(validations), on_best = std::move(on_best),
                    done = std::move(done)](const absl::Status& stored) mutable {
                     if (!stored.ok()) return done(stored);
                     watch.MetricsArrived(experiment, bulk);
                     SubmitValidations(engine, watch, experiment, allocation,
                                       std::move(validations), std::move(on_best), std::move(done));
                   });
}

}  // namespace det::api
