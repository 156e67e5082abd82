#include "master/api/runtime/report_metrics.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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
  std::vector<model::MetricReport> steps;  // in the order in which they were reported first
  std::map<int64_t, size_t> places;
  for (model::MetricReport& report : reports) {
    report = store::Canonical(std::move(report));
    const auto [place, is_new] = places.emplace(report.steps_completed, steps.size());
    if (is_new) {
      steps.push_back(std::move(report));
    } else {
      merged.refused.Update(experiment::MergeReport(steps[place->second], report).status());
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

// Gets the reports that are stored, and why others are not.
using AfterWrite =
    absl::AnyInvocable<void(absl::Status refused, std::vector<model::MetricReport> stored)>;

// Writes each report alone: a report that is stored already changes nothing.
void WriteEach(store::Store& store, std::vector<model::MetricReport> reports, AfterWrite next) {
  struct State {
    std::mutex mutex;
    std::vector<absl::Status> results;
    size_t missing = 0;
    std::vector<model::MetricReport> reports;
    AfterWrite next;
  };
  const auto state = std::make_shared<State>();
  state->results.resize(reports.size());
  state->missing = reports.size();
  state->reports = reports;
  state->next = std::move(next);
  for (size_t i = 0; i < reports.size(); ++i) {
    store.AddMetrics({std::move(reports[i])}, [state, i](absl::Status written) {
      {
        const std::lock_guard lock(state->mutex);
        state->results[i] = std::move(written);
        if (--state->missing > 0) return;
      }
      absl::Status refused;
      std::vector<model::MetricReport> stored;
      for (size_t k = 0; k < state->results.size(); ++k) {
        refused.Update(state->results[k]);
        if (state->results[k].ok()) stored.push_back(std::move(state->reports[k]));
      }
      state->next(std::move(refused), std::move(stored));
    });
  }
}

// Writes the reports and merges them with stored ones. A report that changes a value is refused
// alone with INVALID_ARGUMENT. Does not block.
void Write(store::Store& store, std::vector<model::MetricReport> reports, AfterWrite next) {
  if (reports.empty()) return next(absl::OkStatus(), {});
  std::vector<model::MetricReport> written = reports;
  store.AddMetrics(std::move(written), [&store, reports = std::move(reports),
                                        next = std::move(next)](absl::Status stored) mutable {
    // The result of the write does not say which one was refused.
    if (absl::IsInvalidArgument(stored) && reports.size() > 1) {
      return WriteEach(store, std::move(reports), std::move(next));
    }
    if (!stored.ok()) reports.clear();
    next(std::move(stored), std::move(reports));
  });
}

// Stores the reports of one request; its callbacks keep it alive.
class Adding : public std::enable_shared_from_this<Adding> {
 public:
  struct Parts {
    engine::Engine& engine;
    store::Store& store;
    live::ExperimentWatch& watch;
    webhooks::TriggerWatch* triggers;  // null: there are none on metrics
    base::ThreadPool& pool;
    model::ExperimentId experiment;
    model::AllocationId allocation;
    absl::AnyInvocable<void()> on_best;
    Done done;
  };
  Adding(Parts parts, Validations validations)
      : parts_(std::move(parts)), validations_(std::move(validations)) {}

  // `bulk`: the reports that the searcher does not read.
  void Start(std::vector<model::MetricReport> bulk) {
    Write(
        parts_.store, std::move(bulk),
        [self = shared_from_this()](absl::Status refused, std::vector<model::MetricReport> stored) {
          if (self->HasFailed(refused)) return;
          self->Notify(stored);
          self->stored_ = std::move(stored);
          self->Submit();
        });
  }

 private:
  // One event for all validations: a report costs one commit, however many it contains.
  void Submit() {
    if (validations_.complete.empty()) return Finish();
    SubmitAndContinue(
        parts_.engine,
        cluster::ValidationsReported{.allocation = parts_.allocation,
                                     .reports = validations_.complete},
        [self = shared_from_this()](const engine::Applied& applied, Done done) {
          if (applied.best_so_far && self->parts_.on_best) self->parts_.on_best();
          self->parts_.done = std::move(done);
          self->Merge();
        },
        std::move(parts_.done));
  }

  // The commit skips a validation whose step another request has stored since this one has read it.
  void Merge() {
    Write(
        parts_.store, validations_.added,
        [self = shared_from_this()](absl::Status refused, std::vector<model::MetricReport> stored) {
          // If this write has failed, the commit has stored them nevertheless.
          const bool unknown = !refused.ok() && !absl::IsInvalidArgument(refused);
          self->Notify(unknown ? self->validations_.added : stored);
          if (self->HasFailed(refused)) return;
          self->TakeStored(stored);
          self->Finish();
        });
  }

  void Notify(const std::vector<model::MetricReport>& stored) {
    if (!stored.empty()) parts_.watch.MetricsArrived(parts_.experiment, stored);
  }

  // Adds the validations to those that are stored, without the refused ones of `added`.
  void TakeStored(const std::vector<model::MetricReport>& added) {
    std::set<int64_t> refused;
    for (const model::MetricReport& report : validations_.added) {
      refused.insert(report.steps_completed);
    }
    for (const model::MetricReport& report : added) refused.erase(report.steps_completed);
    for (model::MetricReport& report : validations_.complete) {
      if (!refused.contains(report.steps_completed)) stored_.push_back(std::move(report));
    }
  }

  // Ends the call if nothing more can be stored.
  bool HasFailed(const absl::Status& written) {
    if (!written.ok() && !absl::IsInvalidArgument(written)) {
      parts_.done(written);
      return true;
    }
    validations_.refused.Update(written);
    return false;
  }

  // Reports that are stored fire triggers although others are refused.
  void Finish() {
    if (parts_.triggers == nullptr) return parts_.done(std::move(validations_.refused));
    parts_.pool.Post([self = shared_from_this()] {
      absl::Status checked = self->parts_.triggers->Check(self->stored_);
      // A report that is sent again checks them again.
      self->parts_.done(checked.ok() ? std::move(self->validations_.refused) : std::move(checked));
    });
  }

  Parts parts_;
  Validations validations_;
  std::vector<model::MetricReport> stored_;
};

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
  if (triggers != nullptr && !triggers->HasMetricTriggers()) triggers = nullptr;
  std::vector<model::MetricReport> bulk;
  std::vector<model::MetricReport> reported;
  for (model::MetricReport& report : reports) {
    (report.group == kValidation ? reported : bulk).push_back(std::move(report));
  }
  absl::StatusOr<Validations> validations = MergeValidations(store, std::move(reported));
  if (!validations.ok()) return done(validations.status());
  for (model::MetricReport& report : validations->additions) bulk.push_back(std::move(report));
  std::make_shared<Adding>(Adding::Parts{engine, store, watch, triggers, pool, experiment,
                                         allocation, std::move(on_best), std::move(done)},
                           *std::move(validations))
      ->Start(std::move(bulk));
}

}  // namespace det::api
