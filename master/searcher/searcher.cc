#include "master/searcher/searcher.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

absl::Status BadSnapshot(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("searcher snapshot: ", what));
}

bool IsTrue(const Value* value) {
  return value != nullptr && value->AsBool() != nullptr && *value->AsBool();
}

}  // namespace

Searcher::Searcher(model::SearchSpace space, std::unique_ptr<SearchMethod> method, base::Rng rng)
    : space_(std::move(space)), method_(std::move(method)), rng_(rng) {}

absl::StatusOr<Searcher> Searcher::Make(const model::ExperimentConfig& config) {
  DET_ASSIGN_OR_RETURN(auto method, MakeSearchMethod(config.searcher));
  return Searcher(config.hyperparameters, std::move(method), base::Rng(config.experiment_seed));
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
    return BadSnapshot("rng, method, trials or shutdown is missing");
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
  if (trials.AsObject() == nullptr) return BadSnapshot("trials is no object");
  for (const auto& [id, saved] : *trials.AsObject()) {
    LiveTrial& trial = live_[RequestId(id)];
    trial.created = IsTrue(saved.Find("created"));
    const Value* last = saved.Find("last_validation");
    if (last == nullptr) return BadSnapshot(absl::StrCat("trial ", id, " has no last_validation"));
    if (const int64_t* steps = last->AsInt()) trial.last_validation = *steps;
  }
  return absl::OkStatus();
}

Value Searcher::Snapshot() const {
  Value::Object trials;
  for (const auto& [id, trial] : live_) {
    trials.emplace(id.value(), Value::Object{{"created", trial.created},
                                             {"last_validation", trial.last_validation
                                                                     ? Value(*trial.last_validation)
                                                                     : Value()}});
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

std::vector<Operation> Searcher::Start() {
  return Record(method_->Start(Context{.space = space_, .rng = rng_}));
}

std::vector<Operation> Searcher::Handle(const Event& event) {
  const RequestId& request =
      std::visit([](const auto& e) -> const RequestId& { return e.request; }, event);
  const auto it = live_.find(request);
  if (it == live_.end()) return {};
  if (std::holds_alternative<TrialCreated>(event)) {
    if (std::exchange(it->second.created, true)) return {};
  } else if (const auto* validation = std::get_if<ValidationReported>(&event)) {
    std::optional<int64_t>& last = it->second.last_validation;
    if (last && validation->steps_completed <= *last) return {};
    last = validation->steps_completed;
  } else {
    progress_.erase(request);
    live_.erase(it);
  }
  if (shutdown_) return {};
  return Record(Dispatch(event));
}

std::vector<Operation> Searcher::Dispatch(const Event& event) {
  const Context context{.space = space_, .rng = rng_};
  if (const auto* created = std::get_if<TrialCreated>(&event)) {
    return method_->OnTrialCreated(context, *created);
  }
  if (const auto* validation = std::get_if<ValidationReported>(&event)) {
    return method_->OnValidation(context, *validation);
  }
  return method_->OnTrialExited(context, std::get<TrialExited>(event));
}

std::vector<Operation> Searcher::Record(std::vector<Operation> operations) {
  for (const Operation& operation : operations) {
    DET_CHECK(!shutdown_) << "a search method asked for more after its Shutdown";
    if (const auto* create = std::get_if<CreateTrial>(&operation)) {
      DET_CHECK(live_.emplace(create->request, LiveTrial{}).second)
          << "a search method asked twice for trial " << create->request;
    } else if (const auto* shutdown = std::get_if<Shutdown>(&operation)) {
      shutdown_ = *shutdown;
    }
  }
  return operations;
}

void Searcher::SetTrialProgress(const RequestId& request, double progress) {
  // Written so that NaN becomes 0.
  const double bounded = progress > 0 ? (progress < 1 ? progress : 1) : 0;
  if (live_.contains(request)) progress_[request] = bounded;
}

double Searcher::Progress() const { return shutdown_ ? 1 : method_->Progress(progress_); }

}  // namespace det::searcher
