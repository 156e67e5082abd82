// The engine: the only owner of the Cluster and of its loop. Applies events, gathers their changes
// into group commits, and lets nothing out of the process before its commit: replies and effects
// wait with their batch and run in order once it is durable.
//
// Submit and Query may be called on any thread. Replies and query results are delivered on the
// engine's loop: they must be short and must not block.
#ifndef MASTER_ENGINE_ENGINE_H_
#define MASTER_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/event_loop.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/event.h"
#include "master/core/cluster/outcome.h"
#include "master/engine/histogram.h"
#include "master/engine/sinks.h"
#include "master/store/interfaces/store.h"

namespace det::engine {

// What a caller learns of its event once it is durable.
struct Applied {
  std::optional<model::ExperimentId> created;
  bool best_so_far = false;
};

// Totals since the start.
struct CommitStats {
  int64_t commits = 0;  // that went through
  int64_t changes = 0;  // in them
  int64_t retries = 0;  // after UNAVAILABLE
};

class Engine {
 public:
  // All must outlive the engine. `fatal` is called (once, on the committer's thread) when the
  // engine cannot go on: another master has taken over, or a commit was refused; the process must
  // end and recover. It must not return to normal work. `commit_loop` is where commits block;
  // without one the engine has a thread of its own for them.
  Engine(cluster::Settings settings, store::Store* store, base::EventLoop* loop, Sinks sinks,
         absl::AnyInvocable<void(absl::Status)> fatal, base::EventLoop* commit_loop = nullptr);
  ~Engine();

  // Loads, restores, and sends every effect that the restored state still calls for. Blocks.
  absl::Status Start();
  // Finishes the open batches, unless the database is away; later Submits are refused with
  // UNAVAILABLE. Blocks, except with a `commit_loop` of the caller's, who turns it himself.
  void Stop();

  // From now on: what is asked while `leads` says false is refused with UNAVAILABLE, because
  // another master may lead and know better; asked on the engine's loop. Facts are taken all the
  // same, and fail with their commit.
  void AnswerOnlyWhile(std::function<bool()> leads);

  // Applies `event`; calls `reply` after its commit. A refusal too waits for what it was judged by.
  // UNAVAILABLE while the database has been away for longer than a bound: nothing was applied.
  void Submit(cluster::Event event, absl::AnyInvocable<void(absl::StatusOr<Applied>)> reply);
  // For facts that nobody waits for and nobody would say again: taken also while the database is
  // away. A refusal by the cluster is logged.
  void Submit(cluster::Event event);

  // Runs `read` on the loop against the present state; `done` receives its result once everything
  // that `read` could see is durable. UNAVAILABLE as for Submit, at once: `read` was not run.
  void Query(absl::AnyInvocable<void(const cluster::Cluster&)> read,
             absl::AnyInvocable<void(absl::Status)> done);

  // OK while commits go through; else UNAVAILABLE with the reason. Never waits.
  absl::Status health() const;
  CommitStats stats() const;
  // Of events that changed something: from Submit to the release after their commit.
  Histogram commit_latency() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_ENGINE_H_
