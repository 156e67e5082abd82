#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/task_runtime.unary.h"
#include "master/api/checkpoints/checkpoint_removal.h"
#include "master/api/common/convert.h"
#include "master/api/common/task_trial.h"
#include "master/api/rpc/api_service.h"
#include "master/api/runtime/all_gather.h"
#include "master/api/runtime/allocation_calls.h"
#include "master/api/runtime/allocation_status.h"
#include "master/api/runtime/report_metrics.h"
#include "master/api/runtime/services.h"
#include "master/api/runtime/task_reports.h"
#include "master/api/runtime/trial_reports.h"
#include "master/api/runtime/user_reports.h"
#include "master/core/model/id_text.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {
namespace {

namespace trial = det::trial::v1;
using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

constexpr absl::Duration kMaxWait = absl::Minutes(10);

struct Caller {
  model::AllocationId allocation;
  AllocationStatus status;
};

absl::Status MakeNotOwnedError(const auth::Principal& principal, absl::string_view noun,
                               absl::string_view id) {
  return absl::PermissionDeniedError(absl::StrCat(
      "the token of allocation ", principal.allocation.value(), " cannot access ", noun, " ", id));
}

absl::Status CheckOwnTask(const auth::Principal& principal, const std::string& task) {
  const auto run = model::ParseAllocationId(principal.allocation);
  if (run && run->task.value() == task) return absl::OkStatus();
  const auto other = model::ParseOtherTask(principal.allocation);
  if (other && other->value() == task) return absl::OkStatus();
  return MakeNotOwnedError(principal, "task", task);
}

// A task may report only the accelerators of its own allocation.
absl::Status CheckOwnAccelerators(const auth::Principal& principal,
                                  const v1::AcceleratorData& data) {
  if (principal.kind != auth::PrincipalKind::kAllocation) return absl::OkStatus();
  absl::Status own;
  if (!data.allocation_id().empty()) own = CheckOwnAllocation(principal, data.allocation_id());
  if (own.ok() && !data.task_id().empty()) own = CheckOwnTask(principal, data.task_id());
  return own;
}

absl::Status CheckOwnTrial(const auth::Principal& principal, int32_t id) {
  const auto run = model::ParseAllocationId(principal.allocation);
  if (run && run->trial.value() == id) return absl::OkStatus();
  return MakeNotOwnedError(principal, "trial", absl::StrCat(id));
}

absl::StatusOr<v1::RendezvousInfo> ToInfo(const OptionalUpdate& update,
                                          const std::string& resources) {
  if (!update) {
    return absl::DeadlineExceededError(
        absl::StrCat("some local tasks of this allocation have not started within ",
                     absl::FormatDuration(kMaxWait), "; retry"));
  }
  v1::RendezvousInfo info;
  const auto& nodes = update->rendezvous().nodes();
  for (const trial::Rendezvous::Node& node : nodes) {
    if (node.agent_id() == resources) info.set_rank(info.addresses_size());
    info.add_addresses(node.address());
    info.add_slots(node.slots());
  }
  return info;
}

class TaskRuntimeService final : public ApiService<v1::TaskRuntimeService> {
 public:
  TaskRuntimeService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                     live::ExperimentWatch& watch, live::AllocationWatch& allocations,
                     AllGather& all_gather, webhooks::TriggerWatch* triggers,
                     live::LifeSigns& life_signs, base::ThreadPool& pool, base::EventLoop& loop,
                     const base::Clock& clock)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        watch_(watch),
        allocations_(allocations),
        all_gather_(all_gather),
        triggers_(triggers),
        life_signs_(life_signs),
        pool_(pool),
        loop_(loop),
        clock_(clock) {}

