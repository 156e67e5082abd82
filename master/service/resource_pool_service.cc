#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/resource_pool.grpc.pb.h"
#include "master/service/blocking.h"
#include "master/service/call.h"
#include "master/service/convert.h"
#include "master/service/convert_resources.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;
using cluster::KnownPool;

std::optional<KnownPool> FindPool(const cluster::Cluster& cluster, const std::string& name) {
  for (KnownPool& view : cluster.pools()) {
    if (view.pool.name == name) return std::move(view);
  }
  return std::nullopt;
}

void List(const cluster::Cluster& cluster, const api::GetResourcePoolsRequest& request,
          api::GetResourcePoolsResponse* response) {
  std::vector<api::ResourcePool> pools = ListPools(cluster);
  if (request.unbound()) {
    std::erase_if(pools, [](const api::ResourcePool& pool) { return !pool.workspaces().empty(); });
  }
  const int total = static_cast<int>(pools.size());
  const int wanted = request.offset() >= 0 ? request.offset() : total + request.offset();
  for (int i = std::clamp(wanted, 0, total); i < total; ++i) {
    if (request.limit() > 0 && response->resource_pools_size() >= request.limit()) break;
    *response->add_resource_pools() = std::move(pools[static_cast<size_t>(i)]);
  }
  *response->mutable_pagination() =
      ToPagination(request.offset(), request.limit(), response->resource_pools_size(), total);
}

// Slots held now, by user and by workspace.
using Held = std::map<std::pair<model::Quota::Scope, std::string>, double>;

Held HeldSlots(const cluster::Cluster& cluster) {
  Held held;
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    const experiment::Trial* trial = cluster.FindTrial(allocation->trial);
    const experiment::Experiment* e =
        trial == nullptr ? nullptr : cluster.FindExperiment(trial->experiment);
    if (e == nullptr) continue;
    double slots = 0;
    for (const experiment::Share& share : allocation->shares) {
      if (!share.exited) slots += static_cast<double>(share.placement.slots.size());
    }
    slots *= allocation->fraction;
    held[{model::Quota::Scope::kUser, experiment::OwnerName(*e)}] += slots;
    held[{model::Quota::Scope::kWorkspace, e->config->workspace}] += slots;
  }
  return held;
}

std::vector<api::Quota> ListQuotas(const cluster::Cluster& cluster) {
  Held held = HeldSlots(cluster);
  std::vector<api::Quota> quotas;
  for (const scheduler::Limit& limit : cluster.limits()) {
    quotas.push_back(ToProto(limit, held[{limit.quota.scope, limit.quota.name}]));
  }
  return quotas;
}

// Names of a request about bindings. INVALID_ARGUMENT where workspaces are named by id.
template <class Request>
absl::StatusOr<std::vector<std::string>> Workspaces(const Request& request) {
  if (!request.workspace_ids().empty()) {
    return absl::InvalidArgumentError(
        "workspace_ids: workspaces have no ids here; give workspace_names");
  }
  return std::vector<std::string>(request.workspace_names().begin(),
                                  request.workspace_names().end());
}

class ResourcePoolService final : public api::ResourcePoolService::CallbackService {
 public:
  explicit ResourcePoolService(const Edge& edge) : edge_(edge) {}

