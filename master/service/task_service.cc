#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "det/api/v1/task.pb.h"
#include "master/service/call.h"
#include "master/service/convert.h"
#include "master/service/log_stream.h"
#include "master/service/open_stream.h"
#include "master/service/service.h"
#include "master/service/services.h"
#include "master/service/task_summaries.h"
#include "master/service/task_trial.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

class TaskService final : public Service {
 public:
  explicit TaskService(const Edge& edge) : Service("det.api.v1.TaskService"), edge_(edge) {
    Serve("GetTasks", &TaskService::GetTasks);
    Serve("GetTask", &TaskService::GetTask);
    Serve("GetAllocation", &TaskService::GetAllocation);
    Serve("TaskLogs", &TaskService::TaskLogs);
  }

  grpc::ServerUnaryReactor* GetTasks(grpc::CallbackServerContext* context,
                                     const api::GetTasksRequest* request,
                                     api::GetTasksResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.TaskService.GetTasks",
                 [this, response](const auth::Principal& caller, Done done) {
                   ReadTaskSummaries(edge_, caller, response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetTask(grpc::CallbackServerContext* context,
                                    const api::GetTaskRequest* request,
                                    api::GetTaskResponse* response) {
    return UnaryNow(
        edge_, context, request, "det.api.v1.TaskService.GetTask",
        [this, request, response](const auth::Principal&) -> absl::Status {
          DET_ASSIGN_OR_RETURN(const auto record, TrialOf(*edge_.store, request->task_id()));
          DET_ASSIGN_OR_RETURN(const auto runs, edge_.store->ListAllocations(record.trial.task));
          api::Task* task = response->mutable_task();
          task->set_task_id(request->task_id());
          task->set_task_type(api::Task::TASK_TYPE_TRIAL);
          for (const auto& run : runs) *task->add_allocations() = ToProto(run, "");
          *task->mutable_start_time() = ToProto(record.trial.created_at);
          if (record.trial.ended_at) {
            *task->mutable_end_time() = ToProto(*record.trial.ended_at);
          }
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* GetAllocation(grpc::CallbackServerContext* context,
                                          const api::GetAllocationRequest* request,
                                          api::GetAllocationResponse* response) {
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
                          const api::TaskLogsRequest* request) {
    return OpenStream<api::TaskLogsResponse>(
        edge_, context, request, "det.api.v1.TaskService.TaskLogs",
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<api::TaskLogsResponse>> stream) {
          const auto record = TrialOf(*edge_.store, request.task_id());
          if (!record.ok()) return stream->Close(record.status());
          ServeLogs<api::TaskLogsResponse>(edge_, std::move(stream),
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

}  // namespace det::service
