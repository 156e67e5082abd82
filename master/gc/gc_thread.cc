#include "master/gc/gc_thread.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "master/checkpoint_storage/experiment_files.h"
#include "master/gc/checkpoint_folder.h"
#include "master/gc/collector.h"

namespace det::gc {
namespace {

constexpr std::chrono::seconds kRetryDelay{5};
constexpr std::chrono::hours kExpiryInterval{1};

}  // namespace

struct GcThread::Shared : std::enable_shared_from_this<Shared> {
  std::mutex mutex;
  std::condition_variable changed;
  bool due = false;
  bool stopping = false;
  std::optional<absl::Status> result;  // of the submitted event

  bool Stopping() {
    std::lock_guard lock(mutex);
    return stopping;
  }
};

GcThread::GcThread() : shared_(std::make_shared<Shared>()) {}

void GcThread::Start(store::Store* store, engine::Engine* engine, const std::string& cluster_id,
                     const RetentionDays& retention_days,
                     const checkpoint_storage::Rules& buckets) {
  thread_ = std::thread([shared = shared_, store, engine, cluster_id, retention_days, buckets] {
    Run(*shared, *store, *engine, cluster_id, retention_days, buckets);
  });
}

void GcThread::Stop() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GcThread::Wake() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->due = true;
  }
  shared_->changed.notify_all();
}

absl::Status GcThread::Submit(Shared& shared, engine::Engine& engine, cluster::Event event) {
  {
    std::lock_guard lock(shared.mutex);
    shared.result.reset();
  }
  engine.Submit(std::move(event), [shared = shared.shared_from_this()](
                                      const absl::StatusOr<engine::Applied>& applied) {
    std::lock_guard lock(shared->mutex);
    shared->result = applied.status();
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared.mutex);
  shared.changed.wait(lock, [&] { return shared.result || shared.stopping; });
  return shared.result.value_or(absl::CancelledError("the master is stopping"));
}

void GcThread::Run(Shared& shared, store::Store& store, engine::Engine& engine,
                   const std::string& cluster_id, const RetentionDays& retention_days,
                   const checkpoint_storage::Rules& buckets) {
  Collector collector(
      {.store = &store,
       .garbage_collection = &store.garbage_collection(),
       .submit = [&](cluster::Event event) { return Submit(shared, engine, std::move(event)); },
       .remove_files =
           [&](const model::CheckpointStorageConfig& storage, const model::CheckpointId& id) {
             return RemoveCheckpointFiles(buckets, storage, id);
           },
       .remove_some_files =
           [&](const model::CheckpointStorageConfig& storage, const model::CheckpointId& id,
               const model::Resources& files) {
             return RemoveSomeCheckpointFiles(buckets, storage, id, files);
           },
       .remove_experiment_files =
           [&](const model::CheckpointStorageConfig& storage, model::ExperimentId id,
               const std::vector<model::TrialId>& trials) {
             return checkpoint_storage::RemoveExperimentFiles(buckets, storage, cluster_id, id,
                                                              trials);
           },
       .retention_days = retention_days,
       .stopping = [&] { return shared.Stopping(); }});
  bool again = false;
  auto next_expiry_at = std::chrono::steady_clock::now();
  while (true) {
    {
      std::unique_lock lock(shared.mutex);
      const auto awake = [&] { return shared.due || shared.stopping; };
      if (again) {
        shared.changed.wait_for(lock, kRetryDelay, awake);
      } else {
        shared.changed.wait_until(lock, next_expiry_at, awake);
      }
      if (shared.stopping) return;
      shared.due = false;
    }
    absl::Status pass = collector.Collect();
    if (pass.ok() && std::chrono::steady_clock::now() >= next_expiry_at) {
      pass = collector.RemoveExpired(absl::Now());
      if (pass.ok()) next_expiry_at = std::chrono::steady_clock::now() + kExpiryInterval;
    }
    again = !pass.ok();
    if (pass.ok() || absl::IsCancelled(pass)) continue;
    DET_LOG(WARNING) << "garbage collection postponed" << base::Field("reason", pass.message());
  }
}

}  // namespace det::gc
