#include "agent/link/log_shipper.h"

#include <functional>
#include <string>
#include <utility>

#include "base/log.h"

namespace det::agent {
namespace {

size_t GetSize(const OutputLine& line) { return sizeof(line) + line.text.size(); }

// Returns whether a retry would fail again. UNIMPLEMENTED is not final: a proxy returns it while
// the master is not available.
bool IsFinal(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsInvalidArgument(status) ||
         absl::IsFailedPrecondition(status) || absl::IsOutOfRange(status);
}

}  // namespace

void LogShipper::Add(const AllocationId& allocation, std::vector<OutputLine> lines) {
  Queue& queue = Get(allocation);
  for (OutputLine& line : lines) queue.waiting.push_back(std::move(line));
  Post(allocation);
}

void LogShipper::End(const AllocationId& allocation) {
  Get(allocation).ended = true;
  Post(allocation);
}

void LogShipper::Flush(const AllocationId& allocation, absl::AnyInvocable<void()> done) {
  Get(allocation).flushed = std::move(done);
  Post(allocation);
}

void LogShipper::RetryNow() {
  std::vector<AllocationId> due;
  for (auto& [id, queue] : queues_) {
    queue.backoff.Reset();
    if (!queue.retry.has_value()) continue;
    loop_->Cancel(*queue.retry);
    queue.retry.reset();
    due.push_back(id);
  }
  for (const AllocationId& id : due) Post(id);
}

LogShipper::Queue& LogShipper::Get(const AllocationId& allocation) {
  return queues_.try_emplace(allocation, seed_ ^ std::hash<std::string>{}(allocation.value()))
      .first->second;
}

std::shared_ptr<const std::vector<OutputLine>> LogShipper::TakeBatch(Queue& queue) {
  auto batch = std::make_shared<std::vector<OutputLine>>();
  size_t bytes = 0;
  while (!queue.waiting.empty() && batch->size() < kBatchLines && bytes < kBatchBytes) {
    bytes += GetSize(queue.waiting.front());
    batch->push_back(std::move(queue.waiting.front()));
    queue.waiting.pop_front();
  }
  return batch;
}

void LogShipper::Post(const AllocationId& allocation) {
  Queue& queue = queues_.at(allocation);
  if (queue.posting || queue.retry.has_value()) return;
  if (queue.batch == nullptr && !queue.waiting.empty()) queue.batch = TakeBatch(queue);
  if (queue.batch == nullptr) {
    if (!queue.ended || queue.flushed == nullptr) return;
    const auto ended = queues_.extract(allocation);
    ended.mapped().flushed();
    return;
  }
  queue.posting = true;
  poster_->PostLogs(allocation, queue.batch, [this, allocation](const absl::Status& status) {
    OnPosted(allocation, status);
  });
}

void LogShipper::OnPosted(const AllocationId& allocation, const absl::Status& status) {
  Queue& queue = queues_.at(allocation);
  queue.posting = false;
  if (status.ok() || IsFinal(status)) {
    if (!status.ok()) {
      DET_LOG(WARNING) << "the master rejected log lines: " << status.message()
                       << base::Field("allocation", allocation)
                       << base::Field("lines", queue.batch->size());
    }
    const int64_t last = queue.batch->back().sequence;
    queue.batch.reset();
    queue.backoff.Reset();
    delivered_(allocation, last);
    Post(allocation);
    return;
  }
  queue.retry = loop_->PostAfter(queue.backoff.Next(), [this, allocation] {
    queues_.at(allocation).retry.reset();
    Post(allocation);
  });
}

}  // namespace det::agent
