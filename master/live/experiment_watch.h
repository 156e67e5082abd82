// ExperimentWatch: notifies subscribers of changed experiments, metrics, the queue, and logs.
//
// The engine reports changes of experiments and of the queue on its loop. The agent hub reports log
// lines, and services report metrics, on their own threads. Streams subscribe on any thread. The
// watch reads nothing from the store: a notified subscriber reads the new state itself.
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
  // Sets the engine's loop. Call it before the engine notifies; the loop must stop before this
  // object is destroyed. Without a loop no notification is delayed or combined.
  void SetLoop(base::EventLoop* loop) { loop_ = loop; }

  // Notifies at once of up to kMaxBurst changes of an experiment, so that changes of its state are
  // shown immediately. Combines further changes, such as new best metrics of a running experiment,
  // into one notification per kChangeInterval.
  void Changed(model::ExperimentId id) override {
    if (loop_ == nullptr) return experiments_.Notify(id);
    if (!experiments_.HasSubscribers(id)) return;
    const auto [bucket, inserted] = buckets_.try_emplace(id);
    if (inserted) ScheduleRefill(id);
    if (bucket->second.tokens == 0) {
      bucket->second.pending = true;
      return;
    }
    --bucket->second.tokens;
    experiments_.Notify(id);
  }

  void Changed(const model::TaskId& id) override { tasks_.Notify(id); }

  // Notifies at most once per kQueueInterval, and always after the last change.
  void QueueChanged() override {
    if (loop_ == nullptr) return queue_.Notify({});
    if (queue_timer_) return;
    const absl::Time now = loop_->Now();
    queue_timer_ = loop_->PostAt(std::max(now, queue_notified_ + kQueueInterval), [this] {
      queue_timer_.reset();
      queue_notified_ = loop_->Now();
      queue_.Notify({});
    });
  }

  // Call it after `reports` of the experiment's trials were stored. Notifies after kMetricsDelay,
  // once for all reports that arrive until then.
  void MetricsArrived(model::ExperimentId id, absl::Span<const model::MetricReport> reports) {
    feed_.Add(id, reports);
    if (!metrics_.HasSubscribers(id)) return;
    if (loop_ == nullptr) return PublishMetrics(id);
    {
      std::lock_guard lock(mutex_);
      if (!metrics_pending_.insert(id).second) return;
    }
    loop_->Post([this, id] {
      loop_->PostAt(loop_->Now() + kMetricsDelay, [this, id] {
        {
          std::lock_guard lock(mutex_);
          metrics_pending_.erase(id);
        }
        PublishMetrics(id);
      });
    });
  }

  // The feed keeps the metrics of an experiment from the first Open(), which a stream calls after
  // it has subscribed, until kFeedRetention after the last CloseFeed().
  MetricFeed& feed() { return feed_; }
  void CloseFeed(model::ExperimentId id) {
    feed_.Close(id);
    if (loop_ == nullptr) return feed_.Drop(id);
    loop_->Post([this, id] { loop_->PostAfter(kFeedRetention, [this, id] { feed_.Drop(id); }); });
  }

  // Call it after log lines of this task were stored.
  void LogsArrived(const model::TaskId& task) { logs_.Notify(task); }

  Topic<model::ExperimentId>& experiments() { return experiments_; }
  Topic<model::ExperimentId>& metrics() { return metrics_; }
  // Changes of the queue and of wait reasons, for views that show waiting experiments.
  Topic<std::monostate>& queue() { return queue_; }
  Topic<model::TaskId>& logs() { return logs_; }
  // Changes of tasks that are not trials.
  Topic<model::TaskId>& tasks() { return tasks_; }

 private:
  static constexpr int kMaxBurst = 8;
  static constexpr absl::Duration kChangeInterval = absl::Milliseconds(500);
  static constexpr absl::Duration kQueueInterval = absl::Seconds(1);
  static constexpr absl::Duration kMetricsDelay = absl::Milliseconds(300);
  static constexpr absl::Duration kFeedRetention = absl::Minutes(1);

  void PublishMetrics(model::ExperimentId id) {
    feed_.Seal(id);
    metrics_.Notify(id);
  }

  // A token bucket for the changes of one experiment: each notification takes a token; each
  // interval without a pending change returns one. A full bucket is removed.
  struct TokenBucket {
    int tokens = kMaxBurst;
    bool pending = false;  // a change without a token; notified at the end of the interval
  };
  void ScheduleRefill(model::ExperimentId id) {
    loop_->PostAfter(kChangeInterval, [this, id] {
      const auto it = buckets_.find(id);
      const bool pending = std::exchange(it->second.pending, false);
      if (!pending && ++it->second.tokens >= kMaxBurst) {
        buckets_.erase(it);
        return;
      }
      ScheduleRefill(id);
      if (pending) experiments_.Notify(id);
    });
  }

  Topic<model::ExperimentId> experiments_;
  Topic<model::ExperimentId> metrics_;
  MetricFeed feed_;
  Topic<std::monostate> queue_;
  Topic<model::TaskId> logs_;
  Topic<model::TaskId> tasks_;

  std::mutex mutex_;
  std::set<model::ExperimentId> metrics_pending_;  // a notification is scheduled

  // Used on the loop only.
  base::EventLoop* loop_ = nullptr;
  std::optional<base::TimerId> queue_timer_;
  absl::Time queue_notified_ = absl::InfinitePast();
  std::map<model::ExperimentId, TokenBucket> buckets_;  // of experiments that changed recently
};

}  // namespace det::live

#endif  // MASTER_LIVE_EXPERIMENT_WATCH_H_
