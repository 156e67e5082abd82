// The streams of WatchAllocation: what the master tells a running trial.
//
// The engine announces on its loop; streams come and go on any thread. Knows no more than who
// listens: what is already known of an allocation is given by whoever subscribes.
#ifndef MASTER_LIVE_ALLOCATION_WATCH_H_
#define MASTER_LIVE_ALLOCATION_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "det/trial/v1/trial.pb.h"
#include "master/core/experiment/allocation.h"
#include "master/core/model/ids.h"
#include "master/engine/sinks.h"

namespace det::live {

// What a watcher gets: updates, then the end.
struct AllocationListener {
  std::function<void(const det::trial::v1::AllocationUpdate&)> update;
  std::function<void()> closed;
  std::function<void()>
      stopping;  // the master stops; for those whose calls would wait. May be null
};

class AllocationWatch final : public engine::TrialSink {
 public:
  // `on_close` also hears of every allocation that ends (AllGather, tokens).
  explicit AllocationWatch(std::function<void(const model::AllocationId&)> on_close);

  void Announce(const cluster::AnnounceRendezvous& news) override;
  void Announce(const cluster::AnnouncePreemption& news) override;
  void Close(const cluster::CloseAllocation& news) override;

  // The listener must not call back into this object.
  int64_t Subscribe(const model::AllocationId& allocation, AllocationListener listener);
  void Unsubscribe(const model::AllocationId& allocation, int64_t id);

  // Tells all, and those who come later, that the master stops.
  void Stop();

 private:
  void Tell(const model::AllocationId& allocation, const det::trial::v1::AllocationUpdate& update);

  const std::function<void(const model::AllocationId&)> on_close_;
  std::mutex mutex_;
  int64_t last_ = 0;
  bool stopped_ = false;
  std::map<model::AllocationId, std::map<int64_t, AllocationListener>> listeners_;
};

// The two kinds of news as messages.
det::trial::v1::AllocationUpdate ToUpdate(const cluster::AnnounceRendezvous& news);
det::trial::v1::AllocationUpdate ToUpdate(const cluster::AnnouncePreemption& news);

}  // namespace det::live

#endif  // MASTER_LIVE_ALLOCATION_WATCH_H_
