#include <algorithm>
#include <memory>
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
#include "master/api/rpc/api_service.h"
#include "master/api/runtime/allocation_status.h"
#include "master/api/runtime/report_metrics.h"
#include "master/api/runtime/services.h"
#include "master/api/runtime/task_reports.h"
#include "master/api/runtime/trial_reports.h"
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
  return MakeNotOwnedError(principal, "task", task);
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
                     webhooks::TriggerWatch* triggers, base::ThreadPool& pool,
                     base::EventLoop& loop, const base::Clock& clock)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        watch_(watch),
        allocations_(allocations),
        triggers_(triggers),
        pool_(pool),
        loop_(loop),
        clock_(clock) {}

  Reactor* GetTaskContextDirectory(Context* context,
                                   const v1::GetTaskContextDirectoryRequest* request,
                                   v1::GetTaskContextDirectoryResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   DET_RETURN_IF_ERROR(CheckOwnTask(principal, request->task_id()));
                   const auto run = model::ParseAllocationId(principal.allocation);
                   DET_ASSIGN_OR_RETURN(const auto record, store_.GetExperiment(run->experiment));
                   const std::string& hash = record.experiment.context_hash;
                   if (hash.empty()) return absl::OkStatus();
                   DET_ASSIGN_OR_RETURN(*response->mutable_b64_tgz(), store_.GetContext(hash));
                   return absl::OkStatus();
                 });
  }

  Reactor* PostAllocationAcceleratorData(
      Context* context, const v1::PostAllocationAcceleratorDataRequest* request,
      v1::PostAllocationAcceleratorDataResponse* response) override {
    return Unary(__func__, context, request, response, [request](const auth::Principal& principal) {
      return CheckOwnAllocation(principal, request->allocation_id());
    });
  }

  Reactor* AllocationRendezvousInfo(Context* context,
                                    const v1::AllocationRendezvousInfoRequest* request,
                                    v1::AllocationRendezvousInfoResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request, response](Call& call, Done done) {
          const absl::Status own = CheckOwnAllocation(call.principal(), request->allocation_id());
          if (!own.ok()) return done(own);
          AwaitUpdate(engine_, pool_, loop_, allocations_, call.principal().allocation,
                      trial::AllocationUpdate::kRendezvous, kMaxWait, call,
                      [request, response, done = std::move(done)](
                          const absl::StatusOr<OptionalUpdate>& update) mutable {
                        if (!update.ok()) return done(update.status());
                        auto info = ToInfo(*update, request->resources_id());
                        if (info.ok()) *response->mutable_rendezvous_info() = *info;
                        done(info.status());
                      });
        });
  }

  Reactor* AllocationPreemptionSignal(Context* context,
                                      const v1::AllocationPreemptionSignalRequest* request,
                                      v1::AllocationPreemptionSignalResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request, response](Call& call, Done done) {
          const absl::Status own = CheckOwnAllocation(call.principal(), request->allocation_id());
          if (!own.ok()) return done(own);
          const absl::Duration timeout = absl::Seconds(request->timeout_seconds());
          AwaitUpdate(engine_, pool_, loop_, allocations_, call.principal().allocation,
                      trial::AllocationUpdate::kPreemption, std::min(timeout, kMaxWait), call,
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
                   const absl::Status own = CheckOwnAllocation(principal, request->allocation_id());
                   if (!own.ok()) return done(own);
                   SubmitAndFinish(engine_, cluster::PreemptionAcked{principal.allocation},
                                   std::move(done));
                 });
  }

  Reactor* PostTaskLogs(Context* context, const v1::PostTaskLogsRequest* request,
                        v1::PostTaskLogsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal) -> absl::Status {
                   const auto run = model::ParseAllocationId(principal.allocation);
                   std::vector<model::LogLine> lines;
                   for (const v1::TaskLog& log : request->logs()) {
                     DET_RETURN_IF_ERROR(CheckOwnTask(principal, log.task_id()));
                     lines.push_back(ToLine(log, *run, principal.allocation, clock_.Now()));
                   }
                   if (lines.empty()) return absl::OkStatus();
                   DET_RETURN_IF_ERROR(store_.AddLogLines(lines));
                   watch_.LogsArrived(run->task);
                   return triggers_ == nullptr ? absl::OkStatus() : triggers_->Check(lines);
                 });
  }

  Reactor* RunPrepareForReporting(Context* context,
                                  const v1::RunPrepareForReportingRequest* request,
                                  v1::RunPrepareForReportingResponse*) override {
    return ServeOwnTrial(context, __func__, request, request->run_id(),
                         [](const Caller&, Done done) { done(absl::OkStatus()); });
  }

  Reactor* PostTrialRunnerMetadata(Context* context,
                                   const v1::PostTrialRunnerMetadataRequest* request,
                                   v1::PostTrialRunnerMetadataResponse*) override {
    return ServeOwnTrial(context, __func__, request, request->trial_id(),
                         [this, request](const Caller& caller, Done done) {
                           ReportProgress(caller, caller.status.progress, request->state(),
                                          std::move(done));
                         });
  }

  Reactor* ReportTrialProgress(Context* context, const v1::ReportTrialProgressRequest* request,
                               v1::ReportTrialProgressResponse*) override {
    return ServeOwnTrial(context, __func__, request, request->trial_id(),
                         [this, request](const Caller& caller, Done done) {
                           ReportProgress(caller, request->progress(), caller.status.runner_state,
                                          std::move(done));
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
          absl::Status own = CheckOwnTask(principal, request->checkpoint().task_id());
          own.Update(CheckUuidIsOwn(store_, request->checkpoint().uuid(), principal.allocation));
          if (!own.ok()) return done(own);
          WithCaller(
              principal,
              [this, request](const Caller& caller, Done done) {
                auto event = ToEvent(ToReport(request->checkpoint(), caller.status.trial),
                                     caller.allocation, clock_.Now());
                if (!event.ok()) return done(event.status());
                SubmitAndFinish(engine_, *std::move(event), std::move(done));
              },
              std::move(done));
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
                   WithCaller(
                       principal,
                       [this, removed = *std::move(removed)](const Caller&, Done done) mutable {
                         SubmitAndFinish(engine_, std::move(removed), std::move(done));
                       },
                       std::move(done));
                 });
  }

  Reactor* ReportTrialSearcherEarlyExit(
      Context* context, const v1::ReportTrialSearcherEarlyExitRequest* request,
      v1::ReportTrialSearcherEarlyExitResponse*) override {
    using Request = v1::ReportTrialSearcherEarlyExitRequest;
    return ServeOwnTrial(
        context, __func__, request, request->trial_id(),
        [this, request](const Caller& caller, Done done) {
          if (request->reason() == Request::EXITED_REASON_UNSPECIFIED) {
            return done(
                absl::InvalidArgumentError("reason: expected EXITED_REASON_INVALID_HP or "
                                           "EXITED_REASON_INIT_INVALID_HP"));
          }
          SubmitAndFinish(engine_,
                          cluster::EarlyExitReported{
                              .allocation = caller.allocation,
                              .reason = model::ExitReason::kInvalidHp,
                              .message = "the training code reported invalid hyperparameters"},
                          std::move(done));
        });
  }

 private:
  // `metrics` is a field of `request`.
  Reactor* Report(Context* context, const char* method, const google::protobuf::Message* request,
                  const v1::TrialMetrics& metrics, const std::string& group) {
    return ServeOwnTrial(
        context, method, request, metrics.trial_id(),
        [this, &metrics, group](const Caller& caller, Done done) {
          auto reports = ToReports(ToReport(metrics, group, caller.status.run_id), clock_.Now());
          if (!reports.ok()) return done(reports.status());
          AddMetrics(engine_, store_, watch_, triggers_, pool_, caller.status.experiment,
                     caller.allocation, *std::move(reports), nullptr, std::move(done));
        });
  }

  using Work = absl::AnyInvocable<void(const Caller&, Done)>;

  void WithCaller(const auth::Principal& principal, Work work, Done done) {
    GetAllocationStatus(engine_, pool_, principal.allocation,
                        [id = principal.allocation, work = std::move(work), done = std::move(done)](
                            absl::StatusOr<AllocationStatus> allocation) mutable {
                          if (!allocation.ok()) return done(allocation.status());
                          work(Caller{id, *std::move(allocation)}, std::move(done));
                        });
  }

  // Serves a call that names a trial: it must be the caller's trial, and the caller's allocation
  // must not have ended.
  template <class Request>
  Reactor* ServeOwnTrial(Context* context, const char* method, const Request* request, int32_t id,
                         Work work) {
    return Unary(
        method, context, request, nullptr,
        [this, id, work = std::move(work)](const auth::Principal& principal, Done done) mutable {
          const absl::Status own = CheckOwnTrial(principal, id);
          if (!own.ok()) return done(own);
          WithCaller(principal, std::move(work), std::move(done));
        });
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

  // Returns the checkpoints and files of the caller's trial that it has removed, without those that
  // are still in use.
  absl::StatusOr<cluster::DeleteCheckpoints> ToDeleteCheckpoints(
      const auth::Principal& principal, const v1::PatchCheckpointsRequest& request) {
    const auto run = model::ParseAllocationId(principal.allocation);
    cluster::DeleteCheckpoints removed;
    for (const v1::PatchCheckpoint& patch : request.checkpoints()) {
      DET_ASSIGN_OR_RETURN(const auto entry,
                           store_.GetCheckpoint(model::CheckpointId(patch.uuid())));
      if (!run || entry.checkpoint.trial != run->trial) {
        return MakeNotOwnedError(principal, "checkpoint", patch.uuid());
      }
      if (!patch.has_resources()) continue;
      const auto& left = patch.resources().resources();
      DET_RETURN_IF_ERROR(
          PlanRemovalExcept({left.begin(), left.end()}, entry.checkpoint, &removed));
    }
    if (run) DET_RETURN_IF_ERROR(ExcludeHeld(store_, {run->experiment}, &removed).status());
    return removed;
  }

  engine::Engine& engine_;
  store::Store& store_;
  live::ExperimentWatch& watch_;
  live::AllocationWatch& allocations_;
  webhooks::TriggerWatch* triggers_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<Service> MakeTaskRuntimeService(CallPipeline& calls, engine::Engine& engine,
                                                store::Store& store, live::ExperimentWatch& watch,
                                                live::AllocationWatch& allocations,
                                                webhooks::TriggerWatch* triggers,
                                                base::ThreadPool& pool, base::EventLoop& loop,
                                                const base::Clock& clock) {
  return std::make_unique<TaskRuntimeService>(calls, engine, store, watch, allocations, triggers,
                                              pool, loop, clock);
}

}  // namespace det::api
