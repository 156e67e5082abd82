#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/log_retention.pb.h"
#include "master/service/call.h"
#include "master/service/service.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

#define DET_METHOD(name) "det.api.v1.LogRetentionService." name

absl::Status CheckDays(int days) {
  constexpr int kLongest = 32'767;
  if (days >= -1 && days <= kLongest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("num_days: expected -1 (for ever) to ", kLongest, ", found ", days));
}

class LogRetentionService final : public Service {
 public:
  explicit LogRetentionService(const Edge& edge)
      : Service("det.api.v1.LogRetentionService"), edge_(edge) {
    Serve("PutExperimentRetainLogs", &LogRetentionService::PutExperimentRetainLogs);
    Serve("PutTrialRetainLogs", &LogRetentionService::PutTrialRetainLogs);
  }

  grpc::ServerUnaryReactor* PutExperimentRetainLogs(
      grpc::CallbackServerContext* context, const api::PutExperimentRetainLogsRequest* request,
      api::PutExperimentRetainLogsResponse*) {
    return UnaryNow(edge_, context, request, DET_METHOD("PutExperimentRetainLogs"),
                    [this, request](const auth::Principal&) -> absl::Status {
                      DET_RETURN_IF_ERROR(CheckDays(request->num_days()));
                      return edge_.store->disposal().KeepLogsOfExperiment(
                          model::ExperimentId(request->experiment_id()), request->num_days());
                    });
  }

  grpc::ServerUnaryReactor* PutTrialRetainLogs(grpc::CallbackServerContext* context,
                                               const api::PutTrialRetainLogsRequest* request,
                                               api::PutTrialRetainLogsResponse*) {
    return UnaryNow(edge_, context, request, DET_METHOD("PutTrialRetainLogs"),
                    [this, request](const auth::Principal&) -> absl::Status {
                      DET_RETURN_IF_ERROR(CheckDays(request->num_days()));
                      return edge_.store->disposal().KeepLogsOfTrial(
                          model::TrialId(request->trial_id()), request->num_days());
                    });
  }

 private:
  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeLogRetentionService(const Edge& edge) {
  return std::make_unique<LogRetentionService>(edge);
}

}  // namespace det::service
