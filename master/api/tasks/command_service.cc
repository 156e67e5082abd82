#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "det/api/v1/command.unary.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/tasks/services.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using ListRequest = v1::GetCommandsRequest;
using LaunchRequest = v1::LaunchCommandRequest;
using Reactor = grpc::ServerUnaryReactor;

class CommandService final : public ApiService<v1::CommandService> {
 public:
  explicit CommandService(CallPipeline& calls) : ApiService(calls) {}

  Reactor* GetCommands(Context* context, const ListRequest* request,
                       v1::GetCommandsResponse* response) override {
    return List(context, __func__, request, response);
  }
  Reactor* GetNotebooks(Context* context, const ListRequest* request,
                        v1::GetNotebooksResponse* response) override {
    return List(context, __func__, request, response);
  }
  Reactor* GetShells(Context* context, const ListRequest* request,
                     v1::GetShellsResponse* response) override {
    return List(context, __func__, request, response);
  }
  Reactor* GetTensorboards(Context* context, const ListRequest* request,
                           v1::GetTensorboardsResponse* response) override {
    return List(context, __func__, request, response);
  }

  // The default response has a count of zero for each type.
  Reactor* GetActiveTasksCount(Context* context, const v1::GetActiveTasksCountRequest* request,
                               v1::GetActiveTasksCountResponse* response) override {
    return Unary(__func__, context, request, response,
                 [](const auth::Principal&) { return absl::OkStatus(); });
  }

  Reactor* LaunchCommand(Context* context, const LaunchRequest* request,
                         v1::LaunchCommandResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "does not run commands; create an experiment with the command line as its entrypoint");
  }
  Reactor* LaunchNotebook(Context* context, const LaunchRequest* request,
                          v1::LaunchCommandResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "does not run notebooks; run a notebook on your own machine and log in from there");
  }
  Reactor* LaunchShell(Context* context, const LaunchRequest* request,
                       v1::LaunchCommandResponse* response) override {
    return Unsupported(__func__, context, request, response,
                       "does not run shells; log in to a machine of the cluster");
  }
  Reactor* LaunchTensorboard(Context* context, const LaunchRequest* request,
                             v1::LaunchCommandResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "does not run TensorBoards; use `det trial describe` for the metrics of a trial");
  }

  // No command, notebook, shell or TensorBoard can exist.
  Reactor* GetCommand(Context* context, const v1::CommandRequest* request,
                      v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run commands");
  }
  Reactor* KillCommand(Context* context, const v1::CommandRequest* request,
                       v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run commands");
  }
  Reactor* SetCommandPriority(Context* context, const v1::CommandRequest* request,
                              v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run commands");
  }
  Reactor* GetNotebook(Context* context, const v1::CommandRequest* request,
                       v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run notebooks");
  }
  Reactor* KillNotebook(Context* context, const v1::CommandRequest* request,
                        v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run notebooks");
  }
  Reactor* SetNotebookPriority(Context* context, const v1::CommandRequest* request,
                               v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run notebooks");
  }
  Reactor* IdleNotebook(Context* context, const v1::CommandRequest* request,
                        v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run notebooks");
  }
  Reactor* GetShell(Context* context, const v1::CommandRequest* request,
                    v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run shells");
  }
  Reactor* KillShell(Context* context, const v1::CommandRequest* request,
                     v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run shells");
  }
  Reactor* SetShellPriority(Context* context, const v1::CommandRequest* request,
                            v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run shells");
  }
  Reactor* GetTensorboard(Context* context, const v1::CommandRequest* request,
                          v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run TensorBoards");
  }
  Reactor* KillTensorboard(Context* context, const v1::CommandRequest* request,
                           v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run TensorBoards");
  }
  Reactor* SetTensorboardPriority(Context* context, const v1::CommandRequest* request,
                                  v1::CommandResponse* response) override {
    return Unsupported(__func__, context, request, response, "does not run TensorBoards");
  }

 private:
  template <class Response>
  Reactor* List(Context* context, const char* method, const ListRequest* request,
                Response* response) {
    return Unary(method, context, request, response, [request, response](const auth::Principal&) {
      *response->mutable_pagination() = ToPagination(request->offset(), request->limit(), 0, 0);
      return absl::OkStatus();
    });
  }
};

}  // namespace

std::unique_ptr<Service> MakeCommandService(CallPipeline& calls) {
  return std::make_unique<CommandService>(calls);
}

}  // namespace det::api
