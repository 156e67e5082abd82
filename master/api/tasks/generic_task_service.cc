#include <memory>

#include "det/api/v1/generic_task.unary.h"
#include "master/api/rpc/api_service.h"
#include "master/api/tasks/services.h"

namespace det::api {
namespace {

class GenericTaskService final : public ApiService<v1::GenericTaskService> {
 public:
  explicit GenericTaskService(CallPipeline& calls) : ApiService(calls) {}
};

}  // namespace

std::unique_ptr<Service> MakeGenericTaskService(CallPipeline& calls) {
  return std::make_unique<GenericTaskService>(calls);
}

}  // namespace det::api
