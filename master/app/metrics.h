// What GET /metrics says, in Prometheus' text format.
//
// Counted by the gateway and the services, read from the engine; any thread.
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
  // An HTTP answer was sent.
  void CountResponse(int status);
  // A unary call has ended.
  void CountCall(absl::StatusCode code);
  // Audit records that are in the log alone.
  void CountLostAudit(int64_t records);

  // `reply` runs on the engine's loop.
  void Render(engine::Engine& engine, absl::AnyInvocable<void(std::string)> reply);

 private:
  std::mutex mutex_;
  std::map<int, int64_t> responses_;  // by HTTP status
  std::map<absl::StatusCode, int64_t> calls_;
  int64_t lost_audit_ = 0;
};

}  // namespace det::app

#endif  // MASTER_APP_METRICS_H_
