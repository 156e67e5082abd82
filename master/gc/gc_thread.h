// The garbage collection thread. It sleeps until it is woken because there may be something to
// remove, and looks for expired data every hour. A pass that failed because the database or the
// engine was unavailable is retried after a delay.
//
// Created and stopped by master.cc; Wake is called on the engine's loop.
#ifndef MASTER_GC_GC_THREAD_H_
#define MASTER_GC_GC_THREAD_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/engine/engine.h"
#include "master/engine/sinks.h"
#include "master/gc/collector.h"
#include "master/store/interfaces/store.h"

namespace det::gc {

class GcThread final : public engine::GcSink {
 public:
  GcThread();
  ~GcThread() override { Stop(); }

  // Both pointers must be valid until Stop returns. Calls of Wake before Start are not lost.
  void Start(store::Store* store, engine::Engine* engine, const std::string& cluster_id,
             const RetentionDays& retention_days = {},
             const checkpoint_storage::Rules& buckets = {});
  // Waits for the file or transaction in progress. Must be called before Engine::Stop.
  void Stop();

  void Wake() override;

 private:
  struct Shared;

  static absl::Status Submit(Shared& shared, engine::Engine& engine, cluster::Event event);
  static void Run(Shared& shared, store::Store& store, engine::Engine& engine,
                  const std::string& cluster_id, const RetentionDays& retention_days,
                  const checkpoint_storage::Rules& buckets);

  const std::shared_ptr<Shared> shared_;  // replies that arrive after Stop keep it alive
  std::thread thread_;
};

}  // namespace det::gc

#endif  // MASTER_GC_GC_THREAD_H_
