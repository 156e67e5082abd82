// Sends the lines of tasks to the master, in order and in batches, until they are stored. Owned by
// Agent, called on its loop only. Lines are sent at once if no request is pending, else with the
// next batch; no timer runs while there is nothing to send. Never drops a line: the caller limits
// how many lines are pending.
#ifndef AGENT_LINK_LOG_SHIPPER_H_
#define AGENT_LINK_LOG_SHIPPER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "agent/core/task.h"
#include "agent/link/backoff.h"
#include "base/event_loop.h"

namespace det::agent {

class LogPoster {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  virtual ~LogPoster() = default;
  // Completes with OK once the lines are stored. `done` runs on the loop, never inside this call.
  virtual void PostLogs(const AllocationId& allocation,
                        std::shared_ptr<const std::vector<OutputLine>> lines, Done done) = 0;
};

class LogShipper {
 public:
  static constexpr size_t kBatchLines = 1000;
  static constexpr size_t kBatchBytes = 1 << 20;  // well below gRPC's limit for one message
  // Called when the lines of an allocation up to this number are stored, or permanently rejected.
  using Delivered = std::function<void(const AllocationId&, int64_t sequence)>;

  LogShipper(base::EventLoop* loop, LogPoster* poster, uint64_t seed, Delivered delivered)
      : loop_(loop), poster_(poster), seed_(seed), delivered_(std::move(delivered)) {}

  // Adds lines that the caller has numbered.
  void Add(const AllocationId& allocation, std::vector<OutputLine> lines);

  // Called after the last line.
  void End(const AllocationId& allocation);

  // Calls `done`, possibly inside this call, when the lines have ended and all of them are
  // delivered. REQUIRES that Flush was not called for this allocation before.
  void Flush(const AllocationId& allocation, absl::AnyInvocable<void()> done);

  // Retries all waiting batches now. Called when the master is connected again.
  void RetryNow();

 private:
  struct Queue {
    explicit Queue(uint64_t seed) : backoff(seed) {}
    std::deque<OutputLine> waiting;
    bool ended = false;
    std::shared_ptr<const std::vector<OutputLine>> batch;  // pending, or waiting for a retry
    bool posting = false;
    std::optional<base::TimerId> retry;
    Backoff backoff;
    absl::AnyInvocable<void()> flushed;
  };

  Queue& Get(const AllocationId& allocation);
  std::shared_ptr<const std::vector<OutputLine>> TakeBatch(Queue& queue);
  void Post(const AllocationId& allocation);
  void OnPosted(const AllocationId& allocation, const absl::Status& status);

  base::EventLoop* const loop_;
  LogPoster* const poster_;
  const uint64_t seed_;
  const Delivered delivered_;
  std::map<AllocationId, Queue> queues_;
};

}  // namespace det::agent

#endif  // AGENT_LINK_LOG_SHIPPER_H_
