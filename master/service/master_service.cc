#include <memory>
#include <utility>

#include "det/api/v1/master.grpc.pb.h"
#include "master/service/call.h"
#include "master/service/convert.h"
#include "master/service/database_probe.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

struct Slots {
  int agents = 0;
  int slots = 0;
  int in_use = 0;
};

Slots Count(const cluster::Cluster& cluster) {
  Slots count;
  for (const auto& [id, agent] : cluster.agents()) {
    if (!agent.connected) continue;
    ++count.agents;
    count.slots += static_cast<int>(agent.slots.size());
  }
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    for (const experiment::Share& share : allocation->shares) {
      if (!share.exited) count.in_use += static_cast<int>(share.placement.slots.size());
    }
  }
  return count;
}

class MasterService final : public api::MasterService::CallbackService {
 public:
  explicit MasterService(const Edge& edge)
      : edge_(edge), probe_([store = edge.store] { return store->Ping(); }, edge.pool, edge.loop) {}

  grpc::ServerUnaryReactor* GetMaster(grpc::CallbackServerContext* context,
                                      const api::GetMasterRequest* request,
                                      api::GetMasterResponse* response) override {
    return UnaryNow(edge_, context, request, "det.api.v1.MasterService.GetMaster",
                    [this, response](const auth::Principal&) {
                      response->set_version(edge_.facts.version);
                      response->set_master_id(edge_.facts.master_id);
                      response->set_cluster_id(edge_.facts.cluster_id);
                      response->set_cluster_name(edge_.facts.cluster_name);
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const api::GetInfoRequest* request,
                                    api::GetInfoResponse* response) override {
    return Unary(edge_, context, request, "det.api.v1.MasterService.GetInfo",
                 [this, response](const auth::Principal&, Done done) {
                   response->set_version(edge_.facts.version);
                   response->set_master_id(edge_.facts.master_id);
                   response->set_cluster_id(edge_.facts.cluster_id);
                   response->set_cluster_name(edge_.facts.cluster_name);
                   *response->mutable_started_at() = ToProto(edge_.facts.started_at);
                   response->set_database(edge_.facts.database);
                   edge_.engine->Query(
                       [response](const cluster::Cluster& cluster) {
                         const Slots count = Count(cluster);
                         response->set_agents(count.agents);
                         response->set_slots(count.slots);
                         response->set_slots_in_use(count.in_use);
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetHealth(grpc::CallbackServerContext* context,
                                      const api::GetHealthRequest*,
                                      api::GetHealthResponse* response) override {
    // Not by the door of the others: behind it all threads may wait for a database that hangs.
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    HeadOf(*context);
    auto finish = [this, reactor, response](const absl::Status& status) {
      response->set_status(api::GetHealthResponse::up);
      response->set_database(api::GetHealthResponse::up);
      if (edge_.on_call) edge_.on_call(status.code());
      reactor->Finish(ToGrpc(status));
    };
    if (const absl::Status commits = edge_.engine->health(); !commits.ok()) {
      finish(commits);
    } else {
      probe_.Ask(std::move(finish));
    }
    return reactor;
  }

 private:
  const Edge& edge_;
  DatabaseProbe probe_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMasterService(const Edge& edge) {
  return std::make_unique<MasterService>(edge);
}

}  // namespace det::service
