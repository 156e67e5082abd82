#include "master/engine/engine.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "master/engine/committer.h"
#include "master/engine/dispatcher.h"
#include "master/engine/timers.h"

namespace det::engine {
namespace {

using Reply = absl::AnyInvocable<void(absl::StatusOr<Applied>)>;

constexpr char kNotLeadingMessage[] =
    "this master could not renew its lease, and another master may lead; try again";
constexpr char kStoppedMessage[] = "the master is stopping; try again later";

}  // namespace

class Engine::Impl {
 public:
  Impl(cluster::Settings settings, store::Store* store, base::EventLoop* loop, Sinks sinks,
       absl::AnyInvocable<void(absl::Status)> fatal, base::EventLoop* commit_loop)
      : store_(*store),
        loop_(*loop),
        own_commit_loop_(commit_loop == nullptr ? base::MakeAsioEventLoop("commit") : nullptr),
        cluster_(std::move(settings)),
        committer_(store, loop, commit_loop == nullptr ? own_commit_loop_.get() : commit_loop,
                   std::move(fatal)),
        timers_(loop, [this](const cluster::Event& event) { return Fire(event); }),
        dispatcher_(sinks, &timers_) {}

  ~Impl() { Stop(); }

  absl::Status Start();
  void Stop();
  void ApplyFact(const cluster::Event& event, absl::Time submitted, Reply reply) {
    if (stopped_) return;  // the next master receives it again
    Apply(event, submitted, std::move(reply));
  }
  // Refuses requests, which can be repeated, while none are accepted.
  void SubmitOrRefuse(const cluster::Event& event, absl::Time submitted, Reply reply);
  void Apply(const cluster::Event& event, absl::Time submitted, Reply reply);
  void Query(absl::AnyInvocable<void(const cluster::Cluster&)> read,
             absl::AnyInvocable<void(absl::Status)> done);

  base::EventLoop& loop() { return loop_; }
  void SetLeadershipCheck(std::function<bool()> leads) {
    loop_.Post([this, leads = std::move(leads)]() mutable { leads_ = std::move(leads); });
  }
  const Committer& committer() const { return committer_; }
  Histogram commit_latency() const {
    std::lock_guard lock(latency_mutex_);
    return commit_latency_;
  }

 private:
  bool Fire(const cluster::Event& event);
  absl::Status Accepts() const;
  void RecordLatency(absl::Time submitted);
  // Runs `fn` on the loop and waits for it; also returns if the loop has stopped and drops it.
  void RunAndWait(absl::AnyInvocable<void()> fn);

  store::Store& store_;
  base::EventLoop& loop_;
  const std::unique_ptr<base::EventLoop> own_commit_loop_;
  std::atomic<bool> stopped_ = false;
  mutable std::mutex latency_mutex_;
  Histogram commit_latency_;

