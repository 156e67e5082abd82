#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/task.unary.h"
#include "master/api/common/convert.h"
#include "master/api/common/task_trial.h"
#include "master/api/logs/log_stream.h"
#include "master/api/rpc/api_service.h"
#include "master/api/tasks/services.h"
#include "master/api/tasks/task_summaries.h"
#include "master/api/tasks/task_view.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

v1::GenericTaskState GetGenericState(const experiment::Task& task) {
  switch (task.state) {
    case model::TaskState::kQueued:
    case model::TaskState::kRunning:
      return v1::GENERIC_TASK_STATE_ACTIVE;
    case model::TaskState::kPaused:
      return v1::GENERIC_TASK_STATE_PAUSED;
    case model::TaskState::kStopping:
      if (task.end_as == model::TaskState::kPaused) return v1::GENERIC_TASK_STATE_STOPPING_PAUSED;
      if (task.end_as == model::TaskState::kCanceled) {
        return v1::GENERIC_TASK_STATE_STOPPING_CANCELED;
      }
      return v1::GENERIC_TASK_STATE_ACTIVE;  // it will be queued again
    case model::TaskState::kCompleted:
      return v1::GENERIC_TASK_STATE_COMPLETED;
    case model::TaskState::kCanceled:
      return v1::GENERIC_TASK_STATE_CANCELED;
    case model::TaskState::kError:
      return v1::GENERIC_TASK_STATE_ERROR;
  }
  return v1::GENERIC_TASK_STATE_UNSPECIFIED;
}

void FillGenericTask(const experiment::Task& task, v1::Task* out) {
  out->set_task_state(GetGenericState(task));
  if (task.parent) out->set_parent_id(task.parent->value());
  if (task.forked_from) out->set_forked_from(task.forked_from->value());
  out->set_no_pause(!task.pausable);
  if (task.state != model::TaskState::kPaused || out->allocations().empty()) return;
  // Existing clients see a pause as an end.
  const v1::Allocation& last = *out->allocations().rbegin();
  if (last.has_end_time()) *out->mutable_end_time() = last.end_time();
}

