// Notifies subscribers of the rendezvous, the preemption and the end of an allocation. The
// subscribers are the calls of running trials: the stream WatchAllocation and the long polls.
//
// The engine announces on its loop; callers subscribe and unsubscribe on any thread. The watch
// stores no announcements: a subscriber must read the current status of the allocation itself.
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

// Callbacks of one subscriber. They run under the lock of the watch and must not call it.
struct AllocationListener {
  std::function<void(const det::trial::v1::AllocationUpdate&)> update;
  // The allocation has ended; no update follows.
  std::function<void()> closed;
  // The master is shutting down; a long poll must return now. May be null.
  std::function<void()> stopping;
};

class AllocationWatch final : public engine::TrialSink {
 public:
  // `on_close` is called for every allocation that ends, with or without subscribers. It closes
  // all-gathers and revokes tokens.
  explicit AllocationWatch(std::function<void(const model::AllocationId&)> on_close);

  void Announce(const cluster::AnnounceRendezvous& rendezvous) override;
  void Announce(const cluster::AnnouncePreemption& preemption) override;
  void Close(const cluster::CloseAllocation& closed) override;

  // Returns the subscription's id for Unsubscribe().
  int64_t Subscribe(const model::AllocationId& allocation, AllocationListener listener);
  void Unsubscribe(const model::AllocationId& allocation, int64_t id);

  // Calls `stopping` of all subscribers, and of each later subscriber when it subscribes.
  void Stop();

 private:
  void Notify(const model::AllocationId& allocation,
              const det::trial::v1::AllocationUpdate& update);

  const std::function<void(const model::AllocationId&)> on_close_;
  std::mutex mutex_;
  int64_t last_id_ = 0;
  bool stopped_ = false;
  std::map<model::AllocationId, std::map<int64_t, AllocationListener>> listeners_;
};

det::trial::v1::AllocationUpdate ToUpdate(const cluster::AnnounceRendezvous& rendezvous);
det::trial::v1::AllocationUpdate ToUpdate(const cluster::AnnouncePreemption& preemption);

}  // namespace det::live

#endif  // MASTER_LIVE_ALLOCATION_WATCH_H_
