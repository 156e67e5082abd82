#include "master/api/rpc/local_call.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace det::api {

LocalCalls::LocalCalls(const std::vector<std::unique_ptr<Service>>& services) {
  for (const auto& service : services) {
    for (const auto& [name, call] : service->unary_methods()) {
      methods_[absl::StrCat(service->name(), ".", absl::string_view(name.data(), name.size()))] = {
          service->grpc_service(), call};
    }
  }
}

std::shared_ptr<proto::WrittenParts> GetWrittenParts(const grpc::CallbackServerContext& context) {
  const auto* const local = dynamic_cast<const LocalContext*>(&context);
  return local == nullptr ? nullptr : local->written;
}

std::function<void()> LocalCalls::Start(std::string_view method,
                                        std::shared_ptr<const google::protobuf::Message> request,
                                        std::shared_ptr<google::protobuf::Message> response,
                                        std::shared_ptr<proto::WrittenParts> written, CallHead head,
                                        Done done) const {
  const auto it = methods_.find(method);
  if (it == methods_.end()) {
    done(absl::UnimplementedError(
        absl::StrCat(absl::string_view(method.data(), method.size()), " is not a unary method")));
    return [] {};
  }
  const Method& found = it->second;
  // The pipeline destroys its Done, and with it what it holds, after it has called it.
  auto context = std::make_shared<LocalContext>(std::move(head), std::move(written));
  context->done = [context, request, response, done = std::move(done)](
                      absl::Status status) mutable { done(std::move(status)); };
  found.call(*found.service, *context, *request, *response);
  if (context->done) {  // the service does not override the method
    Done unserved = std::move(context->done);
    unserved(absl::UnimplementedError(
        absl::StrCat(absl::string_view(method.data(), method.size()), " is not implemented")));
    return [] {};
  }
  return context->cancel;
}

}  // namespace det::api
