#include <memory>

#include "base/status_macros.h"
#include "det/api/v1/log_retention.pb.h"
#include "master/api/common/log_retention.h"
#include "master/api/logs/services.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"

namespace det::api {
namespace {

#define DET_METHOD(name) "det.api.v1.LogRetentionService." name

class LogRetentionService final : public Service {
 public:
  explicit LogRetentionService(const Edge& edge)
      : Service("det.api.v1.LogRetentionService"), edge_(edge) {
    Serve("PutExperimentRetainLogs", &LogRetentionService::PutExperimentRetainLogs);
    Serve("PutTrialRetainLogs", &LogRetentionService::PutTrialRetainLogs);
    Serve("GetTrialRemainingLogRetentionDays",
          &LogRetentionService::GetTrialRemainingLogRetentionDays);
  }

  grpc::ServerUnaryReactor* PutExperimentRetainLogs(
      grpc::CallbackServerContext* context, const v1::PutExperimentRetainLogsRequest* request,
      v1::PutExperimentRetainLogsResponse*) {
    return UnaryNow(edge_, context, request, DET_METHOD("PutExperimentRetainLogs"),
                    [this, request](const auth::Principal&) {
                      return KeepLogs(*edge_.store, model::ExperimentId(request->experiment_id()),
                                      request->num_days());
                    });
  }

  grpc::ServerUnaryReactor* PutTrialRetainLogs(grpc::CallbackServerContext* context,
                                               const v1::PutTrialRetainLogsRequest* request,
                                               v1::PutTrialRetainLogsResponse*) {
    return UnaryNow(edge_, context, request, DET_METHOD("PutTrialRetainLogs"),
                    [this, request](const auth::Principal&) {
                      return KeepLogs(*edge_.store, model::TrialId(request->trial_id()),
                                      request->num_days());
                    });
  }

  grpc::ServerUnaryReactor* GetTrialRemainingLogRetentionDays(
      grpc::CallbackServerContext* context,
      const v1::GetTrialRemainingLogRetentionDaysRequest* request,
      v1::GetTrialRemainingLogRetentionDaysResponse* response) {
    return UnaryNow(
        edge_, context, request, DET_METHOD("GetTrialRemainingLogRetentionDays"),
        [this, request, response](const auth::Principal&) -> absl::Status {
          const model::TrialId id(request->id());
          DET_ASSIGN_OR_RETURN(const store::TrialRecord record, edge_.store->GetBareTrial(id));
          DET_ASSIGN_OR_RETURN(const auto said, edge_.store->disposal().LogDaysOfTrial(id));
          const auto left = DaysLeft(said.value_or(edge_.facts.log_days), record.trial.ended_at,
                                     edge_.clock->Now());
          if (left) response->set_remaining_days(*left);
          return absl::OkStatus();
        });
  }

 private:
  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeLogRetentionService(const Edge& edge) {
  return std::make_unique<LogRetentionService>(edge);
}

}  // namespace det::api
