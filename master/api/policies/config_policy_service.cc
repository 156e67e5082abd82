#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/config_policy.unary.h"
#include "master/api/common/convert.h"
#include "master/api/policies/config_policy.h"
#include "master/api/policies/services.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

constexpr size_t kPoliciesLimit = 1 << 20;

// Clients send upper or lower case.
absl::StatusOr<std::string> ReadWorkload(const std::string& given) {
  std::string workload = absl::AsciiStrToUpper(given);
  if (workload == kExperimentWorkload || workload == kTaskWorkload) return workload;
  return absl::InvalidArgumentError(
      absl::StrCat("workload_type: \"", given, "\" is invalid; expected EXPERIMENT or NTSC"));
}

class ConfigPolicyService final : public ApiService<v1::ConfigPolicyService> {
 public:
  ConfigPolicyService(CallPipeline& calls, store::Store& store)
      : ApiService(calls), store_(store) {}

  Reactor* GetGlobalConfigPolicies(Context* context,
                                   const v1::GetGlobalConfigPoliciesRequest* request,
                                   v1::GetGlobalConfigPoliciesResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) { return Get(0, *request, response); });
  }
  Reactor* PutGlobalConfigPolicies(Context* context,
                                   const v1::PutGlobalConfigPoliciesRequest* request,
                                   v1::PutGlobalConfigPoliciesResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) { return Put(0, *request, response); });
  }
  Reactor* DeleteGlobalConfigPolicies(Context* context,
                                      const v1::DeleteGlobalConfigPoliciesRequest* request,
                                      v1::DeleteGlobalConfigPoliciesResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return Delete(0, request->workload_type());
    });
  }

  Reactor* GetWorkspaceConfigPolicies(Context* context,
                                      const v1::GetWorkspaceConfigPoliciesRequest* request,
                                      v1::GetWorkspaceConfigPoliciesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return Get(request->workspace_id(), *request, response);
                 });
  }
  Reactor* PutWorkspaceConfigPolicies(Context* context,
                                      const v1::PutWorkspaceConfigPoliciesRequest* request,
                                      v1::PutWorkspaceConfigPoliciesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return Put(request->workspace_id(), *request, response);
                 });
  }
  Reactor* DeleteWorkspaceConfigPolicies(
      Context* context, const v1::DeleteWorkspaceConfigPoliciesRequest* request,
      v1::DeleteWorkspaceConfigPoliciesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) -> absl::Status {
                   const int32_t id = request->workspace_id();
                   DET_RETURN_IF_ERROR(store_.workspaces().GetWorkspaceName(id).status());
                   return Delete(id, request->workload_type());
                 });
  }

 private:
  store::ConfigPolicies& policies() { return store_.config_policies(); }

  template <class Request, class Response>
  absl::Status Get(int32_t workspace, const Request& request, Response* response) {
    DET_ASSIGN_OR_RETURN(const std::string workload, ReadWorkload(request.workload_type()));
    if constexpr (requires { request.workspace_id(); }) {
      DET_RETURN_IF_ERROR(store_.workspaces().GetWorkspaceName(workspace).status());
    }
    DET_ASSIGN_OR_RETURN(const model::Value found, policies().GetPolicies(workspace, workload));
    *response->mutable_config_policies() = ToStruct(found);
    return absl::OkStatus();
  }

  template <class Request, class Response>
  absl::Status Put(int32_t workspace, const Request& request, Response* response) {
    DET_ASSIGN_OR_RETURN(const std::string workload, ReadWorkload(request.workload_type()));
    if constexpr (requires { request.workspace_id(); }) {
      DET_RETURN_IF_ERROR(store_.workspaces().GetWorkspaceName(workspace).status());
    }
    if (request.config_policies().size() > kPoliciesLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat("config_policies: more than ", kPoliciesLimit, " bytes; shorten it"));
    }
    DET_ASSIGN_OR_RETURN(const model::Value read,
                         ParsePolicies(request.config_policies(), workload));
    DET_RETURN_IF_ERROR(policies().PutPolicies(workspace, workload, read));
    *response->mutable_config_policies() = ToStruct(read);
    return absl::OkStatus();
  }

  absl::Status Delete(int32_t workspace, const std::string& given) {
    DET_ASSIGN_OR_RETURN(const std::string workload, ReadWorkload(given));
    return policies().DeletePolicies(workspace, workload);
  }

  store::Store& store_;
};

}  // namespace

std::unique_ptr<Service> MakeConfigPolicyService(CallPipeline& calls, store::Store& store) {
  return std::make_unique<ConfigPolicyService>(calls, store);
}

}  // namespace det::api
