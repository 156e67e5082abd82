#include <memory>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "det/api/v1/log_retention.unary.h"
#include "master/api/common/log_retention.h"
#include "master/api/logs/services.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

constexpr int kMaxLinesPerTransaction = 10'000;

class LogRetentionService final : public ApiService<v1::LogRetentionService> {
 public:
  LogRetentionService(CallPipeline& calls, store::Store& store, const base::Clock& clock,
                      const MasterInfo& info)
      : ApiService(calls), store_(store), clock_(clock), info_(info) {}

  grpc::ServerUnaryReactor* PutExperimentRetainLogs(
      grpc::CallbackServerContext* context, const v1::PutExperimentRetainLogsRequest* request,
      v1::PutExperimentRetainLogsResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return SetLogRetention(store_, model::ExperimentId(request->experiment_id()),
                             request->num_days());
    });
  }

  grpc::ServerUnaryReactor* PutTrialRetainLogs(grpc::CallbackServerContext* context,
                                               const v1::PutTrialRetainLogsRequest* request,
                                               v1::PutTrialRetainLogsResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return SetLogRetention(store_, model::TrialId(request->trial_id()), request->num_days());
    });
  }

  grpc::ServerUnaryReactor* CleanupLogs(grpc::CallbackServerContext* context,
                                        const v1::CleanupLogsRequest* request,
                                        v1::CleanupLogsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal&) -> absl::Status {
                   int removed = kMaxLinesPerTransaction;
                   while (removed == kMaxLinesPerTransaction) {
                     DET_ASSIGN_OR_RETURN(
                         removed, store_.garbage_collection().RemoveExpiredLogs(
                                      clock_.Now(), info_.log_days, kMaxLinesPerTransaction));
                     response->set_removed_count(response->removed_count() + removed);
                   }
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetTrialRemainingLogRetentionDays(
      grpc::CallbackServerContext* context,
      const v1::GetTrialRemainingLogRetentionDaysRequest* request,
      v1::GetTrialRemainingLogRetentionDaysResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) -> absl::Status {
          const model::TrialId id(request->id());
          DET_ASSIGN_OR_RETURN(const store::TrialRecord record, store_.GetBareTrial(id));
          DET_ASSIGN_OR_RETURN(const auto days, store_.garbage_collection().GetTrialLogDays(id));
          const auto left =
              ComputeDaysLeft(days.value_or(info_.log_days), record.trial.ended_at, clock_.Now());
          if (left) response->set_remaining_days(*left);
          return absl::OkStatus();
        });
  }

 private:
  store::Store& store_;
  const base::Clock& clock_;
  const MasterInfo& info_;
};

}  // namespace

std::unique_ptr<Service> MakeLogRetentionService(CallPipeline& calls, store::Store& store,
                                                 const base::Clock& clock, const MasterInfo& info) {
  return std::make_unique<LogRetentionService>(calls, store, clock, info);
}

}  // namespace det::api
