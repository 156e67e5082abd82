// Kills notebooks and TensorBoards that have not been used for their idle timeout (docs/tasks.md).
//
// The times are in memory: after a start of the master, each task counts as just used.
#ifndef MASTER_APP_IDLE_WATCH_H_
#define MASTER_APP_IDLE_WATCH_H_

#include <map>
#include <vector>

#include "absl/time/time.h"
#include "base/event_loop.h"
#include "master/core/cluster/request.h"
#include "master/core/experiment/task.h"
#include "master/engine/engine.h"
#include "master/proxy/activity.h"

namespace det::app {

class IdleWatch {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(5);

  // All must outlive the loop's last function.
  struct Parts {
    engine::Engine* engine = nullptr;
    base::EventLoop* loop = nullptr;  // the engine's
    // Requests through the proxy, and the activity that notebooks report.
    proxy::Activity* activity = nullptr;
  };
  explicit IdleWatch(const Parts& parts) : parts_(parts) {}

  // Starts the checks. Any thread; must be called once.
  void Start();
  // Returns what to kill of the tasks that live. Called on the loop.
  std::vector<cluster::KillTasks> Check(const std::vector<const experiment::Task*>& live,
                                        absl::Time now);

 private:
  void Schedule();

  const Parts parts_;
  // Since when each task is known to serve. Only on the loop.
  std::map<model::TaskId, absl::Time> ready_;
};

}  // namespace det::app

#endif  // MASTER_APP_IDLE_WATCH_H_
