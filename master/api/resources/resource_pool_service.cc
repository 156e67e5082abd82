#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/resource_pool.unary.h"
#include "master/api/common/convert.h"
#include "master/api/common/convert_resources.h"
#include "master/api/resources/services.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

using cluster::KnownPool;

std::optional<KnownPool> FindPool(const cluster::Cluster& cluster, const std::string& name) {
  for (KnownPool& view : cluster.pools()) {
    if (view.pool.name == name) return std::move(view);
  }
  return std::nullopt;
}

void AddPools(const cluster::Cluster& cluster, const v1::GetResourcePoolsRequest& request,
              v1::GetResourcePoolsResponse* response) {
  std::vector<v1::ResourcePool> pools = ListPools(cluster);
  if (request.unbound()) {
    std::erase_if(pools, [](const v1::ResourcePool& pool) { return !pool.workspaces().empty(); });
  }
  for (v1::ResourcePool& pool : pools) *response->add_resource_pools() = std::move(pool);
  *response->mutable_pagination() = ApplyWindow(request, response->mutable_resource_pools());
}

// The slots in use now, by user and by workspace.
using SlotsInUse = std::map<std::pair<model::Quota::Scope, std::string>, double>;

SlotsInUse CountSlotsInUse(const cluster::Cluster& cluster) {
  SlotsInUse in_use;
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    double slots = 0;
    for (const experiment::LocalTask& local_task : allocation->local_tasks) {
      if (!local_task.exited) slots += static_cast<double>(local_task.placement.slots.size());
    }
    slots *= allocation->fraction;
    if (const experiment::Task* task = cluster.FindTask(allocation->task)) {
      in_use[{model::Quota::Scope::kUser, task->owner_name}] += slots;
      in_use[{model::Quota::Scope::kWorkspace, task->workspace_name}] += slots;
      continue;
    }
    const experiment::Trial* trial = cluster.FindTrial(allocation->trial);
    const experiment::Experiment* e =
        trial == nullptr ? nullptr : cluster.FindExperiment(trial->experiment);
    if (e == nullptr) continue;
    in_use[{model::Quota::Scope::kUser, experiment::OwnerName(*e)}] += slots;
    in_use[{model::Quota::Scope::kWorkspace, e->config->workspace}] += slots;
  }
  return in_use;
}

std::vector<v1::Quota> ListQuotas(const cluster::Cluster& cluster) {
  SlotsInUse in_use = CountSlotsInUse(cluster);
  std::vector<v1::Quota> quotas;
  for (const scheduler::Limit& limit : cluster.limits()) {
    quotas.push_back(ToProto(limit, in_use[{limit.quota.scope, limit.quota.name}]));
  }
  return quotas;
}

// Creates the event that changes a pool, from the current state of the cluster.
using MakePut =
    std::function<absl::StatusOr<cluster::PutResourcePool>(const cluster::Cluster& cluster)>;

absl::StatusOr<cluster::PutResourcePool> MakeChange(const cluster::Cluster& cluster,
                                                    const v1::PutResourcePoolRequest& request) {
  cluster::PutResourcePool event{.pool = {.name = request.name()}};
  if (auto view = FindPool(cluster, request.name())) event.pool = std::move(view->pool);
  event.seen = event.pool;
  if (request.has_default_compute_pool()) event.default_compute = request.default_compute_pool();
  if (request.has_default_aux_pool()) event.default_aux = request.default_aux_pool();
  DET_RETURN_IF_ERROR(Apply(request, &event.pool));
  return event;
}

// Changes the list of workspaces that are bound to a pool. The caller sorts it and removes
// duplicates.
using ChangeBound = void (*)(const std::vector<std::string>& names,
                             std::vector<std::string>* bound);

absl::StatusOr<cluster::PutResourcePool> MakeBinding(const cluster::Cluster& cluster,
                                                     const std::string& name,
                                                     const std::vector<std::string>& names,
                                                     ChangeBound change) {
  auto view = FindPool(cluster, name);
  if (!view) return NoSuchPool(cluster, name);
  cluster::PutResourcePool event{.pool = std::move(view->pool)};
  event.seen = event.pool;
  std::vector<std::string>& bound = event.pool.workspaces;
  const std::vector<std::string> before = bound;
  change(names, &bound);
  const bool is_default = name == cluster.default_compute() || name == cluster.default_aux();
  if (is_default && bound.size() > before.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("default resource pool ", name,
                     " cannot be bound to any workspace, because the others would have no default; "
                     "make another pool the default first"));
  }
  std::sort(bound.begin(), bound.end());
  bound.erase(std::unique(bound.begin(), bound.end()), bound.end());
  return event;
}

