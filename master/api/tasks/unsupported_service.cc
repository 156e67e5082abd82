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
    return Unsupported(
        __func__, context, request, response,
        "does not support user groups; assign roles to users (det rbac assign-role)");
  }
  Reactor* Kubernetes(Context* context, const UnservedRequest* request,
                      UnservedResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "does not use Kubernetes; limit a workspace with its quota (det workspace edit)");
  }
  Reactor* GenericTasks(Context* context, const UnservedRequest* request,
                        UnservedResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "does not run generic tasks; create an experiment with the command line as its entrypoint");
  }
  Reactor* DetachedMode(Context* context, const UnservedPairRequest* request,
                        UnservedResponse* response) override {
    return Unsupported(__func__, context, request, response,
                       "does not support unmanaged experiments; create a managed experiment");
  }
  Reactor* Profiler(Context* context, const UnservedRequest* request,
                    UnservedResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "stores profiler data as metrics of the trial; report it with its own metric "
        "group");
  }
  Reactor* TaskSignals(Context* context, const UnservedPairRequest* request,
                       UnservedResponse* response) override {
    return Unsupported(__func__, context, request, response,
                       "does not need this call from tasks; remove it from the program");
  }
  Reactor* Cleanup(Context* context, const UnservedRequest* request,
                   UnservedResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "removes expired logs and files automatically; see `det experiment set log-retention` and "
        "`det experiment delete`");
  }
};

}  // namespace

std::unique_ptr<Service> MakeUnservedService(CallPipeline& calls) {
  return std::make_unique<UnservedService>(calls);
}

}  // namespace det::api
