// Experiments, and their trials, as all who watch them see them: read once for everybody who asks
// in the meantime, so that a hundred open pages cost the database what a few do.
//
// Made by experiment_service.cc, as a shared_ptr; any thread. What it shows is durable.
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_BOARD_H_
#define MASTER_API_EXPERIMENTS_EXPERIMENT_BOARD_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "det/api/v1/experiment.pb.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

class ExperimentBoard final : public std::enable_shared_from_this<ExperimentBoard> {
 public:
  struct Look {
    // As the streams send it: one for all of them.
    std::shared_ptr<const v1::WatchExperimentResponse> message;
    // Equal for looks that show the same; for how long it has been running, which changes without
    // any event, is not in it.
    std::string news;
  };
  using Seen = std::shared_ptr<const Look>;
  using Then = absl::AnyInvocable<void(absl::StatusOr<Seen>)>;

  ExperimentBoard(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                  const base::Clock& clock)
      : engine_(engine), store_(store), pool_(pool), clock_(clock) {}

  // As it is after this call; `then` runs on the pool.
  void Show(model::ExperimentId id, Then then) {
    Show(Shown{id, model::TrialId()}, std::move(then));
  }
  // NOT_FOUND for a trial of another experiment.
  void Show(model::ExperimentId id, model::TrialId trial, Then then) {
    Show(Shown{id, trial}, std::move(then));
  }

 private:
  // An experiment, or a trial of it.
  using Shown = std::pair<model::ExperimentId, model::TrialId>;

  void Show(const Shown& shown, Then then);
  // For those who wait; nobody else reads this one meanwhile.
  void Read(const Shown& shown);
  void Answer(const Shown& shown, std::vector<Then> waiting, absl::StatusOr<Seen> seen);

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::map<Shown, std::vector<Then>> waiting_;  // of those that are being read
};

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_EXPERIMENT_BOARD_H_
