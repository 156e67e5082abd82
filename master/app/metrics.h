// Metrics of the master for GET /metrics, in Prometheus' text format.
//
// Counted by the gateway and the services, or read from the engine; any thread.
#ifndef MASTER_APP_METRICS_H_
#define MASTER_APP_METRICS_H_

#include <cstdint>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "master/engine/engine.h"
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

namespace det::app {

class Metrics {
 public:
  Metrics();

  // Counts an HTTP response.
  void CountResponse(int status);
  // Counts a completed unary call.
  void CountCall(absl::StatusCode code);
  // Counts audit records that could not be stored and are only in the log.
  void CountLostAudit(int64_t records);

  // Renders all metrics. `reply` runs on the engine's loop; this object must still exist then.
  void Render(engine::Engine& engine, absl::AnyInvocable<void(std::string)> reply);

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& responses_;  // by HTTP status
  prometheus::Family<prometheus::Counter>& calls_;      // by status code
  prometheus::Counter& lost_audit_;
};

}  // namespace det::app

#endif  // MASTER_APP_METRICS_H_
