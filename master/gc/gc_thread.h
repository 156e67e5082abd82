// The thread that removes what is to be removed. It sleeps until it is told that there may be
// something, or for an hour: then it looks for what has grown too old. It tries again after a while
// what the database's or the engine's absence broke off.
//
// Made and stopped by master.cc; Soon on the engine's loop.
#ifndef MASTER_GC_GC_THREAD_H_
#define MASTER_GC_GC_THREAD_H_

#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/engine/engine.h"
#include "master/engine/sinks.h"
#include "master/gc/collector.h"
#include "master/store/interfaces/store.h"

namespace det::gc {

class Sweep final : public engine::SweepSink {
 public:
  Sweep();
  ~Sweep() override { Stop(); }

  // Both must outlive this, or its Stop. What Soon said before is not lost.
  void Start(store::Store* store, engine::Engine* engine, const Ages& ages = {},
             const checkpoint_storage::Rules& buckets = {});
  // Waits for the file or the transaction that it is at. Before the engine's.
  void Stop();

  void Soon() override;

 private:
  struct Shared;

  static absl::Status Submit(Shared& shared, engine::Engine& engine, cluster::Event event);
  static void Run(Shared& shared, store::Store& store, engine::Engine& engine, const Ages& ages,
                  const checkpoint_storage::Rules& buckets);

  const std::shared_ptr<Shared> shared_;  // outlived by answers that come too late
  std::thread thread_;
};

}  // namespace det::gc

#endif  // MASTER_GC_GC_THREAD_H_