  grpc::ServerUnaryReactor* GetResourcePools(grpc::CallbackServerContext* context,
                                             const api::GetResourcePoolsRequest* request,
                                             api::GetResourcePoolsResponse* response) override {
    return Unary(edge_, context, "det.api.v1.ResourcePoolService.GetResourcePools",
                 [this, request, response](const auth::Principal&, Done done) {
                   edge_.engine->Query(
                       [request, response](const cluster::Cluster& cluster) {
                         List(cluster, *request, response);
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* PutResourcePool(grpc::CallbackServerContext* context,
                                            const api::PutResourcePoolRequest* request,
                                            api::PutResourcePoolResponse* response) override {
    return UnaryNow(edge_, context, "det.api.v1.ResourcePoolService.PutResourcePool",
                    [this, request, response](const auth::Principal&) {
                      return Put(*request, response->mutable_resource_pool());
                    });
  }

  grpc::ServerUnaryReactor* DeleteResourcePool(grpc::CallbackServerContext* context,
                                               const api::DeleteResourcePoolRequest* request,
                                               api::DeleteResourcePoolResponse*) override {
    return Unary(edge_, context, "det.api.v1.ResourcePoolService.DeleteResourcePool",
                 [this, request](const auth::Principal&, Done done) {
                   SubmitAndFinish(edge_, cluster::DeleteResourcePool{request->name()},
                                   std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* ListWorkspacesBoundToRP(
      grpc::CallbackServerContext* context, const api::ListWorkspacesBoundToRPRequest* request,
      api::ListWorkspacesBoundToRPResponse* response) override {
    return UnaryNow(edge_, context, "det.api.v1.ResourcePoolService.ListWorkspacesBoundToRP",
                    [this, request, response](const auth::Principal&) {
                      return ListBound(*request, response);
                    });
  }

  grpc::ServerUnaryReactor* BindRPToWorkspace(grpc::CallbackServerContext* context,
                                              const api::BindRPToWorkspaceRequest* request,
                                              api::BindRPToWorkspaceResponse*) override {
    return Bind(context, "det.api.v1.ResourcePoolService.BindRPToWorkspace", *request,
                [](const std::vector<std::string>& names, std::vector<std::string>* bound) {
                  bound->insert(bound->end(), names.begin(), names.end());
                });
  }

  grpc::ServerUnaryReactor* UnbindRPFromWorkspace(grpc::CallbackServerContext* context,
                                                  const api::UnbindRPFromWorkspaceRequest* request,
                                                  api::UnbindRPFromWorkspaceResponse*) override {
    return Bind(context, "det.api.v1.ResourcePoolService.UnbindRPFromWorkspace", *request,
                [](const std::vector<std::string>& names, std::vector<std::string>* bound) {
                  std::erase_if(*bound, [&](const std::string& name) {
                    return std::count(names.begin(), names.end(), name) > 0;
                  });
                });
  }

  grpc::ServerUnaryReactor* OverwriteRPWorkspaceBindings(
      grpc::CallbackServerContext* context, const api::OverwriteRPWorkspaceBindingsRequest* request,
      api::OverwriteRPWorkspaceBindingsResponse*) override {
    return Bind(context, "det.api.v1.ResourcePoolService.OverwriteRPWorkspaceBindings", *request,
                [](const std::vector<std::string>& names, std::vector<std::string>* bound) {
                  *bound = names;
                });
  }

  grpc::ServerUnaryReactor* GetQuotas(grpc::CallbackServerContext* context,
                                      const api::GetQuotasRequest*,
                                      api::GetQuotasResponse* response) override {
    return Unary(edge_, context, "det.api.v1.ResourcePoolService.GetQuotas",
                 [this, response](const auth::Principal&, Done done) {
                   edge_.engine->Query(
                       [response](const cluster::Cluster& cluster) {
                         for (api::Quota& quota : ListQuotas(cluster)) {
                           *response->add_quotas() = std::move(quota);
                         }
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* PutQuota(grpc::CallbackServerContext* context,
                                     const api::PutQuotaRequest* request,
                                     api::PutQuotaResponse* response) override {
    return UnaryNow(edge_, context, "det.api.v1.ResourcePoolService.PutQuota",
                    [this, request, response](const auth::Principal&) {
                      return Put(request->quota(), response->mutable_quota());
                    });
  }

  grpc::ServerUnaryReactor* DeleteQuota(grpc::CallbackServerContext* context,
                                        const api::DeleteQuotaRequest* request,
                                        api::DeleteQuotaResponse*) override {
    return UnaryNow(edge_, context, "det.api.v1.ResourcePoolService.DeleteQuota",
                    [this, request](const auth::Principal&) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const model::Quota::Scope scope,
                                           ParseScope(request->scope()));
                      return SubmitNow(edge_, cluster::DeleteQuota{scope, request->name()});
                    });
  }

 private:
  absl::Status Put(const api::PutResourcePoolRequest& request, api::ResourcePool* out) {
    cluster::PutResourcePool event{.pool = {.name = request.name()}};
    if (request.has_default_compute_pool()) event.default_compute = request.default_compute_pool();
    if (request.has_default_aux_pool()) event.default_aux = request.default_aux_pool();
    std::lock_guard lock(changing_);
    DET_RETURN_IF_ERROR(QueryNow(edge_, [&](const cluster::Cluster& cluster) {
      if (auto view = FindPool(cluster, request.name())) event.pool = std::move(view->pool);
    }));
    DET_RETURN_IF_ERROR(Apply(request, &event.pool));
    DET_RETURN_IF_ERROR(SubmitNow(edge_, std::move(event)));
    return QueryNow(edge_, [&](const cluster::Cluster& cluster) {
      for (api::ResourcePool& pool : ListPools(cluster)) {
        if (pool.name() == request.name()) *out = std::move(pool);
      }
    });
  }

  absl::Status ListBound(const api::ListWorkspacesBoundToRPRequest& request,
                         api::ListWorkspacesBoundToRPResponse* response) {
    absl::Status judged;
    std::vector<std::string> bound;
    DET_RETURN_IF_ERROR(QueryNow(edge_, [&](const cluster::Cluster& cluster) {
      auto view = FindPool(cluster, request.resource_pool_name());
      judged = view ? absl::OkStatus() : NoSuchPool(cluster, request.resource_pool_name());
      if (view) bound = std::move(view->pool.workspaces);
    }));
    DET_RETURN_IF_ERROR(judged);
    const int total = static_cast<int>(bound.size());
    const int wanted = request.offset() >= 0 ? request.offset() : total + request.offset();
    for (int i = std::clamp(wanted, 0, total); i < total; ++i) {
      if (request.limit() > 0 && response->workspace_names_size() >= request.limit()) break;
      response->add_workspace_names(bound[static_cast<size_t>(i)]);
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->workspace_names_size(), total);
    return absl::OkStatus();
  }

  template <class Request>
  grpc::ServerUnaryReactor* Bind(grpc::CallbackServerContext* context, std::string_view method,
                                 const Request& request,
                                 void (*change)(const std::vector<std::string>& names,
                                                std::vector<std::string>* bound)) {
    return UnaryNow(
        edge_, context, method, [this, &request, change](const auth::Principal&) -> absl::Status {
          DET_ASSIGN_OR_RETURN(const std::vector<std::string> names, Workspaces(request));
          return ChangeBound(request.resource_pool_name(), names, change);
        });
  }

  absl::Status ChangeBound(const std::string& name, const std::vector<std::string>& names,
                           void (*change)(const std::vector<std::string>& names,
                                          std::vector<std::string>* bound)) {
    absl::Status judged;
    cluster::PutResourcePool event;
    std::lock_guard lock(changing_);
    DET_RETURN_IF_ERROR(QueryNow(edge_, [&](const cluster::Cluster& cluster) {
      auto view = FindPool(cluster, name);
      judged = view ? absl::OkStatus() : NoSuchPool(cluster, name);
      if (view) event.pool = std::move(view->pool);
    }));
    DET_RETURN_IF_ERROR(judged);
    std::vector<std::string>& bound = event.pool.workspaces;
    change(names, &bound);
    std::sort(bound.begin(), bound.end());
    bound.erase(std::unique(bound.begin(), bound.end()), bound.end());
    return SubmitNow(edge_, std::move(event));
  }

  absl::Status Put(const api::Quota& quota, api::Quota* out) {
    DET_ASSIGN_OR_RETURN(const model::Quota wanted, FromProto(quota));
    DET_RETURN_IF_ERROR(SubmitNow(edge_, cluster::PutQuota{wanted}));
    return QueryNow(edge_, [&](const cluster::Cluster& cluster) {
      for (api::Quota& each : ListQuotas(cluster)) {
        if (each.scope() == quota.scope() && each.name() == quota.name()) *out = std::move(each);
      }
    });
  }

  const Edge& edge_;
  // A pool is read, changed and written: one at a time.
  std::mutex changing_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeResourcePoolService(const Edge& edge) {
  return std::make_unique<ResourcePoolService>(edge);
}

}  // namespace det::service
