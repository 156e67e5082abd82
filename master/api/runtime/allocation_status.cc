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

// Nothing before every share has started and every agent's address is known: the cluster announces
// it then.
std::optional<cluster::AnnounceRendezvous> RendezvousOf(const cluster::Cluster& cluster,
                                                        const experiment::Allocation& allocation) {
  cluster::AnnounceRendezvous news{.allocation = allocation.id};
  for (const experiment::LocalTask& local_task : allocation.local_tasks) {
    const auto agent = cluster.agents().find(local_task.placement.agent);
    if (!local_task.started || agent == cluster.agents().end() || agent->second.address.empty()) {
      return std::nullopt;
    }
    news.nodes.push_back({.agent = local_task.placement.agent,
                          .address = agent->second.address,
                          .slots = static_cast<int>(local_task.placement.slots.size())});
  }
  return news;
}

Standing StandingOf(const cluster::Cluster& cluster, const model::AllocationId& id) {
  using State = model::AllocationState;
  Standing standing;
  const experiment::Allocation* allocation = cluster.FindAllocation(id);
  if (allocation == nullptr || allocation->state == State::kTerminated) return standing;
  standing.live = true;
  standing.trial = allocation->trial;
  standing.run_id = allocation->run_id;
  if (const experiment::Trial* trial = cluster.FindTrial(allocation->trial)) {
    standing.experiment = trial->experiment;
    standing.progress = trial->progress;
    standing.runner_state = trial->runner_state;
  }
  if (allocation->state == State::kRunning || allocation->state == State::kPreempting) {
    if (const auto news = RendezvousOf(cluster, *allocation)) {
      standing.news.push_back(live::ToUpdate(*news));
    }
  }
  if (allocation->state == State::kPreempting) {
    standing.news.push_back(live::ToUpdate(cluster::AnnouncePreemption{
        .allocation = id,
        .reason = allocation->preemption_reason,
        .deadline = allocation->deadline.value_or(absl::InfiniteFuture())}));
  }
  return standing;
}

absl::Status Ended(const model::AllocationId& allocation) {
  return absl::FailedPreconditionError(
      absl::StrCat("allocation ", allocation.value(), " has ended"));
}

// A call that waits for news. Whoever comes first answers it.
class Wait : public std::enable_shared_from_this<Wait> {
 public:
  Wait(base::ThreadPool& pool, base::EventLoop& loop, live::AllocationWatch& watch,
       model::AllocationId allocation, absl::AnyInvocable<void(absl::StatusOr<News>)> answer)
      : pool_(pool),
        loop_(loop),
        watch_(watch),
        allocation_(std::move(allocation)),
        answer_(std::move(answer)) {}

  void Listen(AllocationUpdate::UpdateCase kind) {
    live::AllocationListener listener;
    listener.update = [self = shared_from_this(), kind](const AllocationUpdate& update) {
      if (update.update_case() == kind) self->Finish(News(update));
    };
    listener.closed = [self = shared_from_this()] { self->Finish(Ended(self->allocation_)); };
    listener.stopping = [self = shared_from_this()] {
      self->Finish(absl::UnavailableError("this master stops; ask again in a moment"));
    };
    const int64_t subscription = watch_.Subscribe(allocation_, std::move(listener));
    std::unique_lock lock(mutex_);
    subscription_ = subscription;
    const bool over = over_;
    lock.unlock();
    if (over) watch_.Unsubscribe(allocation_, subscription);
  }

  void Limit(absl::Duration limit) {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    timer_ = loop_.PostAfter(limit, [self = shared_from_this()] { self->Finish(News()); });
  }

  // On any thread, also from the watch, into which it must not call back.
  void Finish(absl::StatusOr<News> result) {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    if (timer_) loop_.Cancel(*timer_);
    pool_.Post([self = shared_from_this(), subscription = subscription_,
                result = std::move(result)]() mutable {
      if (subscription) self->watch_.Unsubscribe(self->allocation_, *subscription);
      auto answer = std::move(self->answer_);
      answer(std::move(result));
    });
  }

 private:
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  live::AllocationWatch& watch_;
  const model::AllocationId allocation_;
  absl::AnyInvocable<void(absl::StatusOr<News>)> answer_;
  std::mutex mutex_;
  bool over_ = false;
  std::optional<int64_t> subscription_;
  std::optional<base::TimerId> timer_;
};

}  // namespace

absl::Status CheckOwn(const auth::Principal& principal, const std::string& allocation) {
  if (principal.allocation.value() == allocation) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("the token of allocation ",
                                                  principal.allocation.value(),
                                                  " is not good for allocation ", allocation));
}

void WithStanding(engine::Engine& engine, base::ThreadPool& pool,
                  const model::AllocationId& allocation,
                  absl::AnyInvocable<void(absl::StatusOr<Standing>)> then) {
  auto standing = std::make_shared<Standing>();
  engine.Query(
      [standing, id = allocation](const cluster::Cluster& cluster) {
        *standing = StandingOf(cluster, id);
      },
      [&pool, allocation, standing, then = std::move(then)](const absl::Status& status) mutable {
        pool.Post([allocation, standing, status, then = std::move(then)]() mutable {
          if (!status.ok()) return then(status);
          if (!standing->live) return then(Ended(allocation));
          then(std::move(*standing));
        });
      });
}

void AwaitNews(engine::Engine& engine, base::ThreadPool& pool, base::EventLoop& loop,
               live::AllocationWatch& watch, const model::AllocationId& allocation,
               AllocationUpdate::UpdateCase kind, absl::Duration limit, Call& call,
               absl::AnyInvocable<void(absl::StatusOr<News>)> answer) {
  auto wait = std::make_shared<Wait>(pool, loop, watch, allocation, std::move(answer));
  // Before the look at what is known, so that nothing falls between the two.
  wait->Listen(kind);
  call.OnCancel([wait] { wait->Finish(absl::CancelledError("the caller has gone")); });
  WithStanding(engine, pool, allocation,
               [wait, kind, limit](const absl::StatusOr<Standing>& standing) {
                 if (!standing.ok()) return wait->Finish(standing.status());
                 for (const AllocationUpdate& update : standing->news) {
                   if (update.update_case() == kind) return wait->Finish(News(update));
                 }
                 if (limit <= absl::ZeroDuration()) return wait->Finish(News());
                 wait->Limit(limit);
               });
}

}  // namespace det::api
