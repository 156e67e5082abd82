#include "master/core/searcher/searcher.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "master/core/searcher/journal.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

absl::Status InvalidSearcherSnapshot(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("searcher snapshot: ", what));
}

bool IsTrue(const Value* value) {
  return value != nullptr && value->AsBool() != nullptr && *value->AsBool();
}

}  // namespace

Searcher::Searcher(const model::ExperimentConfig& config, std::unique_ptr<SearchMethod> method)
    : space_(config.hyperparameters),
      objectives_(model::Objectives(config.searcher)),
      method_(std::move(method)),
      rng_(config.experiment_seed) {}

absl::StatusOr<Searcher> Searcher::Make(const model::ExperimentConfig& config) {
  DET_ASSIGN_OR_RETURN(auto method, MakeSearchMethod(config));
  return Searcher(config, std::move(method));
}

absl::StatusOr<Searcher> Searcher::Restore(const model::ExperimentConfig& config,
                                           const Value& snapshot) {
  DET_ASSIGN_OR_RETURN(Searcher searcher, Make(config));
  const Value* rng = snapshot.Find("rng");
  const Value* method = snapshot.Find("method");
  const Value* trials = snapshot.Find("trials");
  const Value* shutdown = snapshot.Find("shutdown");
  if (rng == nullptr || rng->AsString() == nullptr || method == nullptr || trials == nullptr ||
      shutdown == nullptr) {
    return InvalidSearcherSnapshot("rng, method, trials or shutdown is missing");
  }
  DET_ASSIGN_OR_RETURN(searcher.rng_, base::Rng::FromString(*rng->AsString()));
  DET_RETURN_IF_ERROR(searcher.method_->Restore(*method));
  DET_RETURN_IF_ERROR(searcher.RestoreTrials(*trials));
  if (!shutdown->is_null()) {
    searcher.shutdown_ = Shutdown{.failed = IsTrue(shutdown->Find("failed")),
                                  .canceled = IsTrue(shutdown->Find("canceled"))};
  }
  return searcher;
}

absl::Status Searcher::RestoreTrials(const Value& trials) {
  if (trials.AsObject() == nullptr) return InvalidSearcherSnapshot("trials is not an object");
  for (const auto& [id, saved] : *trials.AsObject()) {
    LiveTrial& trial = live_[RequestId(id)];
    trial.created = IsTrue(saved.Find("created"));
    trial.paused = IsTrue(saved.Find("paused"));
    trial.stopped = IsTrue(saved.Find("stopped"));
    const Value* last = saved.Find("last_validation");
    if (last == nullptr)
      return InvalidSearcherSnapshot(absl::StrCat("trial ", id, " has no last_validation"));
    if (const int64_t* steps = last->AsInt()) trial.last_validation = *steps;
    const Value* withheld = saved.Find("withheld");
    if (withheld == nullptr) continue;
    if (withheld->AsList() == nullptr) return InvalidSearcherSnapshot("withheld is not a list");
    for (const Value& value : *withheld->AsList()) {
      DET_ASSIGN_OR_RETURN(Event event, EventFromValue(value));
      trial.withheld.push_back(std::move(event));
    }
  }
  return absl::OkStatus();
}

Value Searcher::Snapshot() const {
  Value::Object trials;
  for (const auto& [id, trial] : live_) {
    Value::Object saved{
        {"created", trial.created},
        {"last_validation", trial.last_validation ? Value(*trial.last_validation) : Value()}};
    if (trial.paused) saved["paused"] = true;
    if (trial.stopped) saved["stopped"] = true;
    Value::List withheld;
    for (const Event& event : trial.withheld) withheld.push_back(ToValue(event));
    if (!withheld.empty()) saved["withheld"] = std::move(withheld);
    trials.emplace(id.value(), std::move(saved));
  }
  Value shutdown;
  if (shutdown_) {
    shutdown = Value::Object{{"failed", shutdown_->failed}, {"canceled", shutdown_->canceled}};
  }
  return Value::Object{{"rng", rng_.ToString()},
                       {"method", method_->Snapshot()},
                       {"trials", std::move(trials)},
                       {"shutdown", std::move(shutdown)}};
}

std::vector<Operation> Searcher::Start() { return Record(method_->Start(context())); }

std::vector<Operation> Searcher::Handle(const Event& event) {
  if (const auto* created = std::get_if<TrialCreated>(&event)) return HandleCreated(*created);
  if (const auto* validation = std::get_if<ValidationReported>(&event)) {
    return HandleValidation(*validation);
  }
  if (const auto* exited = std::get_if<TrialExited>(&event)) return HandleExited(*exited);
  return Post(std::get<OperationsPosted>(event)).value_or(std::vector<Operation>());
}

absl::StatusOr<std::vector<Operation>> Searcher::Post(const OperationsPosted& event) {
  DET_ASSIGN_OR_RETURN(std::vector<Operation> operations, method_->OnPosted(context(), event));
  return Record(std::move(operations));
}

