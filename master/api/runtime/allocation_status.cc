#include "master/api/runtime/allocation_status.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/core/cluster/cluster.h"

namespace det::api {
namespace {

using det::trial::v1::AllocationUpdate;

// Returns nullopt until all local tasks have started and the addresses of their agents are known.
// The cluster announces the rendezvous at that time.
std::optional<cluster::AnnounceRendezvous> ComputeRendezvous(
    const cluster::Cluster& cluster, const experiment::Allocation& allocation) {
  cluster::AnnounceRendezvous rendezvous{.allocation = allocation.id};
  for (const experiment::LocalTask& local_task : allocation.local_tasks) {
    const auto agent = cluster.agents().find(local_task.placement.agent);
    if (!local_task.started || agent == cluster.agents().end() || agent->second.address.empty()) {
      return std::nullopt;
    }
    rendezvous.nodes.push_back({.agent = local_task.placement.agent,
                                .address = agent->second.address,
                                .slots = static_cast<int>(local_task.placement.slots.size())});
  }
  return rendezvous;
}

AllocationStatus ReadStatus(const cluster::Cluster& cluster, const model::AllocationId& id) {
  using State = model::AllocationState;
  AllocationStatus status;
  const experiment::Allocation* allocation = cluster.FindAllocation(id);
  if (allocation == nullptr || allocation->state == State::kTerminated) return status;
  status.live = true;
  status.trial = allocation->trial;
  status.run_id = allocation->run_id;
  if (const experiment::Trial* trial = cluster.FindTrial(allocation->trial)) {
    status.experiment = trial->experiment;
    status.progress = trial->progress;
    status.runner_state = trial->runner_state;
  }
  if (allocation->state == State::kRunning || allocation->state == State::kPreempting) {
    if (const auto rendezvous = ComputeRendezvous(cluster, *allocation)) {
      status.updates.push_back(live::ToUpdate(*rendezvous));
    }
  }
  if (allocation->state == State::kPreempting) {
    status.updates.push_back(live::ToUpdate(cluster::AnnouncePreemption{
        .allocation = id,
        .reason = allocation->preemption_reason,
        .deadline = allocation->deadline.value_or(absl::InfiniteFuture())}));
  }
  return status;
}

absl::Status MakeEndedError(const model::AllocationId& allocation) {
  return absl::FailedPreconditionError(
      absl::StrCat("allocation ", allocation.value(), " has ended"));
}

// A call that waits for an update. The first call of Finish() ends it; later calls have no effect.
class UpdateWait : public std::enable_shared_from_this<UpdateWait> {
 public:
  UpdateWait(base::ThreadPool& pool, base::EventLoop& loop, live::AllocationWatch& watch,
             model::AllocationId allocation,
             absl::AnyInvocable<void(absl::StatusOr<OptionalUpdate>)> done)
      : pool_(pool),
        loop_(loop),
        watch_(watch),
        allocation_(std::move(allocation)),
        done_(std::move(done)) {}

  void Subscribe(AllocationUpdate::UpdateCase kind) {
    live::AllocationListener listener;
    listener.update = [self = shared_from_this(), kind](const AllocationUpdate& update) {
      if (update.update_case() == kind) self->Finish(OptionalUpdate(update));
    };
    listener.closed = [self = shared_from_this()] {
      self->Finish(MakeEndedError(self->allocation_));
    };
    listener.stopping = [self = shared_from_this()] {
      self->Finish(absl::UnavailableError("the master is shutting down; retry in a few seconds"));
    };
    const int64_t subscription = watch_.Subscribe(allocation_, std::move(listener));
    std::unique_lock lock(mutex_);
    subscription_ = subscription;
    const bool finished = finished_;
    lock.unlock();
    if (finished) watch_.Unsubscribe(allocation_, subscription);
  }

  void SetTimeout(absl::Duration timeout) {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    timer_ =
        loop_.PostAfter(timeout, [self = shared_from_this()] { self->Finish(OptionalUpdate()); });
  }

  // Any thread. The watch calls it under its lock, so it unsubscribes and calls `done` on the pool.
  void Finish(absl::StatusOr<OptionalUpdate> result) {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    if (timer_) loop_.Cancel(*timer_);
    pool_.Post([self = shared_from_this(), subscription = subscription_,
                result = std::move(result)]() mutable {
      if (subscription) self->watch_.Unsubscribe(self->allocation_, *subscription);
      auto done = std::move(self->done_);
      done(std::move(result));
    });
  }

 private:
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  live::AllocationWatch& watch_;
  const model::AllocationId allocation_;
  absl::AnyInvocable<void(absl::StatusOr<OptionalUpdate>)> done_;
  std::mutex mutex_;
  bool finished_ = false;
  std::optional<int64_t> subscription_;
  std::optional<base::TimerId> timer_;
};

}  // namespace

absl::Status CheckOwnAllocation(const auth::Principal& principal, const std::string& allocation) {
  if (principal.allocation.value() == allocation) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("the token of allocation ",
                                                  principal.allocation.value(),
                                                  " cannot access allocation ", allocation));
}

void GetAllocationStatus(engine::Engine& engine, base::ThreadPool& pool,
                         const model::AllocationId& allocation,
                         absl::AnyInvocable<void(absl::StatusOr<AllocationStatus>)> then) {
  auto result = std::make_shared<AllocationStatus>();
  engine.Query(
      [result, id = allocation](const cluster::Cluster& cluster) {
        *result = ReadStatus(cluster, id);
      },
      [&pool, allocation, result, then = std::move(then)](const absl::Status& status) mutable {
        pool.Post([allocation, result, status, then = std::move(then)]() mutable {
          if (!status.ok()) return then(status);
          if (!result->live) return then(MakeEndedError(allocation));
          then(std::move(*result));
        });
      });
}

void AwaitUpdate(engine::Engine& engine, base::ThreadPool& pool, base::EventLoop& loop,
                 live::AllocationWatch& watch, const model::AllocationId& allocation,
                 AllocationUpdate::UpdateCase kind, absl::Duration timeout, Call& call,
                 absl::AnyInvocable<void(absl::StatusOr<OptionalUpdate>)> done) {
  auto wait = std::make_shared<UpdateWait>(pool, loop, watch, allocation, std::move(done));
  // Subscribe before the status is read, so that no update between the two is lost.
  wait->Subscribe(kind);
  call.OnCancel([wait] { wait->Finish(absl::CancelledError("the client has disconnected")); });
  GetAllocationStatus(
      engine, pool, allocation,
      [wait, kind, timeout](const absl::StatusOr<AllocationStatus>& allocation_status) {
        if (!allocation_status.ok()) return wait->Finish(allocation_status.status());
        for (const AllocationUpdate& update : allocation_status->updates) {
          if (update.update_case() == kind) return wait->Finish(OptionalUpdate(update));
        }
        if (timeout <= absl::ZeroDuration()) return wait->Finish(OptionalUpdate());
        wait->SetTimeout(timeout);
      });
}

}  // namespace det::api
