#include <memory>

#include "det/api/v1/unserved.unary.h"
#include "master/api/rpc/api_service.h"
#include "master/api/tasks/services.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using v1::UnservedRequest;
using v1::UnservedResponse;

class UnservedService final : public ApiService<v1::UnservedService> {
 public:
  explicit UnservedService(CallPipeline& calls) : ApiService(calls) {}

  Reactor* GenericTasks(Context* context, const UnservedRequest* request,
                        UnservedResponse* response) override {
    return Unsupported(
        __func__, context, request, response,
        "does not run generic tasks; create an experiment with the command line as its entrypoint");
  }
};

}  // namespace

std::unique_ptr<Service> MakeUnservedService(CallPipeline& calls) {
  return std::make_unique<UnservedService>(calls);
}

}  // namespace det::api