std::vector<Operation> Searcher::HandleCreated(const TrialCreated& event) {
  const auto it = live_.find(event.request);
  if (it == live_.end() || std::exchange(it->second.created, true) || shutdown_) return {};
  return Record(method_->OnTrialCreated(context(), event));
}

std::vector<Operation> Searcher::HandleValidation(const ValidationReported& event) {
  const auto it = live_.find(event.request);
  if (it == live_.end() || it->second.stopped || it->second.IsOver()) return {};
  std::optional<int64_t>& last = it->second.last_validation;
  if (last && event.steps_completed <= *last) return {};
  last = event.steps_completed;
  if (shutdown_) return {};
  if (it->second.paused) {
    it->second.withheld.emplace_back(event);
    return {};
  }
  return Record(Dispatch(event));
}

std::vector<Operation> Searcher::HandleExited(const TrialExited& event) {
  const auto it = live_.find(event.request);
  if (it == live_.end() || it->second.IsOver()) return {};
  progress_.erase(event.request);
  if (it->second.paused && !it->second.stopped && !shutdown_ && event.end == TrialEnd::kCompleted) {
    it->second.withheld.emplace_back(event);
    return {};
  }
  live_.erase(it);
  if (shutdown_) return {};
  return Record(Dispatch(event));
}

std::vector<Operation> Searcher::Dispatch(const Event& event) {
  if (const auto* validation = std::get_if<ValidationReported>(&event)) {
    return method_->OnReport(context(), MakeReport(*validation));
  }
  return method_->OnTrialExited(context(), std::get<TrialExited>(event));
}

Report Searcher::MakeReport(const ValidationReported& event) const {
  Report report{
      .request = event.request, .length = event.length, .losses = {}, .metrics = event.metrics};
  for (size_t i = 0; i < objectives_.size(); ++i) {
    const double metric = i < event.metrics.size() ? event.metrics[i] : std::nan("");
    report.losses.push_back(!std::isfinite(metric) ? std::numeric_limits<double>::infinity()
                            : objectives_[i].smaller_is_better ? metric
                                                               : -metric);
  }
  return report;
}

std::vector<Operation> Searcher::Record(std::vector<Operation> operations) {
  std::vector<Operation> accepted;
  std::deque<RequestId> unblocked;  // trials whose withheld events may be handled
  const auto accept = [&](std::vector<Operation> returned) {
    for (Operation& operation : returned) {
      const auto* stop = std::get_if<StopTrial>(&operation);
      const auto* resume = std::get_if<ResumeTrial>(&operation);
      if (stop != nullptr) unblocked.push_back(stop->request);
      if (resume != nullptr) unblocked.push_back(resume->request);
      if (Accept(operation)) accepted.push_back(std::move(operation));
    }
  };
  accept(std::move(operations));
  while (!unblocked.empty() && !shutdown_) {
    if (const std::optional<Event> event = NextWithheld(unblocked.front())) {
      accept(Dispatch(*event));
    } else {
      unblocked.pop_front();
    }
  }
  return accepted;
}

// Whether the operation has an effect: its trial is live and not being stopped.
bool Searcher::Accept(const Operation& operation) {
  DET_CHECK(!shutdown_) << "a search method returned an operation after its Shutdown";
  if (const auto* shutdown = std::get_if<Shutdown>(&operation)) {
    shutdown_ = *shutdown;
    return true;
  }
  if (const auto* create = std::get_if<CreateTrial>(&operation)) {
    DET_CHECK(live_.emplace(create->request, LiveTrial{}).second)
        << "a search method created twice the trial " << create->request;
    return true;
  }
  const auto* stop = std::get_if<StopTrial>(&operation);
  const auto* pause = std::get_if<PauseTrial>(&operation);
  const RequestId& request = stop    ? stop->request
                             : pause ? pause->request
                                     : std::get<ResumeTrial>(operation).request;
  const auto it = live_.find(request);
  if (it == live_.end() || it->second.stopped) return false;
  LiveTrial& trial = it->second;
  if (stop != nullptr) {
    trial.stopped = true;
    std::erase_if(trial.withheld,
                  [](const Event& e) { return std::holds_alternative<ValidationReported>(e); });
    return !trial.IsOver();
  }
  return std::exchange(trial.paused, pause != nullptr) != (pause != nullptr) && !trial.IsOver();
}

// Returns nothing while the trial is being paused.
std::optional<Event> Searcher::NextWithheld(const RequestId& request) {
  const auto it = live_.find(request);
  if (it == live_.end() || it->second.withheld.empty()) return std::nullopt;
  if (it->second.paused && !it->second.stopped) return std::nullopt;
  Event event = std::move(it->second.withheld.front());
  it->second.withheld.pop_front();
  if (std::holds_alternative<TrialExited>(event)) live_.erase(it);
  return event;
}

void Searcher::SetTrialProgress(const RequestId& request, double progress) {
  // Written so that NaN becomes 0.
  const double bounded = progress > 0 ? (progress < 1 ? progress : 1) : 0;
  if (live_.contains(request)) progress_[request] = bounded;
}

double Searcher::Progress() const { return shutdown_ ? 1 : method_->Progress(progress_); }

}  // namespace det::searcher