absl::Status ListBound(const cluster::Cluster& cluster,
                       const v1::ListWorkspacesBoundToRPRequest& request,
                       v1::ListWorkspacesBoundToRPResponse* response) {
  const auto view = FindPool(cluster, request.resource_pool_name());
  if (!view) return NoSuchPool(cluster, request.resource_pool_name());
  for (const std::string& name : view->pool.workspaces) response->add_workspace_names(name);
  *response->mutable_pagination() = ApplyWindow(request, response->mutable_workspace_names());
  return absl::OkStatus();
}

// Adds the IDs of the names that are existing workspaces.
absl::Status AddIds(store::Store& store, v1::ListWorkspacesBoundToRPResponse* response) {
  for (const std::string& name : response->workspace_names()) {
    DET_ASSIGN_OR_RETURN(const store::WorkspacePage page,
                         store.workspaces().ListWorkspaces({.exact_name = name}));
    for (const auto& workspace : page.workspaces) response->add_workspace_ids(workspace.id);
  }
  return absl::OkStatus();
}

// The names in a request about bindings, including those of its IDs. A name may be bound before its
// workspace exists, as in the configuration file. Returns NOT_FOUND for an unknown ID.
template <class Request>
absl::StatusOr<std::vector<std::string>> ResolveWorkspaceNames(store::Store& store,
                                                               const Request& request) {
  std::vector<std::string> names(request.workspace_names().begin(),
                                 request.workspace_names().end());
  for (const int32_t id : request.workspace_ids()) {
    DET_ASSIGN_OR_RETURN(std::string name, store.workspaces().GetWorkspaceName(id));
    names.push_back(std::move(name));
  }
  return names;
}

