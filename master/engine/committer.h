// Group commit: one batch is in flight, others gather behind it. What waits for a batch is released
// on the engine's loop, in order, once the batch is durable.
//
// Add, accepting and Stop are called on the engine's loop; commits run and block on the commit
// loop; the rest on any thread. Never drops or reorders a batch, never goes on after a refused one.
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
  // Given OK once durable; given an error, at the end, when it is not known to be.
  using Release = absl::AnyInvocable<void(const absl::Status&)>;

  // An outage of the database may last this long before new work is refused.
  static constexpr absl::Duration kPatience = absl::Seconds(10);
  // A commit that takes longer waits for a database that hangs: not healthy.
  static constexpr absl::Duration kCommitDeadline = absl::Seconds(5);
  static constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
  static constexpr absl::Duration kLongestPause = absl::Seconds(1);

  // All must outlive the committer, and both loops must have stopped before it dies.
  Committer(store::Store* store, base::EventLoop* loop, base::EventLoop* commit_loop,
            absl::AnyInvocable<void(absl::Status)> fatal);

  // `release` runs once `changes` and all that was added before are durable: at once if they are.
  void Add(std::vector<cluster::Change> changes, Release release);

  // False past kPatience of an outage or of one commit, after a refused commit, and after Stop.
  bool accepting() const;
  // OK, or UNAVAILABLE with the reason.
  absl::Status health() const;
  CommitStats stats() const;

  // Takes nothing more. `done` runs, on any thread, when no batch is left, or when the database is
  // away or has refused.
  void Stop(absl::AnyInvocable<void()> done);
  // Releases what is left with UNAVAILABLE. REQUIRES that the commit loop has stopped.
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

  // The batch in flight; touched on the commit loop alone.
  Batch flying_;
  int64_t sequence_ = 0;
  absl::Duration pause_ = kFirstPause;

  mutable std::mutex mutex_;
  Batch open_;
  bool busy_ = false;       // a batch is in flight
  int64_t unreleased_ = 0;  // batches that are durable, but whose releases have not run yet
  bool failed_ = false;
  bool stopping_ = false;
  absl::AnyInvocable<void()> stopped_;
  absl::Time away_since_ = absl::InfiniteFuture();
  std::string away_because_;
  absl::Time commit_since_ = absl::InfiniteFuture();  // of the call of the store under way
  CommitStats stats_;
};

}  // namespace det::engine

#endif  // MASTER_ENGINE_COMMITTER_H_
