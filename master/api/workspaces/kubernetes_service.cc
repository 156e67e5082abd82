#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/kubernetes.unary.h"
#include "master/api/rpc/api_service.h"
#include "master/api/workspaces/services.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

absl::Status NotSupported(const char* what, const char* instead) {
  return absl::NotFoundError(
      absl::StrCat("operation not supported: this cluster uses no "
                   "Kubernetes, hence has no ",
                   what, "; use ", instead));
}
absl::Status NoNamespaces() {
  return NotSupported("namespaces", "bindings of resource pools (`det resource-pool bindings`)");
}
absl::Status NoResourceQuotas() {
  return NotSupported("quotas of namespaces", "quotas of workspaces (`det quota set`)");
}

class KubernetesService final : public ApiService<v1::KubernetesService> {
 public:
  KubernetesService(CallPipeline& calls, store::Store& store) : ApiService(calls), store_(store) {}

  Reactor* GetKubernetesResourceManagers(
      Context* context, const v1::GetKubernetesResourceManagersRequest* request,
      v1::GetKubernetesResourceManagersResponse* response) override {
    return Accept(__func__, context, request, response);
  }

  Reactor* ListWorkspaceNamespaceBindings(
      Context* context, const v1::ListWorkspaceNamespaceBindingsRequest* request,
      v1::ListWorkspaceNamespaceBindingsResponse* response) override {
    return Refuse(__func__, context, request, response, request->id(), NoNamespaces());
  }

  Reactor* GetWorkspacesWithDefaultNamespaceBindings(
      Context* context, const v1::GetWorkspacesWithDefaultNamespaceBindingsRequest* request,
      v1::GetWorkspacesWithDefaultNamespaceBindingsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal& caller) -> absl::Status {
                   store::WorkspaceQuery query;
                   query.visible = caller.Visible(model::Permission::kViewWorkspace);
                   DET_ASSIGN_OR_RETURN(const store::WorkspacePage page,
                                        store_.workspaces().ListWorkspaces(query));
                   for (const store::WorkspaceRecord& workspace : page.workspaces) {
                     response->add_workspace_ids(workspace.id);
                   }
                   return absl::OkStatus();
                 });
  }

  Reactor* SetWorkspaceNamespaceBindings(
      Context* context, const v1::SetWorkspaceNamespaceBindingsRequest* request,
      v1::SetWorkspaceNamespaceBindingsResponse* response) override {
    return Refuse(__func__, context, request, response, request->workspace_id(), NoNamespaces());
  }

  Reactor* DeleteWorkspaceNamespaceBindings(
      Context* context, const v1::DeleteWorkspaceNamespaceBindingsRequest* request,
      v1::DeleteWorkspaceNamespaceBindingsResponse* response) override {
    return Accept(__func__, context, request, response);
  }

  Reactor* BulkAutoCreateWorkspaceNamespaceBindings(
      Context* context, const v1::BulkAutoCreateWorkspaceNamespaceBindingsRequest* request,
      v1::BulkAutoCreateWorkspaceNamespaceBindingsResponse* response) override {
    return Unary(__func__, context, request, response, [request](const auth::Principal&) {
      return request->workspace_ids().empty() ? absl::OkStatus() : NoNamespaces();
    });
  }

  Reactor* GetKubernetesResourceQuotas(Context* context,
                                       const v1::GetKubernetesResourceQuotasRequest* request,
                                       v1::GetKubernetesResourceQuotasResponse* response) override {
    return Refuse(__func__, context, request, response, request->id(), NoResourceQuotas());
  }

  Reactor* SetResourceQuotas(Context* context, const v1::SetResourceQuotasRequest* request,
                             v1::SetResourceQuotasResponse* response) override {
    return Refuse(__func__, context, request, response, request->id(), NoResourceQuotas());
  }

 private:
  // Ends the call with an empty response.
  template <class Request, class Response>
  Reactor* Accept(const char* method, Context* context, const Request* request,
                  Response* response) {
    return Unary(method, context, request, response,
                 [](const auth::Principal&) { return absl::OkStatus(); });
  }

  // Ends the call with `why`, or with NOT_FOUND for the workspace.
  template <class Request, class Response>
  Reactor* Refuse(const char* method, Context* context, const Request* request, Response* response,
                  int32_t workspace, absl::Status why) {
    return Unary(method, context, request, response,
                 [this, workspace, why = std::move(why)](const auth::Principal&) -> absl::Status {
                   DET_RETURN_IF_ERROR(store_.workspaces().GetWorkspaceName(workspace).status());
                   return why;
                 });
  }

  store::Store& store_;
};

}  // namespace

std::unique_ptr<Service> MakeKubernetesService(CallPipeline& calls, store::Store& store) {
  return std::make_unique<KubernetesService>(calls, store);
}

}  // namespace det::api
