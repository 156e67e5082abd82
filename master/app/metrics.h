// Metrics of the master for GET /metrics, in Prometheus' text format.
//
// Counted by the gateway and the services, or read from the engine; any thread.
#ifndef MASTER_APP_METRICS_H_
#define MASTER_APP_METRICS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "master/engine/engine.h"

namespace det::app {

class Metrics {
 public:
  // Counts an HTTP response.
  void CountResponse(int status);
  // Counts a completed unary call.
  void CountCall(absl::StatusCode code);
  // Counts audit records that could not be stored and are only in the log.
  void CountLostAudit(int64_t records);

  // Renders all metrics. `reply` runs on the engine's loop.
  void Render(engine::Engine& engine, absl::AnyInvocable<void(std::string)> reply);

 private:
  std::mutex mutex_;
  std::map<int, int64_t> responses_;  // by HTTP status
  std::map<absl::StatusCode, int64_t> calls_;
  int64_t lost_audit_ = 0;
};

}  // namespace det::app

#endif  // MASTER_APP_METRICS_H_