  // Accessed only on the loop, once Start has returned.
  std::function<bool()> leads_ = [] { return true; };
  cluster::Cluster cluster_;
  Committer committer_;
  Timers timers_;
  Dispatcher dispatcher_;
};

absl::Status Engine::Impl::Start() {
  DET_ASSIGN_OR_RETURN(cluster::Image image, store_.Load());
  DET_RETURN_IF_ERROR(cluster_.Restore(std::move(image)));
  loop_.Post([this] { dispatcher_.Dispatch(cluster_.Regenerate()); });
  return absl::OkStatus();
}

void Engine::Impl::RunAndWait(absl::AnyInvocable<void()> fn) {
  std::promise<void> promise;
  std::future<void> done = promise.get_future();
  loop_.Post([fn = std::move(fn), promise = std::move(promise)]() mutable {
    fn();
    promise.set_value();
  });
  done.wait();
}

void Engine::Impl::Stop() {
  if (stopped_.exchange(true)) return;
  if (own_commit_loop_ == nullptr) {
    committer_.Stop([] {});
    timers_.CancelAll();
    return;
  }
  std::promise<void> drained;
  std::future<void> done = drained.get_future();
  // On the loop, after all events that were submitted before.
  RunAndWait([this, drained = std::move(drained)]() mutable {
    committer_.Stop([drained = std::move(drained)]() mutable { drained.set_value(); });
  });
  done.wait();
  own_commit_loop_->Stop();
  committer_.Abandon();
  RunAndWait([this] { timers_.CancelAll(); });
}

absl::Status Engine::Impl::Accepts() const {
  if (!leads_()) return absl::UnavailableError(kNotLeadingMessage);
  if (committer_.accepting()) return absl::OkStatus();
  if (stopped_) return absl::UnavailableError(kStoppedMessage);
  return absl::UnavailableError(absl::StrCat(committer_.health().message(), "; try again later"));
}

void Engine::Impl::RecordLatency(absl::Time submitted) {
  // The system clock may have been set back meanwhile.
  const absl::Duration took = std::max(loop_.Now() - submitted, absl::ZeroDuration());
  std::lock_guard lock(latency_mutex_);
  commit_latency_.Add(absl::ToDoubleSeconds(took));
}

void Engine::Impl::SubmitOrRefuse(const cluster::Event& event, absl::Time submitted, Reply reply) {
  absl::Status status = Accepts();
  if (status.ok()) return Apply(event, submitted, std::move(reply));
  if (reply) reply(std::move(status));
}

void Engine::Impl::Apply(const cluster::Event& event, absl::Time submitted, Reply reply) {
  DET_CHECK(loop_.IsOnLoopThread()) << "events are applied on the engine's loop alone";
  // Rows store microseconds; memory must be equal, or a restart would not reproduce it.
  const absl::Time now = absl::FromUnixMicros(absl::ToUnixMicros(loop_.Now()));
  absl::StatusOr<cluster::Outcome> outcome = cluster_.Apply(event, now);
  absl::StatusOr<Applied> result = Applied();
  std::vector<cluster::Change> changes;
  std::vector<cluster::Effect> effects;
  if (outcome.ok()) {
    result = Applied{outcome->created, outcome->best_so_far, outcome->exceeds_capacity,
                     outcome->reserved};
    changes = std::move(outcome->changes);
    effects = std::move(outcome->effects);
  } else {
    result = std::move(outcome).status();
  }
  const bool changed = !changes.empty();
  committer_.Add(std::move(changes), [this, changed, submitted, effects = std::move(effects),
                                      result = std::move(result), reply = std::move(reply)](
                                         const absl::Status& durable) mutable {
    if (durable.ok() && changed) RecordLatency(submitted);
    if (durable.ok()) dispatcher_.Dispatch(effects);
    if (!reply) return;
    reply(durable.ok() ? std::move(result) : absl::StatusOr<Applied>(durable));
  });
}

bool Engine::Impl::Fire(const cluster::Event& event) {
  if (!committer_.accepting()) return stopped_;  // stopped: later calls would not succeed either
  Apply(event, loop_.Now(), [](const absl::StatusOr<Applied>& applied) {
    if (applied.ok()) return;
    DET_LOG(WARNING) << "a timer's event was refused"
                     << base::Field("reason", applied.status().message());
  });
  return true;
}

void Engine::Impl::Query(absl::AnyInvocable<void(const cluster::Cluster&)> read,
                         absl::AnyInvocable<void(absl::Status)> done) {
  // The queue must not grow without bound while the database is unavailable.
  if (absl::Status status = Accepts(); !status.ok()) return done(std::move(status));
  read(cluster_);
  committer_.Add({},
                 [done = std::move(done)](const absl::Status& durable) mutable { done(durable); });
}

Engine::Engine(cluster::Settings settings, store::Store* store, base::EventLoop* loop, Sinks sinks,
               absl::AnyInvocable<void(absl::Status)> fatal, base::EventLoop* commit_loop)
    : impl_(std::make_unique<Impl>(std::move(settings), store, loop, sinks, std::move(fatal),
                                   commit_loop)) {}

Engine::~Engine() = default;

void Engine::SetLeadershipCheck(std::function<bool()> leads) {
  impl_->SetLeadershipCheck(std::move(leads));
}

absl::Status Engine::Start() { return impl_->Start(); }
void Engine::Stop() { impl_->Stop(); }

void Engine::Submit(cluster::Event event, Reply reply) {
  impl_->loop().Post([impl = impl_.get(), event = std::move(event), submitted = impl_->loop().Now(),
                      reply = std::move(reply)]() mutable {
    impl->SubmitOrRefuse(event, submitted, std::move(reply));
  });
}

void Engine::Submit(cluster::Event event) {
  const auto log = [](const absl::StatusOr<Applied>& applied) {
    if (applied.ok()) return;
    DET_LOG(WARNING) << "an event was refused" << base::Field("reason", applied.status().message());
  };
  impl_->loop().Post([impl = impl_.get(), event = std::move(event), submitted = impl_->loop().Now(),
                      log] { impl->ApplyFact(event, submitted, log); });
}

void Engine::Query(absl::AnyInvocable<void(const cluster::Cluster&)> read,
                   absl::AnyInvocable<void(absl::Status)> done) {
  impl_->loop().Post(
      [impl = impl_.get(), read = std::move(read), done = std::move(done)]() mutable {
        impl->Query(std::move(read), std::move(done));
      });
}

absl::Status Engine::health() const { return impl_->committer().health(); }
CommitStats Engine::stats() const { return impl_->committer().stats(); }
Histogram Engine::commit_latency() const { return impl_->commit_latency(); }

}  // namespace det::engine
