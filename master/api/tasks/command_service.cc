#include <memory>
#include <string_view>

#include "det/api/v1/command.pb.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/rpc/unsupported.h"
#include "master/api/tasks/services.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Asked = v1::GetCommandsRequest;
using Wanted = v1::LaunchCommandRequest;
using Reactor = grpc::ServerUnaryReactor;

class CommandService final : public Service {
 public:
  explicit CommandService(const Edge& edge) : Service("det.api.v1.CommandService"), edge_(edge) {
    Serve("GetCommands", &CommandService::GetCommands);
    Serve("GetNotebooks", &CommandService::GetNotebooks);
    Serve("GetShells", &CommandService::GetShells);
    Serve("GetTensorboards", &CommandService::GetTensorboards);
    Serve("GetActiveTasksCount", &CommandService::GetActiveTasksCount);
    Serve("LaunchCommand", &CommandService::LaunchCommand);
    Serve("LaunchNotebook", &CommandService::LaunchNotebook);
    Serve("LaunchShell", &CommandService::LaunchShell);
    Serve("LaunchTensorboard", &CommandService::LaunchTensorboard);
    Serve("GetCommand", &CommandService::GetCommand);
    Serve("KillCommand", &CommandService::KillCommand);
    Serve("SetCommandPriority", &CommandService::SetCommandPriority);
    Serve("GetNotebook", &CommandService::GetNotebook);
    Serve("KillNotebook", &CommandService::KillNotebook);
    Serve("SetNotebookPriority", &CommandService::SetNotebookPriority);
    Serve("IdleNotebook", &CommandService::IdleNotebook);
    Serve("GetShell", &CommandService::GetShell);
    Serve("KillShell", &CommandService::KillShell);
    Serve("SetShellPriority", &CommandService::SetShellPriority);
    Serve("GetTensorboard", &CommandService::GetTensorboard);
    Serve("KillTensorboard", &CommandService::KillTensorboard);
    Serve("SetTensorboardPriority", &CommandService::SetTensorboardPriority);
  }

  Reactor* GetCommands(Context* context, const Asked* request, v1::GetCommandsResponse* response) {
    return List(context, "det.api.v1.CommandService.GetCommands", request, response);
  }
  Reactor* GetNotebooks(Context* context, const Asked* request,
                        v1::GetNotebooksResponse* response) {
    return List(context, "det.api.v1.CommandService.GetNotebooks", request, response);
  }
  Reactor* GetShells(Context* context, const Asked* request, v1::GetShellsResponse* response) {
    return List(context, "det.api.v1.CommandService.GetShells", request, response);
  }
  Reactor* GetTensorboards(Context* context, const Asked* request,
                           v1::GetTensorboardsResponse* response) {
    return List(context, "det.api.v1.CommandService.GetTensorboards", request, response);
  }

  // There are none of any kind: zeros.
  Reactor* GetActiveTasksCount(Context* context, const v1::GetActiveTasksCountRequest* request,
                               v1::GetActiveTasksCountResponse*) {
    return UnaryNow(edge_, context, request, "det.api.v1.CommandService.GetActiveTasksCount",
                    [](const auth::Principal&) { return absl::OkStatus(); });
  }

  Reactor* LaunchCommand(Context* context, const Wanted* request, v1::LaunchCommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.LaunchCommand",
                   "runs no commands; create an experiment whose entrypoint is the command line");
  }
  Reactor* LaunchNotebook(Context* context, const Wanted* request, v1::LaunchCommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.LaunchNotebook",
                   "runs no notebooks; run one on your own machine and log in from there");
  }
  Reactor* LaunchShell(Context* context, const Wanted* request, v1::LaunchCommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.LaunchShell",
                   "runs no shells; log in on a machine of the cluster");
  }
  Reactor* LaunchTensorboard(Context* context, const Wanted* request, v1::LaunchCommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.LaunchTensorboard",
                   "runs no TensorBoards; `det trial describe` shows a trial's metrics");
  }

  // Of those that nobody can have started.
  Reactor* GetCommand(Context* context, const v1::CommandRequest* request, v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.GetCommand",
                   "has no commands");
  }
  Reactor* KillCommand(Context* context, const v1::CommandRequest* request, v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.KillCommand",
                   "has no commands");
  }
  Reactor* SetCommandPriority(Context* context, const v1::CommandRequest* request,
                              v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.SetCommandPriority",
                   "has no commands");
  }
  Reactor* GetNotebook(Context* context, const v1::CommandRequest* request, v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.GetNotebook",
                   "has no notebooks");
  }
  Reactor* KillNotebook(Context* context, const v1::CommandRequest* request, v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.KillNotebook",
                   "has no notebooks");
  }
  Reactor* SetNotebookPriority(Context* context, const v1::CommandRequest* request,
                               v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.SetNotebookPriority",
                   "has no notebooks");
  }
  Reactor* IdleNotebook(Context* context, const v1::CommandRequest* request, v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.IdleNotebook",
                   "has no notebooks");
  }
  Reactor* GetShell(Context* context, const v1::CommandRequest* request, v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.GetShell", "has no shells");
  }
  Reactor* KillShell(Context* context, const v1::CommandRequest* request, v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.KillShell", "has no shells");
  }
  Reactor* SetShellPriority(Context* context, const v1::CommandRequest* request,
                            v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.SetShellPriority",
                   "has no shells");
  }
  Reactor* GetTensorboard(Context* context, const v1::CommandRequest* request,
                          v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.GetTensorboard",
                   "has no TensorBoards");
  }
  Reactor* KillTensorboard(Context* context, const v1::CommandRequest* request,
                           v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.KillTensorboard",
                   "has no TensorBoards");
  }
  Reactor* SetTensorboardPriority(Context* context, const v1::CommandRequest* request,
                                  v1::CommandResponse*) {
    return Decline(edge_, context, request, "det.api.v1.CommandService.SetTensorboardPriority",
                   "has no TensorBoards");
  }

 private:
  template <class Response>
  Reactor* List(Context* context, std::string_view method, const Asked* request,
                Response* response) {
    return UnaryNow(edge_, context, request, method, [request, response](const auth::Principal&) {
      *response->mutable_pagination() = ToPagination(request->offset(), request->limit(), 0, 0);
      return absl::OkStatus();
    });
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeCommandService(const Edge& edge) {
  return std::make_unique<CommandService>(edge);
}

}  // namespace det::api
