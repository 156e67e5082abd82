// The engine: the only owner of the Cluster and of its loop. It applies events and gathers their
// changes into group commits. Nothing leaves the process before its commit: replies and effects
// wait for their batch and run in order once it is durable.
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

// The result of an event, given to its caller once it is durable.
struct Applied {
  std::optional<model::ExperimentId> created;
  bool best_so_far = false;
  bool exceeds_capacity = false;
  int32_t reserved = 0;
};

// Totals since the start of the process.
struct CommitStats {
  int64_t commits = 0;  // successful commits
  int64_t changes = 0;  // changes in them
  int64_t retries = 0;  // after UNAVAILABLE
};

class Engine {
 public:
  // All pointers must outlive the engine. `fatal` is called once, on the committer's thread, when
  // the engine cannot continue because another master has taken over or the database has rejected a
  // commit: the process must exit and recover. Commits block `commit_loop`; if it is null, the
  // engine uses a thread of its own.
  Engine(cluster::Settings settings, store::Store* store, base::EventLoop* loop, Sinks sinks,
         absl::AnyInvocable<void(absl::Status)> fatal, base::EventLoop* commit_loop = nullptr);
  ~Engine();

  // Loads and restores the state, and sends all effects that it requires. Blocks.
  absl::Status Start();
  // Finishes open batches unless the database is unavailable; later Submits are refused with
  // UNAVAILABLE. Blocks, except with a `commit_loop` that the caller runs.
  void Stop();

  // From now on, refuses requests and queries with UNAVAILABLE while `leads` returns false, since
  // another master may lead. `leads` is called on the engine's loop. Facts are still accepted, and
  // fail with their commit.
  void SetLeadershipCheck(std::function<bool()> leads);

  // Applies `event`; calls `reply` after its commit. An error also waits for the commit of the
  // state that it is based on. UNAVAILABLE if the database has been unavailable for longer than
  // Committer::kMaxOutage: then nothing was applied. Calls of the API use SubmitAndFinish and
  // SubmitAndContinue of api/rpc/call.h.
  void Submit(cluster::Event event, absl::AnyInvocable<void(absl::StatusOr<Applied>)> reply);
  // For facts that no caller waits for and that would not be reported again: accepted even while
  // the database is unavailable. Errors of the cluster are logged.
  void Submit(cluster::Event event);

  // Runs `read` on the loop with the current state; `done` is called once everything that `read`
  // could see is durable. UNAVAILABLE as for Submit, immediately and without running `read`.
  void Query(absl::AnyInvocable<void(const cluster::Cluster&)> read,
             absl::AnyInvocable<void(absl::Status)> done);

  // OK while commits succeed; else UNAVAILABLE with the reason. Never blocks.
  absl::Status health() const;
  CommitStats stats() const;
  // Latency of events with changes, from Submit to the release after their commit.
  Histogram commit_latency() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_ENGINE_H_
