// MetricFeed: the new metrics of watched experiments, as messages of the stream WatchExperiment.
// Reports are collected until ExperimentWatch calls Seal(), which makes one message that all
// subscribers share. Sealed messages are kept for a while, so that a client that reconnects can
// resume at its position.
//
// Any thread. Part of ExperimentWatch.
#ifndef MASTER_LIVE_METRIC_FEED_H_
#define MASTER_LIVE_METRIC_FEED_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "det/api/v1/experiment.pb.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"

namespace det::live {

class MetricFeed {
 public:
  using Message = std::shared_ptr<const det::api::v1::WatchExperimentResponse>;
  // A message with more values than this contains no points and has `missed` set instead.
  static constexpr int kMaxMessageValues = 20'000;
  // Limits of the sealed messages that are kept for one experiment.
  static constexpr int kMaxKeptValues = 100'000;
  static constexpr int kMaxKeptMessages = 300;

  MetricFeed();

  // A subscriber's position: the number of the last message that it has received.
  struct Position {
    int64_t number = 0;
    std::string text;     // WatchExperimentResponse.position
    bool missed = false;  // messages are lost; the subscriber must read all metrics again
  };
  // Adds a subscriber and keeps the experiment's reports from now on. Returns the position whose
  // text is `after`. If `after` is empty or no longer kept, returns the current position with
  // `missed` set.
  Position Open(model::ExperimentId id, const std::string& after);
  // Removes a subscriber; call it once for each Open(). Reports are still added and kept until
  // Drop().
  void Close(model::ExperimentId id);
  // Removes the experiment's feed if it has no subscribers.
  void Drop(model::ExperimentId id);

  // Adds reports to the next message. Call it after they were stored.
  void Add(model::ExperimentId id, absl::Span<const model::MetricReport> reports);
  // Completes the message with the reports that were added since the last call.
  void Seal(model::ExperimentId id);

  struct Updates {
    std::vector<Message> messages;  // in order
    // The position after them. `missed` is set if messages between `number` and them were removed.
    Position position;
  };
  // Returns the sealed messages after position `number`.
  Updates ReadAfter(model::ExperimentId id, int64_t number);

 private:
  struct Sealed {
    int64_t number = 0;
    int values = 0;
    Message message;
  };
  struct Feed {
    int subscribers = 0;
    int64_t kept_after = 0;  // `sealed` contains all messages after this number
    int64_t last = 0;        // the number of the last message
    int kept_values = 0;     // in `sealed`
    std::deque<Sealed> sealed;
    std::shared_ptr<det::api::v1::WatchExperimentResponse> pending;  // null if it has no reports
    int pending_values = 0;
  };
  // Requires the lock.
  void Seal(Feed& feed);
  Position MakePosition(int64_t number) const;

  // Identifies this process in the text of positions: those of another process are not valid here.
  const std::string epoch_;
  std::mutex mutex_;
  // One sequence for all experiments, so that a number is not used again after Drop().
  int64_t last_number_ = 0;
  std::map<model::ExperimentId, Feed> feeds_;
};

}  // namespace det::live

#endif  // MASTER_LIVE_METRIC_FEED_H_
