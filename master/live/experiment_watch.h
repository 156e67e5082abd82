// Those who watch experiments, their metrics, the queue, and logs.
//
// The engine reports changes on its loop, the queue's at most once a second; the agent hub reports
// lines, and services metrics, on their threads; streams subscribe on any thread. Never reads
// anything: a subscriber looks for itself.
#ifndef MASTER_LIVE_EXPERIMENT_WATCH_H_
#define MASTER_LIVE_EXPERIMENT_WATCH_H_

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/event_loop.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/engine/sinks.h"
#include "master/live/metric_feed.h"
#include "master/live/topic.h"

namespace det::live {

class ExperimentWatch final : public engine::ExperimentSink {
 public:
  // The engine's loop, before its first news; it stops before this dies. Without it every news of
  // the queue is passed on.
  void SetLoop(base::EventLoop* loop) { loop_ = loop; }

  // The first kAtOnce changes of an experiment are passed on as they come, as its states are; one
  // that goes on changing, as the best metric of a running one does, every kChangePause.
  void Changed(model::ExperimentId id) override {
    if (loop_ == nullptr) return experiments_.Notify(id);
    if (!experiments_.IsHeard(id)) return;
    const auto [pace, fresh] = paces_.try_emplace(id);
    if (fresh) Tick(id);
    if (pace->second.at_once == 0) {
      pace->second.due = true;
      return;
    }
    --pace->second.at_once;
    experiments_.Notify(id);
  }

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

  // These metrics of the experiment's trials were stored. Passed on within kMetricsPause, all that
  // come until then as one.
  void MetricsArrived(model::ExperimentId id, absl::Span<const model::MetricReport> reports) {
    feed_.Add(id, reports);
    if (!metrics_.IsHeard(id)) return;
    if (loop_ == nullptr) return TellOfMetrics(id);
    {
      std::lock_guard lock(mutex_);
      if (!due_.insert(id).second) return;
    }
    loop_->Post([this, id] {
      loop_->PostAt(loop_->Now() + kMetricsPause, [this, id] {
        {
          std::lock_guard lock(mutex_);
          due_.erase(id);
        }
        TellOfMetrics(id);
      });
    });
  }

  // What is told of an experiment's metrics is kept from the first who opens it (after he has
  // subscribed) until kKept after the last has closed it.
  MetricFeed& feed() { return feed_; }
  void CloseFeed(model::ExperimentId id) {
    feed_.Close(id);
    if (loop_ == nullptr) return feed_.Drop(id);
    loop_->Post([this, id] { loop_->PostAfter(kKept, [this, id] { feed_.Drop(id); }); });
  }

  // Lines of this task were stored.
  void LogsArrived(const model::TaskId& task) { logs_.Notify(task); }

  Topic<model::ExperimentId>& experiments() { return experiments_; }
  Topic<model::ExperimentId>& metrics() { return metrics_; }
  // Who waits, or why: of interest to those who show somebody that waits.
  Topic<std::monostate>& queue() { return queue_; }
  Topic<model::TaskId>& logs() { return logs_; }

 private:
  static constexpr int kAtOnce = 8;
  static constexpr absl::Duration kChangePause = absl::Milliseconds(500);
  static constexpr absl::Duration kPause = absl::Seconds(1);
  static constexpr absl::Duration kMetricsPause = absl::Milliseconds(300);
  static constexpr absl::Duration kKept = absl::Minutes(1);

  void TellOfMetrics(model::ExperimentId id) {
    feed_.Seal(id);
    metrics_.Notify(id);
  }

  // How often an experiment has changed of late; each pause without a change is one more at once.
  struct Pace {
    int at_once = kAtOnce;
    bool due = false;  // a change waits
  };
  void Tick(model::ExperimentId id) {
    loop_->PostAfter(kChangePause, [this, id] {
      const auto it = paces_.find(id);
      const bool due = std::exchange(it->second.due, false);
      if (!due && ++it->second.at_once >= kAtOnce) {
        paces_.erase(it);
        return;
      }
      Tick(id);
      if (due) experiments_.Notify(id);
    });
  }

  Topic<model::ExperimentId> experiments_;
  Topic<model::ExperimentId> metrics_;
  MetricFeed feed_;
  Topic<std::monostate> queue_;
  Topic<model::TaskId> logs_;

  std::mutex mutex_;
  std::set<model::ExperimentId> due_;  // metrics whose news are on their way

  // Touched on the loop alone.
  base::EventLoop* loop_ = nullptr;
  std::optional<base::TimerId> next_;
  absl::Time last_ = absl::InfinitePast();
  std::map<model::ExperimentId, Pace> paces_;  // of those that have changed of late
};

}  // namespace det::live

#endif  // MASTER_LIVE_EXPERIMENT_WATCH_H_
