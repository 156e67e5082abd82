#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/command.unary.h"
#include "master/api/common/convert.h"
#include "master/api/policies/config_policy.h"
#include "master/api/rpc/api_service.h"
#include "master/api/tasks/launch.h"
#include "master/api/tasks/service_task.h"
#include "master/api/tasks/services.h"
#include "master/api/tasks/task_view.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using ListRequest = v1::GetCommandsRequest;
using LaunchRequest = v1::LaunchCommandRequest;
using PriorityRequest = v1::SetCommandPriorityRequest;
using Reactor = grpc::ServerUnaryReactor;
using model::TaskKind;

// Lists show an ended task for this time.
constexpr absl::Duration kShownAfterEnd = absl::Hours(24);

std::string GetNoun(TaskKind kind) {
  switch (kind) {
    case TaskKind::kNotebook:
      return "notebook";
    case TaskKind::kShell:
      return "shell";
    case TaskKind::kTensorboard:
      return "tensorboard";
    default:
      return "command";
  }
}

store::TaskQuery ToQuery(const ListRequest& request, TaskKind kind) {
  store::TaskQuery query;
  query.kinds = {kind};
  query.usernames.assign(request.users().begin(), request.users().end());
  for (const int32_t id : request.user_ids()) query.owner_ids.emplace_back(id);
  if (request.workspace_id() != 0) query.workspace = request.workspace_id();
  switch (request.sort_by()) {
    case ListRequest::SORT_BY_DESCRIPTION:
      query.sort = store::TaskQuery::Sort::kDescription;
      break;
    case ListRequest::SORT_BY_ID:
      query.sort = store::TaskQuery::Sort::kId;
      break;
    case ListRequest::SORT_BY_WORKSPACE_ID:
      query.sort = store::TaskQuery::Sort::kWorkspace;
      break;
    default:  // in the order of their creation
      query.sort = store::TaskQuery::Sort::kStartTime;
      break;
  }
  query.descending = request.order_by() == v1::ORDER_BY_DESC;
  query.window = ToWindow(request.offset(), request.limit());
  return query;
}

