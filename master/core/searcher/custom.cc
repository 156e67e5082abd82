#include "master/core/searcher/custom.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

const char* ToText(TrialEnd end) {
  switch (end) {
    case TrialEnd::kCompleted:
      return "completed";
    case TrialEnd::kFailed:
      return "failed";
    case TrialEnd::kInvalidHp:
      return "invalid_hp";
    case TrialEnd::kCanceled:
      return "canceled";
  }
  return "";
}

// Converts to the JSON form, so that an event is equal before and after a restart.
Value Number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

absl::Status Reject(size_t index, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("operation ", index, ": ", why));
}

// Returns the trial that must exist for the operation; nullptr if there is none.
const RequestId* About(const Operation& operation) {
  if (const auto* stop = std::get_if<StopTrial>(&operation)) return &stop->request;
  if (const auto* pause = std::get_if<PauseTrial>(&operation)) return &pause->request;
  if (const auto* resume = std::get_if<ResumeTrial>(&operation)) return &resume->request;
  return nullptr;
}

}  // namespace

std::vector<Operation> CustomSearch::Start(Context) {
  AppendEvent({{"type", "search_started"}});
  return {};
}

std::vector<Operation> CustomSearch::OnTrialCreated(Context, const TrialCreated& event) {
  AppendEvent({{"type", "trial_created"}, {"request", event.request.value()}});
  return {};
}

std::vector<Operation> CustomSearch::OnReport(Context, const Report& report) {
  Value::Object metrics;
  for (size_t i = 0; i < std::min(report.metrics.size(), options_.metrics.size()); ++i) {
    metrics.emplace(options_.metrics[i], Number(report.metrics[i]));
  }
  AppendEvent({{"type", "validation"},
               {"request", report.request.value()},
               {"length", Number(report.length)},
               {"metrics", std::move(metrics)}});
  return {};
}

std::vector<Operation> CustomSearch::OnTrialExited(Context context, const TrialExited& event) {
  Exit(trials_.at(event.request), event.end);
  return Continue(context);
}

absl::StatusOr<std::vector<Operation>> CustomSearch::OnPosted(Context context,
                                                              const OperationsPosted& post) {
  if (std::find(posts_.begin(), posts_.end(), post.id) != posts_.end()) {
    return std::vector<Operation>();
  }
  DET_RETURN_IF_ERROR(Check(post));
  posts_.push_back(post.id);
  if (posts_.size() > kRememberedPosts) posts_.pop_front();
  while (!events_.empty() && events_.front().id <= post.events_read) events_.pop_front();
  // A repeated post has no operations left to apply.
  if (shutdown_) return std::vector<Operation>();
  std::vector<Operation> operations;
  for (const Operation& operation : post.operations) Apply(operation, operations);
  for (Operation& operation : Continue(context)) operations.push_back(std::move(operation));
  return operations;
}

absl::Status CustomSearch::Check(const OperationsPosted& post) const {
  if (post.id.empty() || post.id.size() > kMaxIdLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("the id of a post has ", post.id.size(), " bytes; choose a new one of 1 to ",
                     kMaxIdLength, " for each post, and keep it when you repeat the post"));
  }
  if (post.events_read < 0 || post.events_read > last_event_) {
    return absl::InvalidArgumentError(
        absl::StrCat("events_read is ", post.events_read, "; give the id of the last event that ",
                     "you have read, from 0 (none) to ", last_event_, " (the newest)"));
  }
  if (post.operations.size() > kMaxOperations) {
    return absl::InvalidArgumentError(absl::StrCat("a post has ", post.operations.size(),
                                                   " operations; at most ", kMaxOperations,
                                                   " are allowed, post the rest next"));
  }
  std::map<RequestId, const CreateTrial*> created;
  const auto known = [&](const RequestId& request) {
    return created.contains(request) || trials_.contains(request);
  };
  bool shut_down = shutdown_.has_value();
  for (size_t i = 0; i < post.operations.size(); ++i) {
    const Operation& operation = post.operations[i];
    if (shut_down) return Reject(i, "the search is shut down; shutdown comes last, and once");
    if (const RequestId* request = About(operation); request != nullptr && !known(*request)) {
      return Reject(i, absl::StrCat("no trial \"", request->value(), "\"; create it first"));
    }
    shut_down = std::holds_alternative<Shutdown>(operation);
    const auto* create = std::get_if<CreateTrial>(&operation);
    if (create == nullptr) continue;
    const std::string& id = create->request.value();
    if (id.empty() || id.size() > kMaxIdLength || id.find('\0') != id.npos) {
      return Reject(i, absl::StrCat("the trial's request id has ", id.size(),
                                    " bytes; choose one of 1 to ", kMaxIdLength));
    }
    if (create->parent && !known(*create->parent)) {
      return Reject(i, absl::StrCat("no trial \"", create->parent->value(),
                                    "\" to be the parent of \"", id, "\"; create it first"));
    }
    const auto old = trials_.find(create->request);
    const CreateTrial* same = old != trials_.end()
                                  ? &old->second.create
                                  : created.emplace(create->request, create).first->second;
    if (*same != *create) {
      return Reject(i, absl::StrCat("trial \"", id, "\" exists with other hyperparameters, parent ",
                                    "or seed; choose another request id"));
    }
  }
  return absl::OkStatus();
}