  Reactor* GetTaskContextDirectory(Context* context,
                                   const v1::GetTaskContextDirectoryRequest* request,
                                   v1::GetTaskContextDirectoryResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal& principal) -> absl::Status {
          if (principal.kind == auth::PrincipalKind::kAllocation) {
            DET_RETURN_IF_ERROR(CheckOwnTask(principal, request->task_id()));
          }
          DET_ASSIGN_OR_RETURN(const std::string hash, FindContext(request->task_id()));
          if (hash.empty()) return absl::OkStatus();
          DET_ASSIGN_OR_RETURN(*response->mutable_b64_tgz(), store_.GetContext(hash));
          return absl::OkStatus();
        });
  }

  // The agents report their devices, so the data is not needed.
  Reactor* PostAllocationAcceleratorData(
      Context* context, const v1::PostAllocationAcceleratorDataRequest* request,
      v1::PostAllocationAcceleratorDataResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal, Done done) {
                   absl::Status own = CheckOwnAccelerators(principal, request->accelerator_data());
                   if (!own.ok()) return done(std::move(own));
                   CheckLive(engine_, pool_, principal, request->allocation_id(), std::move(done));
                 });
  }
  Reactor* GetTaskAcceleratorData(Context* context,
                                  const v1::GetTaskAcceleratorDataRequest* request,
                                  v1::GetTaskAcceleratorDataResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   ReadAccelerators(engine_, pool_, store_, request->task_id(), response,
                                    std::move(done));
                 });
  }

  Reactor* AllocationRendezvousInfo(Context* context,
                                    const v1::AllocationRendezvousInfoRequest* request,
                                    v1::AllocationRendezvousInfoResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](Call& call, Done done) {
                   CheckLive(engine_, pool_, call.principal(), request->allocation_id(),
                             [this, &call, request, response,
                              done = std::move(done)](const absl::Status& live) mutable {
                               if (!live.ok()) return done(live);
                               AwaitRendezvous(call, *request, response, std::move(done));
                             });
                 });
  }

  Reactor* AllocationPreemptionSignal(Context* context,
                                      const v1::AllocationPreemptionSignalRequest* request,
                                      v1::AllocationPreemptionSignalResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](Call& call, Done done) {
                   const std::string& id = request->allocation_id();
                   const absl::Status valid = CheckAllocation(call.principal(), id);
                   if (!valid.ok()) return done(valid);
                   const absl::Duration timeout =
                       std::min(absl::Seconds(request->timeout_seconds()), kMaxWait);
                   const bool is_user = call.principal().kind == auth::PrincipalKind::kUser;
                   if (is_user && RunsOutside(store_, id)) {
                     return WaitFor(loop_, timeout, call, std::move(done));
                   }
                   AwaitUpdate(engine_, pool_, loop_, allocations_, model::AllocationId(id),
                               trial::AllocationUpdate::kPreemption, timeout, call,
                               [response, done = std::move(done)](
                                   const absl::StatusOr<OptionalUpdate>& update) mutable {
                                 if (update.ok()) response->set_preempt(update->has_value());
                                 done(update.status());
                               });
                 });
  }

  Reactor* AckAllocationPreemptionSignal(
      Context* context, const v1::AckAllocationPreemptionSignalRequest* request,
      v1::AckAllocationPreemptionSignalResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal, Done done) {
                   const std::string& id = request->allocation_id();
                   CheckLive(engine_, pool_, principal, id,
                             [this, id, done = std::move(done)](const absl::Status& live) mutable {
                               if (!live.ok()) return done(live);
                               SubmitAndFinish(engine_,
                                               cluster::PreemptionAcked{model::AllocationId(id)},
                                               std::move(done));
                             });
                 });
  }

  // The cluster knows from its agents whether an allocation is running, so these reports change
  // nothing.
  Reactor* AllocationWaiting(Context* context, const v1::AllocationWaitingRequest* request,
                             v1::AllocationWaitingResponse* response) override {
    return Acknowledge(context, __func__, request, response);
  }
  Reactor* AllocationReady(Context* context, const v1::AllocationReadyRequest* request,
                           v1::AllocationReadyResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal, Done done) {
                   const model::AllocationId id(request->allocation_id());
                   CheckLive(engine_, pool_, principal, id.value(),
                             [this, id, port = request->port(),
                              done = std::move(done)](const absl::Status& live) mutable {
                               if (!live.ok() || port == 0) return done(live);
                               SubmitAndFinish(engine_, cluster::TaskReady{id, port},
                                               std::move(done));
                             });
                 });
  }
  Reactor* AllocationPendingPreemptionSignal(
      Context* context, const v1::AllocationPendingPreemptionSignalRequest* request,
      v1::AllocationPendingPreemptionSignalResponse* response) override {
    return Acknowledge(context, __func__, request, response);
  }
  Reactor* PostAllocationProxyAddress(Context* context,
                                      const v1::PostAllocationProxyAddressRequest* request,
                                      v1::PostAllocationProxyAddressResponse* response) override {
    return Acknowledge(context, __func__, request, response);
  }
  Reactor* MarkAllocationResourcesDaemon(
      Context* context, const v1::MarkAllocationResourcesDaemonRequest* request,
      v1::MarkAllocationResourcesDaemonResponse* response) override {
    return Acknowledge(context, __func__, request, response);
  }

  Reactor* AllocationAllGather(Context* context, const v1::AllocationAllGatherRequest* request,
                               v1::AllocationAllGatherResponse* response) override {
    return Gather(context, __func__, request, response);
  }
  Reactor* NotifyContainerRunning(Context* context,
                                  const v1::NotifyContainerRunningRequest* request,
                                  v1::NotifyContainerRunningResponse* response) override {
    return Gather(context, __func__, request, response);
  }

  Reactor* PostTaskLogs(Context* context, const v1::PostTaskLogsRequest* request,
                        v1::PostTaskLogsResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request](const auth::Principal& caller) { return AddLines(caller, *request); });
  }
  Reactor* PostRawTaskLogs(Context* context, const v1::PostTaskLogsRequest* request,
                           google::api::HttpBody* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   response->set_content_type("application/json");
                   response->set_data("\"\"");
                   return AddLines(caller, *request);
                 });
  }

  Reactor* RunPrepareForReporting(Context* context,
                                  const v1::RunPrepareForReportingRequest* request,
                                  v1::RunPrepareForReportingResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   if (!IsUser(principal)) return CheckOwnTrial(principal, request->run_id());
                   const model::TrialId id(request->run_id());
                   DET_RETURN_IF_ERROR(store_.detached().IsUnmanaged(id).status());
                   if (!request->has_checkpoint_storage()) return absl::OkStatus();
                   DET_ASSIGN_OR_RETURN(const model::Value storage,
                                        ToStorage(request->checkpoint_storage()));
                   DET_ASSIGN_OR_RETURN(const int32_t stored,
                                        store_.detached().PutCheckpointStorage(storage));
                   response->set_storage_id(stored);
                   return absl::OkStatus();
                 });
  }

  Reactor* PostTrialRunnerMetadata(Context* context,
                                   const v1::PostTrialRunnerMetadataRequest* request,
                                   v1::PostTrialRunnerMetadataResponse*) override {
    return ServeTrial(
        context, __func__, request, request->trial_id(),
        [this, request](const Caller& caller, Done done) {
          ReportProgress(caller, caller.status.progress, request->state(), std::move(done));
        },
        [this, request](model::TrialId id) {
          return store_.detached().SetRunnerState(id, request->state());
        });
  }

  Reactor* ReportTrialProgress(Context* context, const v1::ReportTrialProgressRequest* request,
                               v1::ReportTrialProgressResponse*) override {
    return ServeTrial(
        context, __func__, request, request->trial_id(),
        [this, request](const Caller& caller, Done done) {
          ReportProgress(caller, request->progress(), caller.status.runner_state, std::move(done));
        },
        [this, request](model::TrialId id) -> absl::StatusOr<model::ExperimentId> {
          DET_RETURN_IF_ERROR(CheckProgress(request->progress()));
          return store_.detached().SetProgress(id, request->progress());
        });
  }

  Reactor* ReportTrialMetrics(Context* context, const v1::ReportTrialMetricsRequest* request,
                              v1::ReportTrialMetricsResponse*) override {
    return Report(context, __func__, request, request->metrics(), request->group());
  }
  Reactor* ReportTrialTrainingMetrics(Context* context,
                                      const v1::ReportTrialTrainingMetricsRequest* request,
                                      v1::ReportTrialMetricsResponse*) override {
    return Report(context, __func__, request, request->training_metrics(), "training");
  }
  Reactor* ReportTrialValidationMetrics(Context* context,
                                        const v1::ReportTrialValidationMetricsRequest* request,
                                        v1::ReportTrialMetricsResponse*) override {
    return Report(context, __func__, request, request->validation_metrics(), "validation");
  }

  Reactor* ReportCheckpoint(Context* context, const v1::ReportCheckpointRequest* request,
                            v1::ReportCheckpointResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request](const auth::Principal& principal, Done done) {
          if (IsUser(principal)) return AddUserCheckpoint(request->checkpoint(), std::move(done));
          absl::Status own = CheckOwnTask(principal, request->checkpoint().task_id());
          own.Update(CheckUuidIsOwn(store_, request->checkpoint().uuid(), principal.allocation));
          if (!own.ok()) return done(own);
          AddTaskCheckpoint(request->checkpoint(), principal.allocation, std::move(done));
        });
  }

  Reactor* PatchCheckpoints(Context* context, const v1::PatchCheckpointsRequest* request,
                            v1::PatchCheckpointsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal, Done done) {
                   auto removed = ToDeleteCheckpoints(principal, *request);
                   if (!removed.ok()) return done(removed.status());
                   if (removed->ids.empty() && removed->trims.empty()) {
                     return done(absl::OkStatus());
                   }
                   if (IsUser(principal)) {
                     return SubmitAndFinish(engine_, *std::move(removed), std::move(done));
                   }
                   WithCaller(
                       principal.allocation,
                       [this, removed = *std::move(removed)](const Caller&, Done done) mutable {
                         SubmitAndFinish(engine_, std::move(removed), std::move(done));
                       },
                       std::move(done));
                 });
  }

  Reactor* ReportTrialSearcherEarlyExit(Context* context,
                                        const v1::ReportTrialSearcherEarlyExitRequest* request,
                                        v1::ReportTrialSearcherEarlyExitResponse*) override {
    using Request = v1::ReportTrialSearcherEarlyExitRequest;
    static constexpr char kMessage[] = "the training code reported invalid hyperparameters";
    const auto check = [request]() -> absl::Status {
      if (request->reason() != Request::EXITED_REASON_UNSPECIFIED) return absl::OkStatus();
      return absl::InvalidArgumentError(
          "reason: expected EXITED_REASON_INVALID_HP or EXITED_REASON_INIT_INVALID_HP");
    };
    return ServeTrial(
        context, __func__, request, request->trial_id(),
        [this, check](const Caller& caller, Done done) {
          absl::Status valid = check();
          if (!valid.ok()) return done(std::move(valid));
          SubmitAndFinish(engine_,
                          cluster::EarlyExitReported{.allocation = caller.allocation,
                                                     .reason = model::ExitReason::kInvalidHp,
                                                     .message = kMessage},
                          std::move(done));
        },
        [this, check](model::TrialId id) -> absl::StatusOr<model::ExperimentId> {
          DET_RETURN_IF_ERROR(check());
          return store_.detached().SetReason(id, kMessage);
        });
  }

 private:
  // Serves a report that changes nothing: the allocation must be live.
  template <class Request, class Response>
  Reactor* Acknowledge(Context* context, const char* method, const Request* request,
                       Response* response) {
    return Unary(method, context, request, response,
                 [this, request](const auth::Principal& principal, Done done) {
                   CheckLive(engine_, pool_, principal, request->allocation_id(), std::move(done));
                 });
  }

  template <class Request, class Response>
  Reactor* Gather(Context* context, const char* method, const Request* request,
                  Response* response) {
    return Unary(
        method, context, request, response, [this, request, response](Call& call, Done done) {
          CheckLive(engine_, pool_, call.principal(), request->allocation_id(),
                    [this, &call, request, response,
                     done = std::move(done)](const absl::Status& live) mutable {
                      if (!live.ok()) return done(live);
                      GatherFromPeers(all_gather_, call, request->allocation_id(),
                                      request->request_uuid(), request->num_peers(),
                                      request->data(), response->mutable_data(), std::move(done));
                    });
        });
  }

  void AwaitRendezvous(Call& call, const v1::AllocationRendezvousInfoRequest& request,
                       v1::AllocationRendezvousInfoResponse* response, Done done) {
    const model::AllocationId id(request.allocation_id());
    if (model::ParseOtherTask(id)) {
      return done(absl::FailedPreconditionError(absl::StrCat(
          "allocation ", id.value(), " has no rendezvous: only those of trials have one")));
    }
    AwaitUpdate(engine_, pool_, loop_, allocations_, id, trial::AllocationUpdate::kRendezvous,
                kMaxWait, call,
                [&request, response,
                 done = std::move(done)](const absl::StatusOr<OptionalUpdate>& update) mutable {
                  if (!update.ok()) return done(update.status());
                  auto info = ToInfo(*update, request.resources_id());
                  if (info.ok()) *response->mutable_rendezvous_info() = *info;
                  done(info.status());
                });
  }

  // `metrics` is a field of `request`.
  Reactor* Report(Context* context, const char* method, const google::protobuf::Message* request,
                  const v1::TrialMetrics& metrics, const std::string& group) {
    return Unary(
        method, context, request, nullptr,
        [this, &metrics, group](const auth::Principal& principal, Done done) {
          if (IsUser(principal)) return AddUserMetrics(metrics, group, std::move(done));
          const absl::Status own = CheckOwnTrial(principal, metrics.trial_id());
          if (!own.ok()) return done(own);
          WithCaller(
              principal.allocation,
              [this, &metrics, group](const Caller& caller, Done done) {
                auto reports =
                    ToReports(ToReport(metrics, group, caller.status.run_id), clock_.Now());
                if (!reports.ok()) return done(reports.status());
                AddMetrics(engine_, store_, watch_, triggers_, pool_, caller.status.experiment,
                           caller.allocation, *std::move(reports), nullptr, std::move(done));
              },
              std::move(done));
        });
  }

  using Work = absl::AnyInvocable<void(const Caller&, Done)>;

  void WithCaller(const model::AllocationId& allocation, Work work, Done done) {
    GetAllocationStatus(engine_, pool_, allocation,
                        [id = allocation, work = std::move(work), done = std::move(done)](
                            absl::StatusOr<AllocationStatus> allocation) mutable {
                          if (!allocation.ok()) return done(allocation.status());
                          work(Caller{id, *std::move(allocation)}, std::move(done));
                        });
  }

  // Serves a report about a trial. A task reports about itself: `work` gets its allocation, which
  // must not have ended. A user reports for a managed trial as its current allocation would, and
  // for an unmanaged one by `detached`, which returns the experiment.
  using Detached = absl::AnyInvocable<absl::StatusOr<model::ExperimentId>(model::TrialId)>;
  template <class Request>
  Reactor* ServeTrial(Context* context, const char* method, const Request* request, int32_t id,
                      Work work, Detached detached) {
    return Unary(method, context, request, nullptr,
                 [this, id, work = std::move(work), detached = std::move(detached)](
                     const auth::Principal& principal, Done done) mutable {
                   if (IsUser(principal)) {
                     return ServeUser(model::TrialId(id), std::move(work), std::move(detached),
                                      std::move(done));
                   }
                   const absl::Status own = CheckOwnTrial(principal, id);
                   if (!own.ok()) return done(own);
                   WithCaller(principal.allocation, std::move(work), std::move(done));
                 });
  }

  void ServeUser(model::TrialId id, Work work, Detached detached, Done done) {
    const auto unmanaged = store_.detached().IsUnmanaged(id);
    if (!unmanaged.ok()) return done(unmanaged.status());
    if (!*unmanaged) return WithCurrentAllocation(id, std::move(work), std::move(done));
    const absl::StatusOr<model::ExperimentId> experiment = detached(id);
    if (experiment.ok()) NotifyReported(*experiment, id);
    done(experiment.status());
  }

  void WithCurrentAllocation(model::TrialId id, Work work, Done done) {
    const auto record = store_.GetBareTrial(id);
    if (!record.ok()) return done(record.status());
    if (record->trial.allocation) {
      return WithCaller(*record->trial.allocation, std::move(work), std::move(done));
    }
    done(absl::FailedPreconditionError(absl::StrCat("trial ", id.value(), " is ",
                                                    std::string(ToString(record->trial.state)),
                                                    "; only running trials report")));
  }

  // An unmanaged trial has reported.
  void NotifyReported(model::ExperimentId experiment, model::TrialId trial) {
    life_signs_.Record(trial, clock_.Now());
    loop_.Post([this, experiment] { watch_.Changed(experiment); });
  }

  void AddUserMetrics(const v1::TrialMetrics& metrics, const std::string& group, Done done) {
    const model::TrialId id(metrics.trial_id());
    if (!metrics.has_metrics() && !group.empty()) {
      const absl::Status found = store_.GetBareTrial(id).status();
      return done(found.ok() ? absl::InvalidArgumentError("metrics: required but missing") : found);
    }
    auto reports = ToReports(ToReport(metrics, group, metrics.trial_run_id()), clock_.Now());
    if (!reports.ok()) return done(reports.status());
    std::vector<model::MetricReport> written = *reports;
    store_.detached().AddMetrics(
        id, metrics.trial_run_id(), std::move(written),
        [this, id, reports = *std::move(reports),
         done = std::move(done)](const absl::StatusOr<store::StoredReport>& stored) mutable {
          if (!stored.ok()) return done(stored.status());
          for (model::MetricReport& report : reports) report.run_id = stored->run_id;
          if (stored->unmanaged) life_signs_.Record(id, clock_.Now());
          watch_.MetricsArrived(stored->experiment, reports);
          if (stored->best) {
            loop_.Post([this, experiment = stored->experiment] { watch_.Changed(experiment); });
          }
          CheckTriggersAfter(triggers_, pool_, reports, std::move(done))(absl::OkStatus());
        });
  }

  void AddTaskCheckpoint(const v1::Checkpoint& checkpoint, const model::AllocationId& allocation,
                         Done done) {
    WithCaller(
        allocation,
        [this, &checkpoint](const Caller& caller, Done done) {
          const auto report = ToReport(checkpoint, caller.status.trial);
          if (!report.ok()) return done(report.status());
          auto event = ToEvent(*report, caller.allocation, clock_.Now());
          if (!event.ok()) return done(event.status());
          SubmitAndFinish(engine_, *std::move(event), std::move(done));
        },
        std::move(done));
  }

  void AddUserCheckpoint(const v1::Checkpoint& checkpoint, Done done) {
    const auto record = GetTrialOfTask(store_, checkpoint.task_id());
    if (!record.ok()) return done(record.status());
    absl::Status valid = CheckReportedState(checkpoint);
    if (!valid.ok()) return done(std::move(valid));
    const model::TrialId id = record->trial.id;
    const auto unmanaged = store_.detached().IsUnmanaged(id);
    if (!unmanaged.ok()) return done(unmanaged.status());
    if (!*unmanaged) {
      return WithCurrentAllocation(
          id,
          [this, &checkpoint](const Caller& caller, Done done) {
            absl::Status own = CheckUuidIsOwn(store_, checkpoint.uuid(), caller.allocation);
            if (!own.ok()) return done(std::move(own));
            AddTaskCheckpoint(checkpoint, caller.allocation, std::move(done));
          },
          std::move(done));
    }
    const auto experiment = AddDetachedCheckpoint(checkpoint, id);
    if (experiment.ok()) NotifyReported(*experiment, id);
    done(experiment.status());
  }

  absl::StatusOr<model::ExperimentId> AddDetachedCheckpoint(const v1::Checkpoint& checkpoint,
                                                            model::TrialId id) {
    DET_ASSIGN_OR_RETURN(const auto report, ToReport(checkpoint, id));
    DET_ASSIGN_OR_RETURN(const cluster::Event event,
                         ToEvent(report, model::AllocationId(), clock_.Now()));
    model::CheckpointRecord record = event.As<cluster::CheckpointReported>()->checkpoint;
    if (checkpoint.has_storage_id()) {
      record.storage = checkpoint.storage_id();
      DET_RETURN_IF_ERROR(store_.detached().GetCheckpointStorage(*record.storage).status());
    }
    return store_.detached().AddCheckpoint(record);
  }

  absl::Status AddLines(const auth::Principal& caller, const v1::PostTaskLogsRequest& request) {
    DET_ASSIGN_OR_RETURN(const model::TaskId task, FindLoggedTask(caller, request));
    std::vector<model::LogLine> lines;
    for (const v1::TaskLog& log : request.logs()) {
      const model::AllocationId allocation =
          IsUser(caller) ? model::AllocationId(log.allocation_id()) : caller.allocation;
      lines.push_back(ToLine(log, task, allocation, clock_.Now()));
      if (!log.has_sequence()) continue;
      DET_RETURN_IF_ERROR(CheckSequence(log.sequence(), allocation));
      lines.back().sequence = log.sequence();
    }
    if (lines.empty()) return absl::OkStatus();
    DET_RETURN_IF_ERROR(store_.AddLogLines(lines));
    watch_.LogsArrived(task);
    return triggers_ == nullptr ? absl::OkStatus() : triggers_->Check(lines);
  }

  // Returns the hash of the context directory of a task.
  absl::StatusOr<std::string> FindContext(const std::string& task) {
    if (model::IsOtherTask(model::TaskId(task))) {
      DET_ASSIGN_OR_RETURN(const auto record, store_.tasks().Get(model::TaskId(task)));
      return record.task.definition->context_hash;
    }
    DET_ASSIGN_OR_RETURN(const auto trial, GetTrialOfTask(store_, task));
    DET_ASSIGN_OR_RETURN(const auto record, store_.GetExperiment(trial.trial.experiment));
    return record.experiment.context_hash;
  }

  static model::TaskId GetTask(const model::AllocationId& allocation) {
    if (const auto other = model::ParseOtherTask(allocation)) return *other;
    return model::ParseAllocationId(allocation)->task;
  }

  // Returns the task of all lines, which the caller may write to.
  absl::StatusOr<model::TaskId> FindLoggedTask(const auth::Principal& principal,
                                               const v1::PostTaskLogsRequest& request) {
    if (!IsUser(principal)) {
      for (const v1::TaskLog& log : request.logs()) {
        DET_RETURN_IF_ERROR(CheckOwnTask(principal, log.task_id()));
      }
      return GetTask(principal.allocation);
    }
    DET_RETURN_IF_ERROR(CheckOneTask(request));
    if (const model::TaskId task(request.logs(0).task_id()); model::IsOtherTask(task)) {
      DET_RETURN_IF_ERROR(store_.tasks().Get(task).status());
      return task;
    }
    DET_ASSIGN_OR_RETURN(const store::TrialRecord record,
                         GetTrialOfTask(store_, request.logs(0).task_id()));
    life_signs_.Record(record.trial.id, clock_.Now());
    return record.trial.task;
  }

  // An event reports both values, but each of the two calls has only one of them.
  void ReportProgress(const Caller& caller, double progress, const std::string& runner_state,
                      Done done) {
    SubmitAndFinish(engine_,
                    cluster::ProgressReported{.allocation = caller.allocation,
                                              .trial = caller.status.trial,
                                              .progress = progress,
                                              .runner_state = runner_state},
                    std::move(done));
  }

  // Returns the checkpoints and files that the caller has removed, without those that are still in
  // use. A task removes those of its trial.
  absl::StatusOr<cluster::DeleteCheckpoints> ToDeleteCheckpoints(
      const auth::Principal& principal, const v1::PatchCheckpointsRequest& request) {
    const auto run = model::ParseAllocationId(principal.allocation);
    cluster::DeleteCheckpoints removed;
    std::set<model::ExperimentId> experiments;
    for (const v1::PatchCheckpoint& patch : request.checkpoints()) {
      DET_ASSIGN_OR_RETURN(const auto entry, FindCheckpoint(store_, patch.uuid()));
      if (!IsUser(principal) && (!run || entry.checkpoint.trial != run->trial)) {
        return MakeNotOwnedError(principal, "checkpoint", patch.uuid());
      }
      experiments.insert(entry.experiment);
      if (!patch.has_resources()) continue;
      const auto& left = patch.resources().resources();
      DET_RETURN_IF_ERROR(
          PlanRemovalExcept({left.begin(), left.end()}, entry.checkpoint, &removed));
    }
    DET_RETURN_IF_ERROR(ExcludeHeld(store_, experiments, &removed).status());
    return removed;
  }

  engine::Engine& engine_;
  store::Store& store_;
  live::ExperimentWatch& watch_;
  live::AllocationWatch& allocations_;
  AllGather& all_gather_;
  webhooks::TriggerWatch* triggers_;
  live::LifeSigns& life_signs_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<Service> MakeTaskRuntimeService(CallPipeline& calls, engine::Engine& engine,
                                                store::Store& store, live::ExperimentWatch& watch,
                                                live::AllocationWatch& allocations,
                                                AllGather& all_gather,
                                                webhooks::TriggerWatch* triggers,
                                                live::LifeSigns& life_signs, base::ThreadPool& pool,
                                                base::EventLoop& loop, const base::Clock& clock) {
  return std::make_unique<TaskRuntimeService>(calls, engine, store, watch, allocations, all_gather,
                                              triggers, life_signs, pool, loop, clock);
}

}  // namespace det::api
