#include "master/api/experiments/experiment_board.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "master/api/common/serialize.h"
#include "master/api/experiments/read_experiment.h"

namespace det::api {
namespace {

// `message` shows one thing, whose `duration` is no news.
ExperimentBoard::Seen MakeLook(v1::WatchExperimentResponse message) {
  auto look = std::make_shared<ExperimentBoard::Look>();
  look->message = std::make_shared<v1::WatchExperimentResponse>(message);
  if (message.has_experiment()) message.mutable_experiment()->clear_duration();
  if (message.has_trial()) message.mutable_trial()->clear_wall_clock_time();
  look->news = SerializeDeterministically(message);
  return look;
}

absl::StatusOr<ExperimentBoard::Seen> LookAt(absl::StatusOr<v1::Experiment> experiment) {
  if (!experiment.ok()) return experiment.status();
  v1::WatchExperimentResponse message;
  *message.mutable_experiment() = *std::move(experiment);
  return MakeLook(std::move(message));
}

absl::StatusOr<ExperimentBoard::Seen> LookAt(model::ExperimentId id,
                                             absl::StatusOr<v1::Trial> trial) {
  if (!trial.ok()) return trial.status();
  if (trial->experiment_id() != id.value()) {
    return absl::NotFoundError(
        absl::StrCat("experiment ", id.value(), " has no trial ", trial->id()));
  }
  v1::WatchExperimentResponse message;
  *message.mutable_trial() = *std::move(trial);
  return MakeLook(std::move(message));
}

}  // namespace

void ExperimentBoard::Show(const Shown& shown, Then then) {
  {
    std::lock_guard lock(mutex_);
    const auto [it, fresh] = waiting_.try_emplace(shown);
    it->second.push_back(std::move(then));
    if (!fresh) return;  // Read() goes on until nobody waits.
  }
  Read(shown);
}

void ExperimentBoard::Read(const Shown& shown) {
  std::vector<Then> waiting;
  {
    std::lock_guard lock(mutex_);
    const auto it = waiting_.find(shown);
    waiting.swap(it->second);
    if (waiting.empty()) {
      waiting_.erase(it);
      return;
    }
  }
  if (shown.second != model::TrialId()) {
    return ReadTrial(engine_, store_, pool_, clock_, shown.second,
                     [self = shared_from_this(), shown,
                      waiting = std::move(waiting)](absl::StatusOr<v1::Trial> trial) mutable {
                       self->Answer(shown, std::move(waiting),
                                    LookAt(shown.first, std::move(trial)));
                     });
  }
  ReadFull(engine_, store_, pool_, clock_, shown.first,
           [self = shared_from_this(), shown,
            waiting = std::move(waiting)](absl::StatusOr<v1::Experiment> experiment) mutable {
             self->Answer(shown, std::move(waiting), LookAt(std::move(experiment)));
           });
}

void ExperimentBoard::Answer(const Shown& shown, std::vector<Then> waiting,
                             absl::StatusOr<Seen> seen) {
  for (Then& then : waiting) then(seen);
  Read(shown);
}

}  // namespace det::api
