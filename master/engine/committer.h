// Group commit: while one batch is in flight, the next one gathers. Callbacks that wait for a batch
// are released on the engine's loop, in order, once the batch is durable.
//
// Add, accepting and Stop are called on the engine's loop; commits run and block on the commit
// loop; other methods may be called on any thread. Never drops or reorders a batch; never continues
// after the database has rejected one.
#ifndef MASTER_ENGINE_COMMITTER_H_
#define MASTER_ENGINE_COMMITTER_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/event_loop.h"
#include "master/core/cluster/change.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::engine {

class Committer {
 public:
  // Called with OK once durable, or with an error at shutdown if the outcome is unknown.
  using Release = absl::AnyInvocable<void(const absl::Status&)>;

  // New work is refused once an outage of the database has lasted this long.
  static constexpr absl::Duration kMaxOutage = absl::Seconds(10);
  // If a commit takes longer, the database hangs and the committer is unhealthy.
  static constexpr absl::Duration kCommitDeadline = absl::Seconds(5);
  static constexpr absl::Duration kInitialRetryDelay = absl::Milliseconds(20);
  static constexpr absl::Duration kMaxRetryDelay = absl::Seconds(1);

  // All pointers must outlive the committer, and both loops must have stopped before it is
  // destroyed.
  Committer(store::Store* store, base::EventLoop* loop, base::EventLoop* commit_loop,
            absl::AnyInvocable<void(absl::Status)> fatal);

  // `release` runs once `changes` and all earlier ones are durable: immediately if they already
  // are.
  void Add(std::vector<cluster::Change> changes, Release release);

  // False if an outage or a single commit lasts longer than kMaxOutage, after a rejected commit,
  // and after Stop.
  bool accepting() const;
  // OK, or UNAVAILABLE with the reason.
  absl::Status health() const;
  CommitStats stats() const;

  // Stops accepting. `done` runs on any thread when no batch is left, or if the database is
  // unavailable or has rejected a commit.
  void Stop(absl::AnyInvocable<void()> done);
  // Releases all remaining callbacks with UNAVAILABLE. REQUIRES that the commit loop has stopped.
  void Abandon();

 private:
  struct Batch {
    std::vector<cluster::Change> changes;
    std::vector<Release> releases;
  };

  void CommitNext();  // on the commit loop
  void TryCommit();   // on the commit loop
  absl::Status Commit();
  void OnUnavailable(const absl::Status& status);
  void OnCommitted();
  void OnRefused(const absl::Status& status);
  void Run(std::vector<Release> releases);  // on the loop
  void FinishStop();

  store::Store& store_;
  base::EventLoop& loop_;
  base::EventLoop& commit_loop_;
  absl::AnyInvocable<void(absl::Status)> fatal_;

  // The batch in flight; accessed only on the commit loop.
  Batch in_flight_;
  int64_t sequence_ = 0;
  absl::Duration retry_delay_ = kInitialRetryDelay;

  mutable std::mutex mutex_;
  Batch gathering_;
  bool busy_ = false;       // a batch is in flight
  int64_t unreleased_ = 0;  // durable batches whose releases have not run yet
  bool failed_ = false;
  bool stopping_ = false;
  absl::AnyInvocable<void()> stopped_;
  absl::Time unavailable_since_ = absl::InfiniteFuture();
  std::string unavailable_reason_;
  absl::Time commit_since_ = absl::InfiniteFuture();  // start of the current call of the store
  CommitStats stats_;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_COMMITTER_H_