class CommandService final : public ApiService<v1::CommandService> {
 public:
  CommandService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                 base::ThreadPool& pool, const base::Clock& clock, proxy::Activity& activity,
                 LaunchSettings settings)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        pool_(pool),
        clock_(clock),
        activity_(activity),
        settings_(std::move(settings)) {}

  Reactor* GetCommands(Context* context, const ListRequest* request,
                       v1::GetCommandsResponse* response) override {
    return List(context, __func__, request, response, TaskKind::kCommand,
                response->mutable_commands());
  }
  Reactor* GetNotebooks(Context* context, const ListRequest* request,
                        v1::GetNotebooksResponse* response) override {
    return List(context, __func__, request, response, TaskKind::kNotebook,
                response->mutable_notebooks());
  }
  Reactor* GetShells(Context* context, const ListRequest* request,
                     v1::GetShellsResponse* response) override {
    return List(context, __func__, request, response, TaskKind::kShell, response->mutable_shells());
  }
  Reactor* GetTensorboards(Context* context, const ListRequest* request,
                           v1::GetTensorboardsResponse* response) override {
    return List(context, __func__, request, response, TaskKind::kTensorboard,
                response->mutable_tensorboards());
  }

  Reactor* GetActiveTasksCount(Context* context, const v1::GetActiveTasksCountRequest* request,
                               v1::GetActiveTasksCountResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal&, Done done) {
                   engine_.Query(
                       [response](const cluster::Cluster& cluster) {
                         std::map<TaskKind, int> counts;
                         for (const experiment::Task* task : cluster.live_tasks()) {
                           counts[task->kind] += task->state == model::TaskState::kRunning;
                         }
                         response->set_commands(counts[TaskKind::kCommand]);
                         response->set_notebooks(counts[TaskKind::kNotebook]);
                         response->set_shells(counts[TaskKind::kShell]);
                         response->set_tensorboards(counts[TaskKind::kTensorboard]);
                       },
                       std::move(done));
                 });
  }

  Reactor* LaunchCommand(Context* context, const LaunchRequest* request,
                         v1::LaunchCommandResponse* response) override {
    return Launch(context, __func__, request, response, TaskKind::kCommand,
                  response->mutable_command());
  }
  Reactor* LaunchNotebook(Context* context, const LaunchRequest* request,
                          v1::LaunchNotebookResponse* response) override {
    return Launch(context, __func__, request, response, TaskKind::kNotebook,
                  response->mutable_notebook());
  }
  Reactor* LaunchShell(Context* context, const LaunchRequest* request,
                       v1::LaunchShellResponse* response) override {
    return Launch(context, __func__, request, response, TaskKind::kShell,
                  response->mutable_shell());
  }
  Reactor* LaunchTensorboard(Context* context, const LaunchRequest* request,
                             v1::LaunchTensorboardResponse* response) override {
    return Launch(context, __func__, request, response, TaskKind::kTensorboard,
                  response->mutable_tensorboard());
  }

  Reactor* GetCommand(Context* context, const v1::CommandRequest* request,
                      v1::GetCommandResponse* response) override {
    return Get(context, __func__, request, response, TaskKind::kCommand,
               response->mutable_command());
  }
  Reactor* GetNotebook(Context* context, const v1::CommandRequest* request,
                       v1::GetNotebookResponse* response) override {
    return Get(context, __func__, request, response, TaskKind::kNotebook,
               response->mutable_notebook());
  }
  Reactor* GetShell(Context* context, const v1::CommandRequest* request,
                    v1::GetShellResponse* response) override {
    return Get(context, __func__, request, response, TaskKind::kShell, response->mutable_shell());
  }
  Reactor* GetTensorboard(Context* context, const v1::CommandRequest* request,
                          v1::GetTensorboardResponse* response) override {
    return Get(context, __func__, request, response, TaskKind::kTensorboard,
               response->mutable_tensorboard());
  }

  Reactor* KillCommand(Context* context, const v1::CommandRequest* request,
                       v1::KillCommandResponse* response) override {
    return Kill(context, __func__, request, response, TaskKind::kCommand,
                response->mutable_command());
  }
  Reactor* KillNotebook(Context* context, const v1::CommandRequest* request,
                        v1::KillNotebookResponse* response) override {
    return Kill(context, __func__, request, response, TaskKind::kNotebook,
                response->mutable_notebook());
  }
  Reactor* KillShell(Context* context, const v1::CommandRequest* request,
                     v1::KillShellResponse* response) override {
    return Kill(context, __func__, request, response, TaskKind::kShell, response->mutable_shell());
  }
  Reactor* KillTensorboard(Context* context, const v1::CommandRequest* request,
                           v1::KillTensorboardResponse* response) override {
    return Kill(context, __func__, request, response, TaskKind::kTensorboard,
                response->mutable_tensorboard());
  }

  Reactor* SetCommandPriority(Context* context, const PriorityRequest* request,
                              v1::SetCommandPriorityResponse* response) override {
    return SetPriority(context, __func__, request, response, TaskKind::kCommand,
                       response->mutable_command());
  }
  Reactor* SetNotebookPriority(Context* context, const PriorityRequest* request,
                               v1::SetNotebookPriorityResponse* response) override {
    return SetPriority(context, __func__, request, response, TaskKind::kNotebook,
                       response->mutable_notebook());
  }
  Reactor* SetShellPriority(Context* context, const PriorityRequest* request,
                            v1::SetShellPriorityResponse* response) override {
    return SetPriority(context, __func__, request, response, TaskKind::kShell,
                       response->mutable_shell());
  }
  Reactor* SetTensorboardPriority(Context* context, const PriorityRequest* request,
                                  v1::SetTensorboardPriorityResponse* response) override {
    return SetPriority(context, __func__, request, response, TaskKind::kTensorboard,
                       response->mutable_tensorboard());
  }

  Reactor* IdleNotebook(Context* context, const v1::IdleNotebookRequest* request,
                        v1::IdleNotebookResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const store::TaskRecord record,
                                        Find(request->id(), TaskKind::kNotebook));
                   // The time of its last activity counts.
                   if (!request->idle() && !model::IsTerminal(record.task.state)) {
                     activity_.Touch(record.task.id);
                   }
                   return absl::OkStatus();
                 });
  }

 private:
  template <class Response, class Out>
  Reactor* List(Context* context, const char* method, const ListRequest* request,
                Response* response, TaskKind kind, Out* list) {
    return Unary(
        method, context, request, response,
        [this, request, response, kind, list](const auth::Principal& principal, Done done) {
          QueryLiveTasks(engine_, pool_,
                         [this, request, response, kind, list, principal,
                          done = std::move(done)](const absl::StatusOr<LiveTasks>& live) mutable {
                           if (!live.ok()) return done(live.status());
                           done(ReadPage(*request, kind, principal, *live,
                                         response->mutable_pagination(), list));
                         });
        });
  }

  template <class Out>
  absl::Status ReadPage(const ListRequest& request, TaskKind kind, const auth::Principal& principal,
                        const LiveTasks& live, v1::Pagination* pagination, Out* list) {
    std::optional<std::vector<int32_t>> visible = principal.Visible(model::Permission::kViewNsc);
    if (const int32_t workspace = request.workspace_id(); workspace != 0) {
      const bool seen = !visible || std::count(visible->begin(), visible->end(), workspace) > 0;
      if (!seen || absl::IsNotFound(store_.workspaces().GetWorkspaceName(workspace).status())) {
        return absl::NotFoundError(absl::StrCat("workspace '", workspace, "' not found"));
      }
    }
    store::TaskQuery query = ToQuery(request, kind);
    query.visible = std::move(visible);
    query.alive_after = clock_.Now() - kShownAfterEnd;
    DET_ASSIGN_OR_RETURN(const store::TaskPage page, store_.tasks().List(query));
    for (const store::TaskRecord& record : page.tasks) Fill(record, live, principal, list->Add());
    *pagination = ToPagination(request.offset(), request.limit(),
                               static_cast<int>(page.tasks.size()), page.total);
    return absl::OkStatus();
  }

  // Sets what all kinds share, and the members of this one. A reader who does not own the task and
  // may not change it gets neither the token of a notebook nor the private key of a shell.
  template <class Message>
  static void Fill(const store::TaskRecord& record, const LiveTasks& live,
                   const auth::Principal& principal, Message* out) {
    FillTask(record, live, out);
    const bool secrets = principal.user == record.task.owner ||
                         principal.Holds(model::Permission::kUpdateNsc, record.task.workspace);
    const auto found = live.find(record.task.id);
    FillService(record, found == live.end() ? nullptr : &found->second, secrets, out);
  }

  template <class Response, class Message>
  Reactor* Launch(Context* context, const char* method, const LaunchRequest* request,
                  Response* response, TaskKind kind, Message* message) {
    return Unary(
        method, context, request, response,
        [this, request, response, kind, message](const auth::Principal& principal, Done done) {
          QueryLaunchPools(
              engine_, pool_,
              [this, request, response, kind, message, principal,
               done = std::move(done)](const absl::StatusOr<LaunchPools>& pools) mutable {
                if (!pools.ok()) return done(pools.status());
                LaunchInPools(*request, kind, *pools, response, message, principal,
                              std::move(done));
              });
        });
  }

  template <class Response, class Message>
  void LaunchInPools(const LaunchRequest& request, TaskKind kind, const LaunchPools& pools,
                     Response* response, Message* message, const auth::Principal& principal,
                     Done done) {
    absl::StatusOr<api::Launch> launch =
        PrepareLaunch(store_, settings_, request, kind, pools, principal);
    if (!launch.ok()) return done(launch.status());
    *response->mutable_config() = ToStruct(launch->event.task.definition->config);
    if (request.preview()) return done(absl::OkStatus());
    const model::TaskId id = launch->event.task.id;
    SubmitLaunch(engine_, store_, pool_, *std::move(launch),
                 [this, id, kind, response, message, principal,
                  done = std::move(done)](const absl::StatusOr<engine::Applied>& applied) mutable {
                   if (!applied.ok()) return done(applied.status());
                   if (applied->exceeds_capacity) {
                     response->add_warnings(v1::LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED);
                   }
                   Read(id.value(), kind, principal, message, nullptr, std::move(done));
                 });
  }

  template <class Response, class Message>
  Reactor* Get(Context* context, const char* method, const v1::CommandRequest* request,
               Response* response, TaskKind kind, Message* message) {
    return Unary(
        method, context, request, response,
        [this, request, response, kind, message](const auth::Principal& principal, Done done) {
          Read(request->id(), kind, principal, message, response->mutable_config(),
               std::move(done));
        });
  }

  template <class Response, class Message>
  Reactor* Kill(Context* context, const char* method, const v1::CommandRequest* request,
                Response* response, TaskKind kind, Message* message) {
    return Unary(
        method, context, request, response,
        [this, request, kind, message](const auth::Principal& principal, Done done) {
          const auto user = store_.users().GetUser(principal.user);
          if (!user.ok()) return done(user.status());
          Change(request->id(), kind, principal, message,
                 cluster::KillTasks{{model::TaskId(request->id())},
                                    absl::StrCat("user ", user->username, " requested the kill")},
                 std::move(done));
        });
  }

  template <class Response, class Message>
  Reactor* SetPriority(Context* context, const char* method, const PriorityRequest* request,
                       Response* response, TaskKind kind, Message* message) {
    return Unary(method, context, request, response,
                 [this, request, kind, message](const auth::Principal& principal, Done done) {
                   cluster::UpdateQueue update;
                   update.updates.push_back(
                       {.job = model::JobId(request->id()), .priority = request->priority()});
                   absl::Status allowed = CheckQueueUpdate(store_, update);
                   if (!allowed.ok()) return done(std::move(allowed));
                   Change(request->id(), kind, principal, message, std::move(update),
                          std::move(done));
                 });
  }

  // Submits the event if the task is of this kind and lives, and reads the task afterwards.
  template <class Message>
  void Change(const std::string& id, TaskKind kind, const auth::Principal& principal,
              Message* message, cluster::Event event, Done done) {
    const absl::StatusOr<store::TaskRecord> record = Find(id, kind);
    if (!record.ok()) return done(record.status());
    if (model::IsTerminal(record->task.state)) {
      return Read(id, kind, principal, message, nullptr, std::move(done));
    }
    SubmitAndContinue(
        engine_, std::move(event),
        [this, id, kind, principal, message](const engine::Applied&, Done finish) {
          Read(id, kind, principal, message, nullptr, std::move(finish));
        },
        [this, id, kind, principal, message, done = std::move(done)](absl::Status status) mutable {
          // It may have ended since it was read.
          if (!absl::IsNotFound(status)) return done(std::move(status));
          Read(id, kind, principal, message, nullptr, std::move(done));
        });
  }

  absl::StatusOr<store::TaskRecord> Find(const std::string& id, TaskKind kind) {
    absl::StatusOr<store::TaskRecord> record = store_.tasks().Get(model::TaskId(id));
    const bool other = record.ok() && record->task.kind != kind;
    if (other || absl::IsNotFound(record.status())) {
      return absl::NotFoundError(absl::StrCat(GetNoun(kind), " '", id, "' not found"));
    }
    return record;
  }

  // `config`: null if it is not asked for.
  template <class Message>
  void Read(const std::string& id, TaskKind kind, const auth::Principal& principal,
            Message* message, google::protobuf::Struct* config, Done done) {
    QueryLiveTasks(engine_, pool_,
                   [this, id, kind, principal, message, config,
                    done = std::move(done)](const absl::StatusOr<LiveTasks>& live) mutable {
                     if (!live.ok()) return done(live.status());
                     const absl::StatusOr<store::TaskRecord> record = Find(id, kind);
                     if (!record.ok()) return done(record.status());
                     Fill(*record, *live, principal, message);
                     if (config != nullptr) *config = ToStruct(record->task.definition->config);
                     done(absl::OkStatus());
                   });
  }

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
  proxy::Activity& activity_;
  const LaunchSettings settings_;
};

}  // namespace

std::unique_ptr<Service> MakeCommandService(CallPipeline& calls, engine::Engine& engine,
                                            store::Store& store, base::ThreadPool& pool,
                                            const base::Clock& clock, proxy::Activity& activity,
                                            LaunchSettings settings) {
  return std::make_unique<CommandService>(calls, engine, store, pool, clock, activity,
                                          std::move(settings));
}

}  // namespace det::api
