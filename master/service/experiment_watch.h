// Those who watch experiments, the queue, and logs.
//
// The engine reports changes on its loop, the queue's at most once a second; the agent hub reports
// lines on its threads; streams subscribe on any thread. Never reads anything: a subscriber looks
// for itself.
#ifndef MASTER_SERVICE_EXPERIMENT_WATCH_H_
#define MASTER_SERVICE_EXPERIMENT_WATCH_H_

#include <algorithm>
#include <optional>
#include <variant>

#include "absl/time/time.h"
#include "base/event_loop.h"
#include "master/engine/sinks.h"
#include "master/model/ids.h"
#include "master/service/topic.h"

namespace det::service {

class ExperimentWatch final : public engine::ExperimentSink {
 public:
  // The engine's loop, before its first news; it stops before this dies. Without it every news of
  // the queue is passed on.
  void SetLoop(base::EventLoop* loop) { loop_ = loop; }

  void Changed(model::ExperimentId id) override { experiments_.Notify(id); }

  void QueueChanged() override {
    if (loop_ == nullptr) return queue_.Notify({});
    if (next_) return;
    const absl::Time now = loop_->Now();
    next_ = loop_->PostAt(std::max(now, last_ + kPause), [this] {
      next_.reset();
      last_ = loop_->Now();
      queue_.Notify({});
    });
  }

  // Lines of this task were stored.
  void LogsArrived(const model::TaskId& task) { logs_.Notify(task); }

  Topic<model::ExperimentId>& experiments() { return experiments_; }
  // Who waits, or why: of interest to those who show somebody that waits.
  Topic<std::monostate>& queue() { return queue_; }
  Topic<model::TaskId>& logs() { return logs_; }

 private:
  static constexpr absl::Duration kPause = absl::Seconds(1);

  Topic<model::ExperimentId> experiments_;
  Topic<std::monostate> queue_;
  Topic<model::TaskId> logs_;

  // Touched on the loop alone.
  base::EventLoop* loop_ = nullptr;
  std::optional<base::TimerId> next_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace det::service

#endif  // MASTER_SERVICE_EXPERIMENT_WATCH_H_
