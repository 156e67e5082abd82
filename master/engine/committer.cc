#include "master/engine/committer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace det::engine {

Committer::Committer(store::Store* store, base::EventLoop* loop, base::EventLoop* commit_loop,
                     absl::AnyInvocable<void(absl::Status)> fatal)
    : store_(*store), loop_(*loop), commit_loop_(*commit_loop), fatal_(std::move(fatal)) {}

void Committer::Add(std::vector<cluster::Change> changes, Release release) {
  {
    std::unique_lock lock(mutex_);
    // An event without changes still depends on earlier batches.
    const bool nothing_before = !busy_ && unreleased_ == 0 && gathering_.releases.empty();
    if (changes.empty() && nothing_before) {
      lock.unlock();
      release(absl::OkStatus());
      return;
    }
    std::move(changes.begin(), changes.end(), std::back_inserter(gathering_.changes));
    gathering_.releases.push_back(std::move(release));
    if (busy_ || failed_) return;
    busy_ = true;
  }
  commit_loop_.Post([this] { CommitNext(); });
}

bool Committer::accepting() const {
  std::lock_guard lock(mutex_);
  const absl::Time waiting_since = std::min(unavailable_since_, commit_since_);
  return !failed_ && !stopping_ && loop_.Now() - waiting_since < kMaxOutage;
}

absl::Status Committer::health() const {
  std::lock_guard lock(mutex_);
  if (failed_)
    return absl::UnavailableError(
        "the database rejected a commit; the master is "
        "exiting");
  if (unavailable_since_ != absl::InfiniteFuture()) {
    return absl::UnavailableError(absl::StrCat(
        "the database is unavailable; changes wait until it is back: ", unavailable_reason_));
  }
  const absl::Duration took = loop_.Now() - commit_since_;
  if (took <= kCommitDeadline) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the database has not answered a commit for ",
                                             absl::ToInt64Seconds(took), " s"));
}

CommitStats Committer::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Committer::Stop(absl::AnyInvocable<void()> done) {
  bool finished = false;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    stopped_ = std::move(done);
    const bool hopeless = failed_ || unavailable_since_ != absl::InfiniteFuture();
    finished = hopeless || (!busy_ && unreleased_ == 0);
  }
  if (finished) FinishStop();
}

void Committer::Abandon() {
  for (Batch* batch : {&in_flight_, &gathering_}) {
    loop_.Post([releases = std::exchange(batch->releases, {})]() mutable {
      for (Release& release : releases) {
        release(absl::UnavailableError("the master is stopping; try again when it is back"));
      }
    });
  }
}

void Committer::CommitNext() {
  {
    std::lock_guard lock(mutex_);
    in_flight_ = std::exchange(gathering_, Batch());
  }
  if (!in_flight_.changes.empty()) ++sequence_;
  TryCommit();
}

void Committer::TryCommit() {
  const absl::Status status = in_flight_.changes.empty() ? absl::OkStatus() : Commit();
  if (status.ok()) {
    OnCommitted();
  } else if (absl::IsUnavailable(status)) {
    OnUnavailable(status);
  } else {
    OnRefused(status);
  }
}

absl::Status Committer::Commit() {
  const auto note = [this](absl::Time since) {
    std::lock_guard lock(mutex_);
    commit_since_ = since;
  };
  note(loop_.Now());
  absl::Status status = store_.Commit(sequence_, in_flight_.changes);
  note(absl::InfiniteFuture());
  return status;
}

void Committer::OnUnavailable(const absl::Status& status) {
  bool stopping = false;
  {
    std::lock_guard lock(mutex_);
    ++stats_.retries;
    unavailable_reason_ = std::string(status.message());
    if (unavailable_since_ == absl::InfiniteFuture()) {
      unavailable_since_ = commit_loop_.Now();
      DET_LOG(WARNING) << "the database is unavailable; changes wait until it is back"
                       << base::Field("reason", status.message());
    }
    stopping = stopping_;
  }
  if (stopping) return FinishStop();
  commit_loop_.PostAfter(retry_delay_, [this] { TryCommit(); });
  retry_delay_ = std::min(2 * retry_delay_, kMaxRetryDelay);
}

void Committer::OnCommitted() {
  retry_delay_ = kInitialRetryDelay;
  Batch batch = std::exchange(in_flight_, Batch());
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    if (!batch.changes.empty()) {
      ++stats_.commits;
      stats_.changes += static_cast<int64_t>(batch.changes.size());
      if (unavailable_since_ != absl::InfiniteFuture()) DET_LOG(INFO) << "the database is back";
      unavailable_since_ = absl::InfiniteFuture();
    }
    more = !gathering_.releases.empty();
    busy_ = more;
    ++unreleased_;
  }
  loop_.Post([this, releases = std::move(batch.releases)]() mutable { Run(std::move(releases)); });
  if (more) commit_loop_.Post([this] { CommitNext(); });
}

void Committer::Run(std::vector<Release> releases) {
  for (Release& release : releases) release(absl::OkStatus());
  bool finished = false;
  {
    std::lock_guard lock(mutex_);
    --unreleased_;
    finished = stopping_ && !busy_ && unreleased_ == 0;
  }
  if (finished) FinishStop();
}

void Committer::OnRefused(const absl::Status& status) {
  DET_LOG(ERROR) << "the database rejected a commit; this master cannot continue"
                 << base::Field("reason", status.message());
  bool stopping = false;
  {
    std::lock_guard lock(mutex_);
    failed_ = true;
    stopping = stopping_;
  }
  fatal_(status);
  if (stopping) FinishStop();
}

void Committer::FinishStop() {
  absl::AnyInvocable<void()> done;
  {
    std::lock_guard lock(mutex_);
    done = std::exchange(stopped_, nullptr);
  }
  if (done) done();
}

}  // namespace det::engine
