#include "master/api/experiments/shared_experiment_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "master/api/common/serialize.h"
#include "master/api/experiments/read_experiment.h"

namespace det::api {
namespace {

ExperimentViewPtr MakeView(v1::WatchExperimentResponse message) {
  auto view = std::make_shared<ExperimentView>();
  view->message = std::make_shared<v1::WatchExperimentResponse>(message);
  if (message.has_experiment()) message.mutable_experiment()->clear_duration();
  if (message.has_trial()) message.mutable_trial()->clear_wall_clock_time();
  view->fingerprint = SerializeDeterministically(message);
  return view;
}

absl::StatusOr<ExperimentViewPtr> ToView(absl::StatusOr<v1::Experiment> experiment) {
  if (!experiment.ok()) return experiment.status();
  v1::WatchExperimentResponse message;
  *message.mutable_experiment() = *std::move(experiment);
  return MakeView(std::move(message));
}

absl::StatusOr<ExperimentViewPtr> ToView(model::ExperimentId id, absl::StatusOr<v1::Trial> trial) {
  if (!trial.ok()) return trial.status();
  if (trial->experiment_id() != id.value()) {
    return absl::NotFoundError(
        absl::StrCat("experiment ", id.value(), " has no trial ", trial->id()));
  }
  v1::WatchExperimentResponse message;
  *message.mutable_trial() = *std::move(trial);
  return MakeView(std::move(message));
}

}  // namespace

void SharedExperimentReader::Read(const Key& key, Then then) {
  {
    std::lock_guard lock(mutex_);
    const auto [it, inserted] = waiting_.try_emplace(key);
    it->second.push_back(std::move(then));
    if (!inserted) return;  // ReadForWaiting() reads again until nobody waits.
  }
  ReadForWaiting(key);
}

void SharedExperimentReader::ReadForWaiting(const Key& key) {
  std::vector<Then> waiting;
  {
    std::lock_guard lock(mutex_);
    const auto it = waiting_.find(key);
    waiting.swap(it->second);
    if (waiting.empty()) {
      waiting_.erase(it);
      return;
    }
  }
  if (key.second != model::TrialId()) {
    return ReadTrial(engine_, store_, pool_, clock_, key.second,
                     [self = shared_from_this(), key,
                      waiting = std::move(waiting)](absl::StatusOr<v1::Trial> trial) mutable {
                       self->Deliver(key, std::move(waiting), ToView(key.first, std::move(trial)));
                     });
  }
  ReadExperiment(engine_, store_, pool_, clock_, key.first,
                 [self = shared_from_this(), key,
                  waiting = std::move(waiting)](absl::StatusOr<v1::Experiment> experiment) mutable {
                   self->Deliver(key, std::move(waiting), ToView(std::move(experiment)));
                 });
}

void SharedExperimentReader::Deliver(const Key& key, std::vector<Then> waiting,
                                     absl::StatusOr<ExperimentViewPtr> view) {
  for (Then& then : waiting) then(view);
  ReadForWaiting(key);
}

}  // namespace det::api