class ResourcePoolService final : public ApiService<v1::ResourcePoolService> {
 public:
  ResourcePoolService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                      base::ThreadPool& pool)
      : ApiService(calls), engine_(engine), store_(store), pool_(pool) {}

  grpc::ServerUnaryReactor* GetResourcePools(grpc::CallbackServerContext* context,
                                             const v1::GetResourcePoolsRequest* request,
                                             v1::GetResourcePoolsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   engine_.Query(
                       [request, response](const cluster::Cluster& cluster) {
                         AddPools(cluster, *request, response);
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* PutResourcePool(grpc::CallbackServerContext* context,
                                            const v1::PutResourcePoolRequest* request,
                                            v1::PutResourcePoolResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Put(*request, response->mutable_resource_pool(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* DeleteResourcePool(grpc::CallbackServerContext* context,
                                               const v1::DeleteResourcePoolRequest* request,
                                               v1::DeleteResourcePoolResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request](const auth::Principal&, Done done) {
          SubmitAndFinish(engine_, cluster::DeleteResourcePool{request->name()}, std::move(done));
        });
  }

  grpc::ServerUnaryReactor* ListWorkspacesBoundToRP(
      grpc::CallbackServerContext* context, const v1::ListWorkspacesBoundToRPRequest* request,
      v1::ListWorkspacesBoundToRPResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&, Done done) {
          auto result = std::make_shared<absl::Status>();
          engine_.Query(
              [request, response, result](const cluster::Cluster& cluster) {
                *result = ListBound(cluster, *request, response);
              },
              [this, result, response, done = std::move(done)](absl::Status status) mutable {
                if (status.ok()) status = *result;
                if (!status.ok()) return done(std::move(status));
                pool_.Post([this, response, done = std::move(done)]() mutable {
                  done(AddIds(store_, response));
                });
              });
        });
  }

  grpc::ServerUnaryReactor* BindRPToWorkspace(grpc::CallbackServerContext* context,
                                              const v1::BindRPToWorkspaceRequest* request,
                                              v1::BindRPToWorkspaceResponse*) override {
    return Bind(context, __func__, *request,
                [](const std::vector<std::string>& names, std::vector<std::string>* bound) {
                  bound->insert(bound->end(), names.begin(), names.end());
                });
  }

  grpc::ServerUnaryReactor* UnbindRPFromWorkspace(grpc::CallbackServerContext* context,
                                                  const v1::UnbindRPFromWorkspaceRequest* request,
                                                  v1::UnbindRPFromWorkspaceResponse*) override {
    return Bind(context, __func__, *request,
                [](const std::vector<std::string>& names, std::vector<std::string>* bound) {
                  std::erase_if(*bound, [&](const std::string& name) {
                    return std::count(names.begin(), names.end(), name) > 0;
                  });
                });
  }

  grpc::ServerUnaryReactor* OverwriteRPWorkspaceBindings(
      grpc::CallbackServerContext* context, const v1::OverwriteRPWorkspaceBindingsRequest* request,
      v1::OverwriteRPWorkspaceBindingsResponse*) override {
    return Bind(context, __func__, *request,
                [](const std::vector<std::string>& names, std::vector<std::string>* bound) {
                  *bound = names;
                });
  }

  grpc::ServerUnaryReactor* GetQuotas(grpc::CallbackServerContext* context,
                                      const v1::GetQuotasRequest* request,
                                      v1::GetQuotasResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   engine_.Query(
                       [request, response](const cluster::Cluster& cluster) {
                         for (v1::Quota& quota : ListQuotas(cluster)) {
                           *response->add_quotas() = std::move(quota);
                         }
                         *response->mutable_pagination() =
                             ApplyWindow(*request, response->mutable_quotas());
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* PutQuota(grpc::CallbackServerContext* context,
                                     const v1::PutQuotaRequest* request,
                                     v1::PutQuotaResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Put(request->quota(), response->mutable_quota(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* DeleteQuota(grpc::CallbackServerContext* context,
                                        const v1::DeleteQuotaRequest* request,
                                        v1::DeleteQuotaResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request](const auth::Principal&, Done done) {
          const auto scope = ParseScope(request->scope());
          if (!scope.ok()) return done(scope.status());
          SubmitAndFinish(engine_, cluster::DeleteQuota{*scope, request->name()}, std::move(done));
        });
  }

 private:
  void Put(const v1::PutResourcePoolRequest& request, v1::ResourcePool* out, Done done) {
    Change([&request](const cluster::Cluster& cluster) { return MakeChange(cluster, request); },
           [this, &request, out, done = std::move(done)](absl::Status status) mutable {
             if (!status.ok()) return done(std::move(status));
             engine_.Query(
                 [&request, out](const cluster::Cluster& cluster) {
                   for (v1::ResourcePool& pool : ListPools(cluster)) {
                     if (pool.name() == request.name()) *out = std::move(pool);
                   }
                 },
                 std::move(done));
           });
  }

  template <class Request>
  grpc::ServerUnaryReactor* Bind(grpc::CallbackServerContext* context, const char* method,
                                 const Request& request, ChangeBound change) {
    return Unary(
        method, context, &request, nullptr,
        [this, &request, change](const auth::Principal&, Done done) {
          auto names = ResolveWorkspaceNames(store_, request);
          if (!names.ok()) return done(names.status());
          Change(
              [&request, names = *std::move(names), change](const cluster::Cluster& cluster) {
                return MakeBinding(cluster, request.resource_pool_name(), names, change);
              },
              std::move(done));
        });
  }

  // Reads a pool, changes it and writes it. Retries if another request wrote the pool in between.
  void Change(MakePut make, Done done) {
    auto event = std::make_shared<absl::StatusOr<cluster::PutResourcePool>>();
    engine_.Query([make, event](const cluster::Cluster& cluster) { *event = make(cluster); },
                  [this, make, event, done = std::move(done)](const absl::Status& status) mutable {
                    if (!status.ok()) return done(status);
                    if (!event->ok()) return done(event->status());
                    SubmitAndFinish(engine_, **std::move(event),
                                    [this, make, done = std::move(done)](absl::Status put) mutable {
                                      if (absl::IsAborted(put))
                                        return Change(make, std::move(done));
                                      done(std::move(put));
                                    });
                  });
  }

  void Put(const v1::Quota& quota, v1::Quota* out, Done done) {
    const absl::StatusOr<model::Quota> parsed = FromProto(quota);
    if (!parsed.ok()) return done(parsed.status());
    SubmitAndFinish(engine_, cluster::PutQuota{*parsed},
                    [this, &quota, out, done = std::move(done)](absl::Status status) mutable {
                      if (!status.ok()) return done(std::move(status));
                      engine_.Query(
                          [&quota, out](const cluster::Cluster& cluster) {
                            for (v1::Quota& each : ListQuotas(cluster)) {
                              const bool same =
                                  each.scope() == quota.scope() && each.name() == quota.name();
                              if (same) *out = std::move(each);
                            }
                          },
                          std::move(done));
                    });
  }

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Service> MakeResourcePoolService(CallPipeline& calls, engine::Engine& engine,
                                                 store::Store& store, base::ThreadPool& pool) {
  return std::make_unique<ResourcePoolService>(calls, engine, store, pool);
}

}  // namespace det::api
