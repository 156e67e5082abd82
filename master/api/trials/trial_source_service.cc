#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/trial_source.unary.h"
#include "master/api/authz/authorizer.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/trials/metric_cursor.h"
#include "master/api/trials/services.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

// The response is one message, which must fit into memory.
constexpr int kMaxReports = 100'000;

class TrialSourceService final : public ApiService<v1::TrialSourceService> {
 public:
  TrialSourceService(CallPipeline& calls, store::Store& store, Authorizer& authorizer)
      : ApiService(calls), store_(store), authorizer_(authorizer) {}

  Reactor* GetTrialMetricsByCheckpoint(Context* context,
                                       const v1::GetTrialMetricsByCheckpointRequest* request,
                                       v1::GetTrialMetricsByCheckpointResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return Read(model::CheckpointId(request->checkpoint_uuid()), *request, caller,
                               response);
                 });
  }

  Reactor* GetTrialMetricsByModelVersion(
      Context* context, const v1::GetTrialMetricsByModelVersionRequest* request,
      v1::GetTrialMetricsByModelVersionResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) -> absl::Status {
                   store::Models& models = store_.models();
                   DET_ASSIGN_OR_RETURN(const auto model, models.GetModel(request->model_name()));
                   DET_ASSIGN_OR_RETURN(const auto version,
                                        models.GetVersion(model.id, request->model_version_num()));
                   return Read(version.checkpoint, *request, caller, response);
                 });
  }

 private:
  // Returns the metrics of the trials that started from the checkpoint and that the caller may
  // view; they may be in another workspace than the checkpoint.
  template <class Request, class Response>
  absl::Status Read(const model::CheckpointId& id, const Request& request,
                    const auth::Principal& caller, Response* response) {
    DET_RETURN_IF_ERROR(store_.GetCheckpoint(id).status());
    if (request.trial_source_info_type() == v1::TRIAL_SOURCE_INFO_TYPE_INFERENCE) {
      return absl::OkStatus();
    }
    store::TrialQuery query;
    query.warm_start = id;
    query.bare = true;
    DET_ASSIGN_OR_RETURN(const store::TrialPage page, store_.ListTrials(query));
    for (const store::TrialRecord& record : page.trials) {
      const absl::Status visible = authorizer_.AuthorizeResource(
          "det.api.v1.TrialService.GetMetrics", caller, model::Role::kViewer, auth::Scope::kTrial,
          absl::StrCat(record.trial.id.value()));
      if (absl::IsNotFound(visible)) continue;
      DET_RETURN_IF_ERROR(visible);
      DET_RETURN_IF_ERROR(AddReports(record.trial.id, request.metric_group(), response));
    }
    return absl::OkStatus();
  }

  template <class Response>
  absl::Status AddReports(model::TrialId trial, const std::string& group, Response* response) {
    MetricCursor reports(store_, trial, group);
    for (;; reports.Pop()) {
      DET_ASSIGN_OR_RETURN(const model::MetricReport* report, reports.Peek());
      if (report == nullptr) return absl::OkStatus();
      if (response->metrics_size() == kMaxReports) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the trials have more than ", kMaxReports,
                         " metric reports; set metric_group to a group with fewer reports, or "
                         "stream the metrics of each trial with GetMetrics"));
      }
      *response->add_metrics() = ToProto(*report);
    }
  }

  store::Store& store_;
  Authorizer& authorizer_;
};

}  // namespace

std::unique_ptr<Service> MakeTrialSourceService(CallPipeline& calls, store::Store& store,
                                                Authorizer& authorizer) {
  return std::make_unique<TrialSourceService>(calls, store, authorizer);
}

}  // namespace det::api
