// Snapshots of custom searches.
#include <algorithm>
#include <deque>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/searcher/custom.h"
#include "master/core/searcher/snapshot.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

constexpr const char* kDesiredStates[] = {"run", "pause", "stop"};

absl::StatusOr<std::deque<std::string>> ReadTexts(const Value& from, const char* name) {
  DET_ASSIGN_OR_RETURN(const Value::List* list, ReadList(from, name));
  std::deque<std::string> texts;
  for (const Value& value : *list) {
    if (value.AsString() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("searcher snapshot: ", name, " contains a value that is not a string"));
    }
    texts.push_back(*value.AsString());
  }
  return texts;
}

}  // namespace

Value CustomSearch::Snapshot() const {
  Value::List trials, waiting, events;
  for (const auto& [request, trial] : trials_) {
    trials.emplace_back(Value::Object{
        {"request", request.value()},
        {"seed", static_cast<int64_t>(trial.create.seed)},
        {"hparams", trial.create.hparams},
        {"parent", trial.create.parent ? Value(trial.create.parent->value()) : Value()},
        {"number", trial.number},
        {"wish", kDesiredStates[static_cast<size_t>(trial.desired)]},
        {"started", trial.started},
        {"running", trial.running},
        {"exited", trial.exited}});
  }
  for (const RequestId& request : waiting_) waiting.emplace_back(request.value());
  for (const PendingEvent& event : events_) events.push_back(event.description);
  Value shutdown;
  if (shutdown_) {
    shutdown = Value::Object{{"failed", shutdown_->failed}, {"canceled", shutdown_->canceled}};
  }
  return Value::Object{{"trials", std::move(trials)},
                       {"waiting", std::move(waiting)},
                       {"events", std::move(events)},
                       {"last_event", last_event_},
                       {"posts", Value::List(posts_.begin(), posts_.end())},
                       {"shutdown", std::move(shutdown)}};
}

absl::Status CustomSearch::RestoreTrial(const Value& saved) {
  Trial trial;
  DET_ASSIGN_OR_RETURN(const std::string request, ReadText(saved, "request"));
  trial.create.request = RequestId(request);
  DET_ASSIGN_OR_RETURN(const int64_t seed, ReadCount(saved, "seed"));
  trial.create.seed = static_cast<uint32_t>(seed);
  DET_ASSIGN_OR_RETURN(const Value::Object* hparams, ReadObject(saved, "hparams"));
  trial.create.hparams = *hparams;
  if (const Value* parent = saved.Find("parent"); parent != nullptr && parent->AsString()) {
    trial.create.parent = RequestId(*parent->AsString());
  }
  DET_ASSIGN_OR_RETURN(trial.number, ReadCount(saved, "number"));
  DET_ASSIGN_OR_RETURN(const std::string desired, ReadText(saved, "wish"));
  const auto known = std::find(std::begin(kDesiredStates), std::end(kDesiredStates), desired);
  if (known == std::end(kDesiredStates)) {
    return absl::InvalidArgumentError(
        absl::StrCat("searcher snapshot: the desired state of trial ", request, " is ", desired));
  }
  trial.desired = static_cast<DesiredState>(known - std::begin(kDesiredStates));
  DET_ASSIGN_OR_RETURN(trial.started, ReadBool(saved, "started"));
  DET_ASSIGN_OR_RETURN(trial.running, ReadBool(saved, "running"));
  DET_ASSIGN_OR_RETURN(trial.exited, ReadBool(saved, "exited"));
  running_ += trial.running ? 1 : 0;
  exited_ += trial.exited ? 1 : 0;
  live_ += trial.started && !trial.exited ? 1 : 0;
  trials_.emplace(trial.create.request, std::move(trial));
  return absl::OkStatus();
}

absl::Status CustomSearch::RestoreEvents(const Value& snapshot) {
  DET_ASSIGN_OR_RETURN(last_event_, ReadCount(snapshot, "last_event"));
  DET_ASSIGN_OR_RETURN(const Value::List* events, ReadList(snapshot, "events"));
  int64_t id = last_event_ - static_cast<int64_t>(events->size());
  for (const Value& description : *events) events_.emplace_back(++id, description);
  return absl::OkStatus();
}

absl::Status CustomSearch::Restore(const Value& snapshot) {
  CustomSearch restored(options_);
  DET_ASSIGN_OR_RETURN(const Value::List* trials, ReadList(snapshot, "trials"));
  for (const Value& saved : *trials) DET_RETURN_IF_ERROR(restored.RestoreTrial(saved));
  DET_ASSIGN_OR_RETURN(const std::deque<std::string> waiting, ReadTexts(snapshot, "waiting"));
  for (const std::string& request : waiting) {
    if (!restored.trials_.contains(RequestId(request))) {
      return absl::InvalidArgumentError(
          absl::StrCat("searcher snapshot: ", request, " waits, but is not a trial"));
    }
    restored.waiting_.emplace_back(request);
  }
  DET_RETURN_IF_ERROR(restored.RestoreEvents(snapshot));
  DET_ASSIGN_OR_RETURN(restored.posts_, ReadTexts(snapshot, "posts"));
  const Value* shutdown = snapshot.Find("shutdown");
  if (shutdown != nullptr && !shutdown->is_null()) {
    Shutdown result;
    DET_ASSIGN_OR_RETURN(result.failed, ReadBool(*shutdown, "failed"));
    DET_ASSIGN_OR_RETURN(result.canceled, ReadBool(*shutdown, "canceled"));
    restored.shutdown_ = result;
  }
  *this = std::move(restored);
  return absl::OkStatus();
}

}  // namespace det::searcher
