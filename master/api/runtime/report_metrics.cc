#include "master/api/runtime/report_metrics.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/core/experiment/merge_report.h"
#include "master/store/interfaces/canonical.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {
namespace {

namespace trial = det::trial::v1;

constexpr char kValidation[] = "validation";

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

// Reads the stored validations of one trial.
class StoredValidations {
 public:
  StoredValidations(store::Store& store, model::TrialId trial) : store_(store), trial_(trial) {}

  // Returns the validation of the same attempt and step; nullopt if there is none. Validations that
  // were reported in order, and none of them before, cost one read.
  absl::StatusOr<std::optional<model::MetricReport>> Find(const model::MetricReport& report) {
    const int64_t steps = report.steps_completed;
    if (!read_from_ || steps < *read_from_ || (next_ && next_->steps_completed < steps)) {
      DET_ASSIGN_OR_RETURN(
          const std::vector<model::MetricReport> found,
          store_.ReadMetrics({.trials = {trial_},
                              .group = kValidation,
                              .after = store::MetricQuery::Position{trial_, kValidation, steps - 1},
                              .limit = 1}));
      next_ = found.empty() ? std::nullopt : std::optional(found.front());
      read_from_ = steps;
    }
    // Only the newest attempt's report of a step is read. An older attempt's is never displayed.
    if (!next_ || next_->steps_completed != steps || next_->run_id != report.run_id) {
      return std::nullopt;
    }
    return next_;
  }

 private:
  store::Store& store_;
  const model::TrialId trial_;
  std::optional<int64_t> read_from_;
  std::optional<model::MetricReport> next_;  // the first one from `read_from_` on; unset: none
};

// The validations of a request. A validation whose step was reported before adds its metrics.
struct Validations {
  std::vector<model::MetricReport> complete;   // with what is stored; one for each step
  std::vector<model::MetricReport> added;      // those of steps that are not stored yet
  std::vector<model::MetricReport> additions;  // those that add metrics to stored ones
  absl::Status refused;  // INVALID_ARGUMENT of the first one that changes a value
};

// Merges validations of one trial with each other and with the stored ones.
absl::StatusOr<Validations> MergeValidations(store::Store& store,
                                             std::vector<model::MetricReport> reports) {
  Validations merged;
  std::vector<model::MetricReport> steps;
  for (model::MetricReport& report : reports) {
    report = store::Canonical(std::move(report));
    const auto same = std::find_if(steps.begin(), steps.end(), [&](const auto& other) {
      return other.steps_completed == report.steps_completed;
    });
    if (same == steps.end()) {
      steps.push_back(std::move(report));
    } else {
      merged.refused.Update(experiment::MergeReport(*same, report).status());
    }
  }
  if (steps.empty()) return merged;
  StoredValidations stored(store, steps.front().trial);
  for (model::MetricReport& report : steps) {
    DET_ASSIGN_OR_RETURN(std::optional<model::MetricReport> complete, stored.Find(report));
    if (!complete) {
      merged.complete.push_back(report);
      merged.added.push_back(std::move(report));
      continue;
    }
    const bool adds_batches = complete->batch_metrics.is_null() && !report.batch_metrics.is_null();
    const absl::StatusOr<model::Value> metrics = experiment::MergeReport(*complete, report);
    merged.refused.Update(metrics.status());
    if (!metrics.ok()) continue;
    merged.complete.push_back(*std::move(complete));
    if (adds_batches || !metrics->AsObject()->empty())
      merged.additions.push_back(std::move(report));
  }
  return merged;
}

// One event for all validations: a report costs one commit, however many it contains.
void SubmitValidations(engine::Engine& engine, live::ExperimentWatch& watch,
                       model::ExperimentId experiment, const model::AllocationId& allocation,
                       Validations validations, absl::AnyInvocable<void()> on_best, Done done) {
  if (validations.complete.empty()) return done(std::move(validations.refused));
  SubmitAndContinue(
      engine,
      cluster::ValidationsReported{.allocation = allocation,
                                   .reports = std::move(validations.complete)},
      [&watch, experiment, added = std::move(validations.added),
       refused = std::move(validations.refused),
       on_best = std::move(on_best)](const engine::Applied& applied, Done finish) mutable {
        watch.MetricsArrived(experiment, added);
        if (applied.best_so_far && on_best) on_best();
        finish(std::move(refused));
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
  std::vector<model::MetricReport> reported;
  for (model::MetricReport& report : reports) {
    (report.group == kValidation ? reported : bulk).push_back(std::move(report));
  }
  absl::StatusOr<Validations> validations = MergeValidations(store, std::move(reported));
  if (!validations.ok()) return done(validations.status());
  for (model::MetricReport& report : validations->additions) bulk.push_back(std::move(report));
  if (bulk.empty()) {
    return SubmitValidations(engine, watch, experiment, allocation, *std::move(validations),
                             std::move(on_best), std::move(done));
  }
  std::vector<model::MetricReport> written = bulk;
  store.AddMetrics(std::move(written),
                   [&engine, &watch, experiment, allocation, bulk = std::move(bulk),
                    validations = *std::move(validations), on_best = std::move(on_best),
                    done = std::move(done)](const absl::Status& stored) mutable {
                     // A report that changes a value is refused alone; the others of the request
                     // are stored.
                     if (!stored.ok() && !absl::IsInvalidArgument(stored)) return done(stored);
                     if (stored.ok()) watch.MetricsArrived(experiment, bulk);
                     validations.refused.Update(stored);
                     SubmitValidations(engine, watch, experiment, allocation,
                                       std::move(validations), std::move(on_best), std::move(done));
                   });
}

}  // namespace det::api
