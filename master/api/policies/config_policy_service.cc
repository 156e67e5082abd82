#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/config_policy.pb.h"
#include "master/api/common/convert.h"
#include "master/api/policies/config_policy.h"
#include "master/api/policies/services.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

#define DET_METHOD(name) "det.api.v1.ConfigPolicyService." name

constexpr size_t kPoliciesLimit = 1 << 20;

// Clients write it in either case.
absl::StatusOr<std::string> ReadWorkload(const std::string& given) {
  std::string workload = absl::AsciiStrToUpper(given);
  if (workload == kExperimentWorkload || workload == kTaskWorkload) return workload;
  return absl::InvalidArgumentError(
      absl::StrCat("workload_type: \"", given, "\" is neither EXPERIMENT nor NTSC"));
}

class ConfigPolicyService final : public Service {
 public:
  explicit ConfigPolicyService(const Edge& edge)
      : Service("det.api.v1.ConfigPolicyService"), edge_(edge) {
    Serve("GetGlobalConfigPolicies", &ConfigPolicyService::GetGlobalConfigPolicies);
    Serve("PutGlobalConfigPolicies", &ConfigPolicyService::PutGlobalConfigPolicies);
    Serve("DeleteGlobalConfigPolicies", &ConfigPolicyService::DeleteGlobalConfigPolicies);
    Serve("GetWorkspaceConfigPolicies", &ConfigPolicyService::GetWorkspaceConfigPolicies);
    Serve("PutWorkspaceConfigPolicies", &ConfigPolicyService::PutWorkspaceConfigPolicies);
    Serve("DeleteWorkspaceConfigPolicies", &ConfigPolicyService::DeleteWorkspaceConfigPolicies);
  }

  Reactor* GetGlobalConfigPolicies(Context* context,
                                   const v1::GetGlobalConfigPoliciesRequest* request,
                                   v1::GetGlobalConfigPoliciesResponse* response) {
    return UnaryNow(
        edge_, context, request, DET_METHOD("GetGlobalConfigPolicies"),
        [this, request, response](const auth::Principal&) { return Get(0, *request, response); });
  }
  Reactor* PutGlobalConfigPolicies(Context* context,
                                   const v1::PutGlobalConfigPoliciesRequest* request,
                                   v1::PutGlobalConfigPoliciesResponse* response) {
    return UnaryNow(
        edge_, context, request, DET_METHOD("PutGlobalConfigPolicies"),
        [this, request, response](const auth::Principal&) { return Put(0, *request, response); });
  }
  Reactor* DeleteGlobalConfigPolicies(Context* context,
                                      const v1::DeleteGlobalConfigPoliciesRequest* request,
                                      v1::DeleteGlobalConfigPoliciesResponse*) {
    return UnaryNow(
        edge_, context, request, DET_METHOD("DeleteGlobalConfigPolicies"),
        [this, request](const auth::Principal&) { return Delete(0, request->workload_type()); });
  }

  Reactor* GetWorkspaceConfigPolicies(Context* context,
                                      const v1::GetWorkspaceConfigPoliciesRequest* request,
                                      v1::GetWorkspaceConfigPoliciesResponse* response) {
    return UnaryNow(edge_, context, request, DET_METHOD("GetWorkspaceConfigPolicies"),
                    [this, request, response](const auth::Principal&) {
                      return Get(request->workspace_id(), *request, response);
                    });
  }
  Reactor* PutWorkspaceConfigPolicies(Context* context,
                                      const v1::PutWorkspaceConfigPoliciesRequest* request,
                                      v1::PutWorkspaceConfigPoliciesResponse* response) {
    return UnaryNow(edge_, context, request, DET_METHOD("PutWorkspaceConfigPolicies"),
                    [this, request, response](const auth::Principal&) {
                      return Put(request->workspace_id(), *request, response);
                    });
  }
  Reactor* DeleteWorkspaceConfigPolicies(Context* context,
                                         const v1::DeleteWorkspaceConfigPoliciesRequest* request,
                                         v1::DeleteWorkspaceConfigPoliciesResponse*) {
    return UnaryNow(edge_, context, request, DET_METHOD("DeleteWorkspaceConfigPolicies"),
                    [this, request](const auth::Principal&) -> absl::Status {
                      const int32_t id = request->workspace_id();
                      if (id == 0) return store::NoSuchWorkspace(id);
                      return Delete(id, request->workload_type());
                    });
  }

 private:
  store::ConfigPolicies& policies() { return edge_.store->config_policies(); }

  template <class Request, class Response>
  absl::Status Get(int32_t workspace, const Request& request, Response* response) {
    DET_ASSIGN_OR_RETURN(const std::string workload, ReadWorkload(request.workload_type()));
    if constexpr (requires { request.workspace_id(); }) {
      DET_RETURN_IF_ERROR(edge_.store->workspaces().NameOf(workspace).status());
    }
    DET_ASSIGN_OR_RETURN(const model::Value found, policies().GetPolicies(workspace, workload));
    *response->mutable_config_policies() = ToStruct(found);
    return absl::OkStatus();
  }

  template <class Request, class Response>
  absl::Status Put(int32_t workspace, const Request& request, Response* response) {
    DET_ASSIGN_OR_RETURN(const std::string workload, ReadWorkload(request.workload_type()));
    if constexpr (requires { request.workspace_id(); }) {
      if (workspace == 0) return store::NoSuchWorkspace(workspace);
    }
    if (request.config_policies().size() > kPoliciesLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat("config_policies: more than ", kPoliciesLimit, " bytes"));
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

  const Edge& edge_;
};

#undef DET_METHOD

}  // namespace

std::unique_ptr<Service> MakeConfigPolicyService(const Edge& edge) {
  return std::make_unique<ConfigPolicyService>(edge);
}

}  // namespace det::api
