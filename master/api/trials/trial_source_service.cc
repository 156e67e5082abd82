#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/uuid.h"
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

// "INFERENCE"; empty for any use.
std::string ToText(v1::TrialSourceInfoType type) {
  if (type == v1::TRIAL_SOURCE_INFO_TYPE_INFERENCE) return "INFERENCE";
  if (type == v1::TRIAL_SOURCE_INFO_TYPE_FINE_TUNING) return "FINE_TUNING";
  return "";
}

absl::StatusOr<store::TrialSource> ToSource(const v1::TrialSourceInfo& info) {
  store::TrialSource source;
  source.trial = model::TrialId(info.trial_id());
  source.checkpoint = model::CheckpointId(info.checkpoint_uuid());
  source.type = ToText(info.trial_source_info_type());
  if (info.has_model_id()) source.model = info.model_id();
  if (info.has_model_version()) source.version = info.model_version();
  if (!base::IsUuid(info.checkpoint_uuid())) {
    return absl::InvalidArgumentError(absl::StrCat("trial_source_info.checkpoint_uuid: \"",
                                                   info.checkpoint_uuid(),
                                                   "\" is not a UUID in lower case"));
  }
  if (!source.type.empty()) return source;
  return absl::InvalidArgumentError(
      "trial_source_info.trial_source_info_type: expected TRIAL_SOURCE_INFO_TYPE_INFERENCE or "
      "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING");
}

class TrialSourceService final : public ApiService<v1::TrialSourceService> {
 public:
  TrialSourceService(CallPipeline& calls, store::Store& store, Authorizer& authorizer)
      : ApiService(calls), store_(store), authorizer_(authorizer) {}

  Reactor* ReportTrialSourceInfo(Context* context, const v1::ReportTrialSourceInfoRequest* request,
                                 v1::ReportTrialSourceInfoResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const store::TrialSource source,
                                        ToSource(request->trial_source_info()));
                   DET_RETURN_IF_ERROR(store_.detached().PutTrialSource(source));
                   response->set_trial_id(source.trial.value());
                   response->set_checkpoint_uuid(source.checkpoint.value());
                   return absl::OkStatus();
                 });
  }

  Reactor* GetTrialMetricsByCheckpoint(Context* context,
                                       const v1::GetTrialMetricsByCheckpointRequest* request,
                                       v1::GetTrialMetricsByCheckpointResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return Read(ReadCheckpointId(request->checkpoint_uuid()), *request, caller,
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
  // Returns the metrics of the trials that started from the checkpoint, or have reported that they
  // use it, and that the caller may view; they may be in another workspace than the checkpoint.
  template <class Request, class Response>
  absl::Status Read(const model::CheckpointId& id, const Request& request,
                    const auth::Principal& caller, Response* response) {
    DET_RETURN_IF_ERROR(store_.GetCheckpoint(id).status());
    DET_ASSIGN_OR_RETURN(
        const std::vector<model::TrialId> reported,
        store_.detached().ListTrialsBySource(id, ToText(request.trial_source_info_type())));
    std::set<model::TrialId> trials(reported.begin(), reported.end());
    if (request.trial_source_info_type() != v1::TRIAL_SOURCE_INFO_TYPE_INFERENCE) {
      store::TrialQuery query;
      query.warm_start = id;
      query.bare = true;
      DET_ASSIGN_OR_RETURN(const store::TrialPage page, store_.ListTrials(query));
      for (const store::TrialRecord& record : page.trials) trials.insert(record.trial.id);
    }
    for (const model::TrialId trial : trials) {
      const absl::Status visible = authorizer_.AuthorizeResource(
          "det.api.v1.TrialService.GetMetrics", caller, model::Permission::kViewExperimentMetadata,
          auth::Scope::kTrial, absl::StrCat(trial.value()));
      if (absl::IsNotFound(visible)) continue;
      DET_RETURN_IF_ERROR(visible);
      DET_RETURN_IF_ERROR(AddReports(trial, request.metric_group(), response));
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
