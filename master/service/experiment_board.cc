#include "master/service/experiment_board.h"

#include <utility>

#include "master/service/read_experiment.h"
#include "master/service/serialized.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

ExperimentBoard::Seen MakeLook(api::Experiment experiment) {
  auto look = std::make_shared<ExperimentBoard::Look>();
  auto message = std::make_shared<api::WatchExperimentResponse>();
  *message->mutable_experiment() = experiment;
  look->message = std::move(message);
  experiment.clear_duration();
  look->news = Serialized(experiment);
  return look;
}

}  // namespace

void ExperimentBoard::Show(model::ExperimentId id, Then then) {
  {
    std::lock_guard lock(mutex_);
    const auto [it, fresh] = waiting_.try_emplace(id);
    it->second.push_back(std::move(then));
    if (!fresh) return;  // Read() goes on until nobody waits.
  }
  Read(id);
}

void ExperimentBoard::Read(model::ExperimentId id) {
  std::vector<Then> waiting;
  {
    std::lock_guard lock(mutex_);
    const auto it = waiting_.find(id);
    waiting.swap(it->second);
    if (waiting.empty()) {
      waiting_.erase(it);
      return;
    }
  }
  ReadFull(edge_, id,
           [self = shared_from_this(), id,
            waiting = std::move(waiting)](absl::StatusOr<api::Experiment> experiment) mutable {
             absl::StatusOr<Seen> seen =
                 experiment.ok() ? absl::StatusOr<Seen>(MakeLook(*std::move(experiment)))
                                 : absl::StatusOr<Seen>(experiment.status());
             for (Then& then : waiting) then(seen);
             self->Read(id);
           });
}

}  // namespace det::service
