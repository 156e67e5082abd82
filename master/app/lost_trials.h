// Ends unmanaged trials that have given no sign of life (docs/detached-mode.md), and stores the
// signs that services have recorded in memory: once a minute.
//
// Time in which no sign can have been stored does not count: before the start of the master, and
// while it could not reach the database or did not run.
#ifndef MASTER_APP_LOST_TRIALS_H_
#define MASTER_APP_LOST_TRIALS_H_

#include <map>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/core/model/ids.h"
#include "master/engine/sinks.h"
#include "master/live/life_signs.h"
#include "master/store/interfaces/store.h"

namespace det::app {

class LostTrials {
 public:
  static constexpr absl::Duration kInterval = absl::Minutes(1);

  // All must outlive the loop's last function. `experiments` and `webhooks` are called on the loop.
  struct Parts {
    store::Store* store = nullptr;
    live::LifeSigns* signs = nullptr;
    engine::ExperimentSink* experiments = nullptr;
    engine::WebhookSink* webhooks = nullptr;
    base::EventLoop* loop = nullptr;
    base::ThreadPool* pool = nullptr;  // runs the checks, which block
  };
  explicit LostTrials(const Parts& parts) : parts_(parts) {}

  // Starts the checks. Any thread; must be called once.
  void Start();
  // One check; blocks. Start() calls it on the pool, tests call it directly.
  void Check(absl::Time now);

 private:
  void Schedule();
  absl::Status CheckStore(absl::Time now);

  const Parts parts_;
  // Used by one check at a time.
  std::map<model::TrialId, absl::Time> unsaved_;
  absl::Time counted_from_;
  absl::Time checked_at_;
};

}  // namespace det::app

#endif  // MASTER_APP_LOST_TRIALS_H_