void CustomSearch::Apply(const Operation& operation, std::vector<Operation>& operations) {
  if (const auto* create = std::get_if<CreateTrial>(&operation)) {
    Create(*create);
  } else if (const auto* stop = std::get_if<StopTrial>(&operation)) {
    Stop(trials_.at(stop->request), operations);
  } else if (const auto* pause = std::get_if<PauseTrial>(&operation)) {
    Pause(trials_.at(pause->request), operations);
  } else if (const auto* resume = std::get_if<ResumeTrial>(&operation)) {
    Resume(trials_.at(resume->request));
  } else {
    waiting_.clear();
    for (auto& [request, trial] : trials_) Stop(trial, operations);
    shutdown_ = std::get<Shutdown>(operation);
  }
}

void CustomSearch::Create(const CreateTrial& create) {
  const auto number = static_cast<int64_t>(trials_.size()) + 1;
  if (trials_.emplace(create.request, Trial{.create = create, .number = number}).second) {
    waiting_.push_back(create.request);
  }
}

void CustomSearch::Pause(Trial& trial, std::vector<Operation>& operations) {
  if (trial.exited || trial.desired != DesiredState::kRun) return;
  trial.desired = DesiredState::kPause;
  std::erase(waiting_, trial.create.request);
  if (!std::exchange(trial.running, false)) return;
  --running_;
  operations.emplace_back(PauseTrial{trial.create.request});
}

void CustomSearch::Resume(Trial& trial) {
  if (trial.exited || trial.desired != DesiredState::kPause) return;
  trial.desired = DesiredState::kRun;
  waiting_.push_back(trial.create.request);
}

void CustomSearch::Stop(Trial& trial, std::vector<Operation>& operations) {
  if (trial.exited || trial.desired == DesiredState::kStop) return;
  trial.desired = DesiredState::kStop;
  std::erase(waiting_, trial.create.request);
  if (trial.started) {
    operations.emplace_back(StopTrial{trial.create.request});
  } else {
    Exit(trial, TrialEnd::kCanceled);
  }
}

void CustomSearch::Exit(Trial& trial, TrialEnd end) {
  trial.exited = true;
  ++exited_;
  live_ -= trial.started ? 1 : 0;
  if (std::exchange(trial.running, false)) {
    --running_;
  } else {
    std::erase(waiting_, trial.create.request);
  }
  AppendEvent(
      {{"type", "trial_exited"}, {"request", trial.create.request.value()}, {"end", ToText(end)}});
}

std::vector<Operation> CustomSearch::Continue(Context context) {
  std::vector<Operation> operations;
  const int64_t limit = options_.max_concurrent_trials;
  while (!waiting_.empty() && (limit == 0 || running_ < limit)) {
    Trial& trial = trials_.at(waiting_.front());
    waiting_.pop_front();
    trial.running = true;
    ++running_;
    if (std::exchange(trial.started, true)) {
      operations.emplace_back(ResumeTrial{trial.create.request});
      continue;
    }
    ++live_;
    CreateTrial create = trial.create;
    base::Rng rng = context.rng.Split(static_cast<uint64_t>(trial.number));
    const int64_t seed = rng.UniformInt(1, std::numeric_limits<int32_t>::max());
    if (create.seed == 0) create.seed = static_cast<uint32_t>(seed);
    operations.emplace_back(std::move(create));
  }
  if (shutdown_ && live_ == 0) operations.emplace_back(*shutdown_);
  return operations;
}

void CustomSearch::AppendEvent(Value::Object description) {
  // Only the newest validation of a trial is kept while too many events are unread.
  const auto same = [&](const PendingEvent& event) {
    const Value* type = event.description.Find("type");
    const Value* request = event.description.Find("request");
    return type != nullptr && *type == description.at("type") && request != nullptr &&
           *request == description.at("request");
  };
  if (events_.size() >= kMaxUnread && description.at("type") == Value("validation")) {
    const auto older = std::find_if(events_.begin(), events_.end(), same);
    if (older != events_.end()) events_.erase(older);
  }
  events_.emplace_back(++last_event_, std::move(description));
}

std::vector<PendingEvent> CustomSearch::PendingEvents(int64_t after, size_t most) const {
  const auto first = std::partition_point(events_.begin(), events_.end(),
                                          [after](const PendingEvent& e) { return e.id <= after; });
  const auto left = static_cast<size_t>(events_.end() - first);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(most, left))};
}

double CustomSearch::Progress(const std::map<RequestId, double>&) const {
  if (trials_.empty()) return 0;
  return static_cast<double>(exited_) / static_cast<double>(trials_.size());
}

Plan CustomSearch::Preview(const model::SearchSpace&) const { return {{}}; }

}  // namespace det::searcher
