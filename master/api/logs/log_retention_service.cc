#include <memory>

#include "base/status_macros.h"
#include "det/api/v1/log_retention.grpc.pb.h"
#include "master/api/common/log_retention.h"
#include "master/api/logs/services.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

class LogRetentionService final : public ApiService<v1::LogRetentionService> {
 public:
  LogRetentionService(CallPipeline& calls, store::Store& store, const base::Clock& clock,
                      const MasterFacts& facts)
      : ApiService(calls), store_(store), clock_(clock), facts_(facts) {}

  grpc::ServerUnaryReactor* PutExperimentRetainLogs(
      grpc::CallbackServerContext* context, const v1::PutExperimentRetainLogsRequest* request,
      v1::PutExperimentRetainLogsResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return KeepLogs(store_, model::ExperimentId(request->experiment_id()), request->num_days());
    });
  }

  grpc::ServerUnaryReactor* PutTrialRetainLogs(grpc::CallbackServerContext* context,
                                               const v1::PutTrialRetainLogsRequest* request,
                                               v1::PutTrialRetainLogsResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return KeepLogs(store_, model::TrialId(request->trial_id()), request->num_days());
    });
  }

  grpc::ServerUnaryReactor* GetTrialRemainingLogRetentionDays(
      grpc::CallbackServerContext* context,
      const v1::GetTrialRemainingLogRetentionDaysRequest* request,
      v1::GetTrialRemainingLogRetentionDaysResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   const model::TrialId id(request->id());
                   DET_ASSIGN_OR_RETURN(const store::TrialRecord record, store_.GetBareTrial(id));
                   DET_ASSIGN_OR_RETURN(const auto days,
                                        store_.garbage_collection().GetTrialLogDays(id));
                   const auto left = DaysLeft(days.value_or(facts_.log_days), record.trial.ended_at,
                                              clock_.Now());
                   if (left) response->set_remaining_days(*left);
                   return absl::OkStatus();
                 });
  }

 private:
  store::Store& store_;
  const base::Clock& clock_;
  const MasterFacts& facts_;
};

}  // namespace

std::unique_ptr<Service> MakeLogRetentionService(CallPipeline& calls, store::Store& store,
                                                 const base::Clock& clock,
                                                 const MasterFacts& facts) {
  return std::make_unique<LogRetentionService>(calls, store, clock, facts);
}

}  // namespace det::api
