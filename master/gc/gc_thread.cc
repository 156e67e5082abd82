#include "master/gc/gc_thread.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "base/log.h"
#include "master/gc/checkpoint_folder.h"
#include "master/gc/collector.h"

namespace det::gc {
namespace {

constexpr std::chrono::seconds kAgainAfter{5};
constexpr std::chrono::hours kAges{1};

}  // namespace

struct Sweep::Shared : std::enable_shared_from_this<Shared> {
  std::mutex mutex;
  std::condition_variable changed;
  bool due = false;
  bool stopping = false;
  std::optional<absl::Status> answer;  // to the event that was submitted

  bool Stopping() {
    std::lock_guard lock(mutex);
    return stopping;
  }
};

Sweep::Sweep() : shared_(std::make_shared<Shared>()) {}

void Sweep::Start(store::Store* store, engine::Engine* engine, const Ages& ages,
                  const checkpoint_storage::Rules& buckets) {
  thread_ = std::thread([shared = shared_, store, engine, ages, buckets] {
    Run(*shared, *store, *engine, ages, buckets);
  });
}

void Sweep::Stop() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Sweep::Soon() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->due = true;
  }
  shared_->changed.notify_all();
}

absl::Status Sweep::Submit(Shared& shared, engine::Engine& engine, cluster::Event event) {
  {
    std::lock_guard lock(shared.mutex);
    shared.answer.reset();
  }
  engine.Submit(std::move(event), [shared = shared.shared_from_this()](
                                      const absl::StatusOr<engine::Applied>& applied) {
    std::lock_guard lock(shared->mutex);
    shared->answer = applied.status();
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared.mutex);
  shared.changed.wait(lock, [&] { return shared.answer || shared.stopping; });
  return shared.answer.value_or(absl::CancelledError("the master is stopping"));
}

void Sweep::Run(Shared& shared, store::Store& store, engine::Engine& engine, const Ages& ages,
                const checkpoint_storage::Rules& buckets) {
  Sweeper sweeper(
      {.store = &store,
       .disposal = &store.disposal(),
       .submit = [&](cluster::Event event) { return Submit(shared, engine, std::move(event)); },
       .remove_files =
           [&](const model::CheckpointStorageConfig& storage, const model::CheckpointId& id) {
             return RemoveCheckpointFiles(buckets, storage, id);
           },
       .remove_some_files =
           [&](const model::CheckpointStorageConfig& storage, const model::CheckpointId& id,
               const model::Resources& files) {
             return RemoveFilesOfCheckpoint(buckets, storage, id, files);
           },
       .ages = ages,
       .stopping = [&] { return shared.Stopping(); }});
  bool again = false;
  auto old_at = std::chrono::steady_clock::now();
  while (true) {
    {
      std::unique_lock lock(shared.mutex);
      const auto awake = [&] { return shared.due || shared.stopping; };
      if (again) {
        shared.changed.wait_for(lock, kAgainAfter, awake);
      } else {
        shared.changed.wait_until(lock, old_at, awake);
      }
      if (shared.stopping) return;
      shared.due = false;
    }
    absl::Status pass = sweeper.Pass();
    if (pass.ok() && std::chrono::steady_clock::now() >= old_at) {
      pass = sweeper.RemoveOld(absl::Now());
      if (pass.ok()) old_at = std::chrono::steady_clock::now() + kAges;
    }
    again = !pass.ok();
    if (pass.ok() || absl::IsCancelled(pass)) continue;
    DET_LOG(WARNING) << "what is to be removed waits" << base::Field("reason", pass.message());
  }
}

}  // namespace det::gc