class TaskService final : public ApiService<v1::TaskService> {
 public:
  TaskService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
              base::ThreadPool& pool, live::ExperimentWatch& watch)
      : ApiService(calls), engine_(engine), store_(store), pool_(pool), watch_(watch) {}

  grpc::ServerUnaryReactor* GetTasks(grpc::CallbackServerContext* context,
                                     const v1::GetTasksRequest* request,
                                     v1::GetTasksResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal& caller, Done done) {
                   ReadTaskSummaries(engine_, store_, caller, response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetTask(grpc::CallbackServerContext* context,
                                    const v1::GetTaskRequest* request,
                                    v1::GetTaskResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   if (model::IsOtherTask(model::TaskId(request->task_id()))) {
                     return ReadOtherTask(request->task_id(), response->mutable_task());
                   }
                   DET_ASSIGN_OR_RETURN(const TrialTask read,
                                        ReadTrialTask(store_, request->task_id()));
                   v1::Task* task = response->mutable_task();
                   task->set_task_id(request->task_id());
                   task->set_task_type(v1::Task::TASK_TYPE_TRIAL);
                   for (const auto& allocation : read.allocations) {
                     *task->add_allocations() = ToProto(allocation, "");
                     task->mutable_allocations()->rbegin()->set_task_id(request->task_id());
                   }
                   *task->mutable_start_time() = ToProto(read.start_time);
                   if (read.end_time) *task->mutable_end_time() = ToProto(*read.end_time);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetAllocation(grpc::CallbackServerContext* context,
                                          const v1::GetAllocationRequest* request,
                                          v1::GetAllocationResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   if (!absl::StrContains(request->allocation_id(), ".")) {
                     return done(absl::InvalidArgumentError(
                         absl::StrCat("allocation_id: \"", request->allocation_id(),
                                      "\" has no \".\"; expected <task ID>.<attempt>")));
                   }
                   const model::AllocationId id(request->allocation_id());
                   auto reason = std::make_shared<std::string>();
                   engine_.Query(
                       [id, reason](const cluster::Cluster& cluster) {
                         const auto found = cluster.FindWaitReason(id);
                         if (found) *reason = found->text;
                       },
                       [this, id, reason, response,
                        done = std::move(done)](const absl::Status& status) mutable {
                         if (!status.ok()) return done(status);
                         pool_.Post([this, id, reason, response, done = std::move(done)]() mutable {
                           done(ReadAllocation(id, *reason, response->mutable_allocation()));
                         });
                       });
                 });
  }

  grpc::ServerWriteReactor<v1::TaskLogsResponse>* TaskLogs(
      grpc::CallbackServerContext* context, const v1::TaskLogsRequest* request) override {
    return ServerStream<v1::TaskLogsResponse>(
        __func__, context, request,
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<v1::TaskLogsResponse>> stream) {
          if (request.limit() < 0) {
            return stream->Close(absl::InvalidArgumentError("limit: must be at least 0"));
          }
          if (request.limit() > 0 && request.follow()) {
            return stream->Close(
                absl::InvalidArgumentError("limit: cannot be specified with follow"));
          }
          if (const model::TaskId id(request.task_id()); model::IsOtherTask(id)) {
            const absl::Status found = store_.tasks().Get(id).status();
            if (!found.ok()) return stream->Close(found);
            return ServeLogs<v1::TaskLogsResponse>(store_, watch_, std::move(stream),
                                                   {.query = ToLogQuery(request, id),
                                                    .limit = request.limit(),
                                                    .follow = request.follow(),
                                                    .pattern = GetPattern(request)},
                                                   ToTaskLog);
          }
          const auto task = ReadTrialTask(store_, request.task_id());
          if (!task.ok()) return stream->Close(task.status());
          ServeLogs<v1::TaskLogsResponse>(store_, watch_, std::move(stream),
                                          {.query = ToQuery(request, *task),
                                           .trial = task->record.trial.id,
                                           .experiment = task->record.trial.experiment,
                                           .limit = request.limit(),
                                           .follow = request.follow(),
                                           .pattern = GetPattern(request)},
                                          ToTaskLog);
        });
  }

 private:
  absl::Status ReadOtherTask(const std::string& id, v1::Task* out) {
    DET_ASSIGN_OR_RETURN(const store::TaskRecord record, store_.tasks().Get(model::TaskId(id)));
    DET_ASSIGN_OR_RETURN(const auto allocations, store_.ListAllocations(record.task.id));
    out->set_task_id(id);
    out->set_task_type(ToProto(record.task.kind));
    // The newest first: existing clients read the first one.
    for (auto each = allocations.rbegin(); each != allocations.rend(); ++each) {
      const experiment::Allocation& allocation = *each;
      *out->add_allocations() = ToProto(allocation, "");
      // A task is ready when its service answers.
      const bool ready = record.task.service_port && record.task.allocation == allocation.id;
      out->mutable_allocations()->rbegin()->set_is_ready(ready);
    }
    *out->mutable_start_time() = ToProto(record.task.created_at);
    if (record.task.ended_at) *out->mutable_end_time() = ToProto(*record.task.ended_at);
    if (record.task.kind == model::TaskKind::kGeneric) FillGenericTask(record.task, out);
    return absl::OkStatus();
  }

  absl::Status ReadAllocation(const model::AllocationId& id, const std::string& wait_reason,
                              v1::Allocation* out) {
    DET_ASSIGN_OR_RETURN(const auto allocation, store_.GetAllocation(id));
    *out = ToProto(allocation, wait_reason);
    if (!experiment::IsTrial(allocation)) return absl::OkStatus();
    DET_ASSIGN_OR_RETURN(const auto record, store_.GetBareTrial(allocation.trial));
    const int task = experiment::GetTaskNumber(record.trial, allocation.run_id);
    out->set_task_id(experiment::GetTask(record.trial, task).value());
    return absl::OkStatus();
  }

  // All tasks of a trial share one log; each has the lines of its time.
  static store::LogQuery ToQuery(const v1::TaskLogsRequest& request, const TrialTask& task) {
    store::LogQuery query = ToLogQuery(request, task.record.trial.task);
    if (!task.is_first) {
      const absl::Time start = task.start_time - absl::Microseconds(1);
      query.after = std::max(query.after.value_or(start), start);
    }
    if (task.next_start) {
      query.before = std::min(query.before.value_or(*task.next_start), *task.next_start);
    }
    return query;
  }

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  live::ExperimentWatch& watch_;
};

}  // namespace

std::unique_ptr<Service> MakeTaskService(CallPipeline& calls, engine::Engine& engine,
                                         store::Store& store, base::ThreadPool& pool,
                                         live::ExperimentWatch& watch) {
  return std::make_unique<TaskService>(calls, engine, store, pool, watch);
}

}  // namespace det::api
