#include <memory>

#include "det/api/v1/unserved.grpc.pb.h"
#include "master/api/rpc/api_service.h"
#include "master/api/tasks/services.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using v1::UnservedPairRequest;
using v1::UnservedRequest;
using v1::UnservedResponse;

class UnservedService final : public ApiService<v1::UnservedService> {
 public:
  explicit UnservedService(CallPipeline& calls) : ApiService(calls) {}

  Reactor* Groups(Context* context, const UnservedRequest* request,
                  UnservedResponse* response) override {
    return Unsupported(__func__, context, request, response,
                       "keeps no groups of users; give each user the role (det rbac assign-role)");
  }
  Reactor* Kubernetes(Context* context, const UnservedRequest* request,
                      UnservedResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "runs on agents, not on Kubernetes; limit a workspace by its quota (det workspace edit)");
  }
  Reactor* GenericTasks(Context* context, const UnservedRequest* request,
                        UnservedResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "has no tasks but those of trials; create an experiment whose entrypoint is the "
        "command line");
  }
  Reactor* DetachedMode(Context* context, const UnservedPairRequest* request,
                        UnservedResponse* response) override {
    return Unsupported(__func__, context, request, response,
                       "keeps no experiments that run elsewhere; create one that runs here");
  }
  Reactor* Profiler(Context* context, const UnservedRequest* request,
                    UnservedResponse* response) override {
    return Unsupported(__func__, context, request, response,
                       "keeps what a machine does among the trial's metrics: report it there, in a "
                       "group of its own");
  }
  Reactor* TaskSignals(Context* context, const UnservedPairRequest* request,
                       UnservedResponse* response) override {
    return Unsupported(__func__, context, request, response,
                       "asks this of no task: a trial's processes need not call it");
  }
  Reactor* Cleanup(Context* context, const UnservedRequest* request,
                   UnservedResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "removes old logs and files by itself; see log retention (det experiment set "
        "log-retention) and det experiment delete");
  }

 private:
};

}  // namespace

std::unique_ptr<Service> MakeUnservedService(CallPipeline& calls) {
  return std::make_unique<UnservedService>(calls);
}

}  // namespace det::api
