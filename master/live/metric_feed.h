// What trials of watched experiments report, as streams tell it: gathered for a moment, made a
// message once for all who follow, and kept for those whose connection was lost.
//
// Any thread. Part of ExperimentWatch, which says when a moment is over.
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
  // A message holds no more values than this: it then says `missed` instead.
  static constexpr int kMostValues = 20'000;
  // And so many values, and messages, are kept of an experiment.
  static constexpr int kMostKept = 100'000, kMostMessages = 300;

  MetricFeed();

  // Where one who follows from now on stands.
  struct Place {
    int64_t number = 0;
    std::string text;     // as WatchExperimentResponse.position has it
    bool missed = false;  // it is not the place that was asked for
  };
  // From now on what is added of the experiment is kept. `after`: the text of a place where one
  // stood before, or empty.
  Place Open(model::ExperimentId id, const std::string& after);
  // Once by each who has opened it. What is kept stays, and goes on, until Drop().
  void Close(model::ExperimentId id);
  // Forgets an experiment that nobody follows.
  void Drop(model::ExperimentId id);

  // What was stored, after it was.
  void Add(model::ExperimentId id, absl::Span<const model::MetricReport> reports);
  // What was added becomes a message.
  void Seal(model::ExperimentId id);

  struct News {
    std::vector<Message> messages;  // in order
    Place place;                    // behind them; missed: some that came before them are gone
  };
  News After(model::ExperimentId id, int64_t number);

 private:
  struct Sealed {
    int64_t number = 0;
    int values = 0;
    Message message;
  };
  struct Feed {
    int followers = 0;
    int64_t from = 0;  // all behind this place is in `sealed`
    int64_t last = 0;
    int kept = 0;  // values in `sealed`
    std::deque<Sealed> sealed;
    std::shared_ptr<det::api::v1::WatchExperimentResponse> gathered;  // null: nothing
    int values = 0;                                                   // in `gathered`
  };
  // These REQUIRE the lock.
  void Seal(Feed& feed);
  Place PlaceAt(int64_t number) const;

  const std::string epoch_;  // of this process: numbers of another mean nothing here
  std::mutex mutex_;
  int64_t last_ = 0;  // of all experiments, so that no number comes twice
  std::map<model::ExperimentId, Feed> feeds_;
};

}  // namespace det::live

#endif  // MASTER_LIVE_METRIC_FEED_H_
