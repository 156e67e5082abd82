// SharedExperimentReader: reads an experiment or trial once for all streams that request it during
// the previous read, so that a hundred open pages cost the database as much as a few.
//
// Owned by the experiment service as a shared_ptr. Any thread. Returns only durable state.
#ifndef MASTER_API_EXPERIMENTS_SHARED_EXPERIMENT_READER_H_
#define MASTER_API_EXPERIMENTS_SHARED_EXPERIMENT_READER_H_

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

// One state of an experiment or trial.
struct ExperimentView {
  // The message for the streams; all share it.
  std::shared_ptr<const v1::WatchExperimentResponse> message;
  // The serialized message without its durations, which change without an event. Two views with the
  // same content have the same fingerprint.
  std::string fingerprint;
};
using ExperimentViewPtr = std::shared_ptr<const ExperimentView>;

class SharedExperimentReader final : public std::enable_shared_from_this<SharedExperimentReader> {
 public:
  using Then = absl::AnyInvocable<void(absl::StatusOr<ExperimentViewPtr>)>;

  SharedExperimentReader(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                         const base::Clock& clock)
      : engine_(engine), store_(store), pool_(pool), clock_(clock) {}

  // Reads a state not older than this call. `then` runs on the pool.
  void Read(model::ExperimentId id, Then then) { Read(Key{id, model::TrialId()}, std::move(then)); }
  // Reads a state of a trial that is not older than this call. NOT_FOUND if it belongs to another
  // experiment.
  void Read(model::ExperimentId id, model::TrialId trial, Then then) {
    Read(Key{id, trial}, std::move(then));
  }

 private:
  // An experiment, or one of its trials.
  using Key = std::pair<model::ExperimentId, model::TrialId>;

  void Read(const Key& key, Then then);
  // Reads for all that wait now, and again until nobody waits. Only one read per key is running.
  void ReadForWaiting(const Key& key);
  void Deliver(const Key& key, std::vector<Then> waiting, absl::StatusOr<ExperimentViewPtr> view);

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::map<Key, std::vector<Then>> waiting_;  // has an entry for each key that is being read
};

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_SHARED_EXPERIMENT_READER_H_
