#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "det/api/v1/task.pb.h"
#include "master/api/common/convert.h"
#include "master/api/common/task_trial.h"
#include "master/api/logs/log_stream.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/open_stream.h"
#include "master/api/rpc/service.h"
#include "master/api/tasks/services.h"
#include "master/api/tasks/task_summaries.h"

namespace det::api {
namespace {

class TaskService final : public Service {
 public:
  explicit TaskService(const Edge& edge) : Service("det.api.v1.TaskService"), edge_(edge) {
    Serve("GetTasks", &TaskService::GetTasks);
    Serve("GetTask", &TaskService::GetTask);
    Serve("GetAllocation", &TaskService::GetAllocation);
    Serve("TaskLogs", &TaskService::TaskLogs);
  }

  grpc::ServerUnaryReactor* GetTasks(grpc::CallbackServerContext* context,
                                     const v1::GetTasksRequest* request,
                                     v1::GetTasksResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.TaskService.GetTasks",
                 [this, response](const auth::Principal& caller, Done done) {
                   ReadTaskSummaries(edge_, caller, response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetTask(grpc::CallbackServerContext* context,
                                    const v1::GetTaskRequest* request,
                                    v1::GetTaskResponse* response) {
    return UnaryNow(
        edge_, context, request, "det.api.v1.TaskService.GetTask",
        [this, request, response](const auth::Principal&) -> absl::Status {
          DET_ASSIGN_OR_RETURN(const auto record, TrialOf(*edge_.store, request->task_id()));
          DET_ASSIGN_OR_RETURN(const auto runs, edge_.store->ListAllocations(record.trial.task));
          v1::Task* task = response->mutable_task();
          task->set_task_id(request->task_id());
          task->set_task_type(v1::Task::TASK_TYPE_TRIAL);
          for (const auto& run : runs) *task->add_allocations() = ToProto(run, "");
          *task->mutable_start_time() = ToProto(record.trial.created_at);
          if (record.trial.ended_at) {
            *task->mutable_end_time() = ToProto(*record.trial.ended_at);
          }
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* GetAllocation(grpc::CallbackServerContext* context,
                                          const v1::GetAllocationRequest* request,
                                          v1::GetAllocationResponse* response) {
    return Unary(
        edge_, context, request, "det.api.v1.TaskService.GetAllocation",
        [this, request, response](const auth::Principal&, Done done) {
          const model::AllocationId id(request->allocation_id());
          auto reason = std::make_shared<std::string>();
          edge_.engine->Query(
              [id, reason](const cluster::Cluster& cluster) {
                const auto found = cluster.FindWaitReason(id);
                if (found) *reason = found->text;
              },
              [this, id, reason, response,
               done = std::move(done)](const absl::Status& status) mutable {
                if (!status.ok()) return done(status);
                edge_.pool->Post([this, id, reason, response, done = std::move(done)]() mutable {
                  const auto allocation = edge_.store->GetAllocation(id);
                  if (allocation.ok()) {
                    *response->mutable_allocation() = ToProto(*allocation, *reason);
                  }
                  done(allocation.status());
                });
              });
        });
  }

  MessageStream* TaskLogs(grpc::CallbackServerContext* context,
                          const v1::TaskLogsRequest* request) {
    return OpenStream<v1::TaskLogsResponse>(
        edge_, context, request, "det.api.v1.TaskService.TaskLogs",
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<v1::TaskLogsResponse>> stream) {
          const auto record = TrialOf(*edge_.store, request.task_id());
          if (!record.ok()) return stream->Close(record.status());
          ServeLogs<v1::TaskLogsResponse>(edge_, std::move(stream),
                                          {.query = ToLogQuery(request, record->trial.task),
                                           .trial = record->trial.id,
                                           .experiment = record->trial.experiment,
                                           .limit = std::max(0, request.limit()),
                                           .follow = request.follow(),
                                           .pattern = PatternOf(request)},
                                          ToTaskLog);
        });
  }

 private:
  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeTaskService(const Edge& edge) {
  return std::make_unique<TaskService>(edge);
}

}  // namespace det::api
