#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "det/api/v1/agent.grpc.pb.h"
#include "master/service/call.h"
#include "master/service/convert.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

api::Device ToProto(const model::Device& device) {
  static constexpr api::Device::Type kTypes[] = {api::Device::TYPE_CPU, api::Device::TYPE_CUDA,
                                                 api::Device::TYPE_ROCM};
  api::Device out;
  out.set_id(device.id);
  out.set_brand(device.brand);
  out.set_uuid(device.uuid);
  out.set_type(kTypes[static_cast<int>(device.type)]);
  return out;
}

api::Container ToContainer(const experiment::Allocation& allocation,
                           const experiment::Share& share) {
  api::Container out;
  out.set_id(allocation.id.value());
  out.set_parent(allocation.task.value());
  out.set_state(share.started ? api::Container::STATE_RUNNING : api::Container::STATE_STARTING);
  return out;
}

void Count(const api::Slot& slot, api::SlotStats::PerType* stats) {
  stats->set_total(stats->total() + 1);
  stats->set_enabled(stats->enabled() + 1);
  const api::Container::State state =
      slot.has_container() ? slot.container().state() : api::Container::STATE_UNSPECIFIED;
  ++(*stats->mutable_states())[api::Container::State_Name(state)];
}

api::Agent ToProto(const model::Agent& agent, const cluster::Cluster& cluster) {
  api::Agent out;
  out.set_id(agent.id.value());
  *out.mutable_registered_time() = service::ToProto(agent.registered_at);
  if (!agent.address.empty()) out.add_addresses(agent.address);
  out.set_enabled(true);
  out.set_version(agent.version);
  out.add_resource_pools(agent.resource_pool);
  out.set_connected(agent.connected);
  std::map<int, api::Device> devices;
  for (const model::Device& device : agent.slots) {
    api::Slot& slot = (*out.mutable_slots())[absl::StrCat(device.id)];
    slot.set_id(absl::StrCat(device.id));
    slot.set_enabled(true);
    *slot.mutable_device() = devices[device.id] = ToProto(device);
  }
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    for (const experiment::Share& share : allocation->shares) {
      if (share.placement.agent != agent.id || share.exited) continue;
      api::Container container = ToContainer(*allocation, share);
      for (const int id : share.placement.slots) *container.add_devices() = devices[id];
      for (const int id : share.placement.slots) {
        *(*out.mutable_slots())[absl::StrCat(id)].mutable_container() = container;
      }
      (*out.mutable_containers())[allocation->id.value()] = container;
    }
  }
  for (const auto& [unused, slot] : out.slots()) {
    const std::string type = api::Device::Type_Name(slot.device().type());
    Count(slot, &(*out.mutable_slot_stats()->mutable_type_stats())[type]);
    Count(slot, &(*out.mutable_slot_stats()->mutable_brand_stats())[slot.device().brand()]);
  }
  return out;
}

class AgentService final : public api::AgentService::CallbackService {
 public:
  explicit AgentService(const Edge& edge) : edge_(edge) {}

  grpc::ServerUnaryReactor* GetAgents(grpc::CallbackServerContext* context,
                                      const api::GetAgentsRequest* request,
                                      api::GetAgentsResponse* response) override {
    return Unary(edge_, context, "det.api.v1.AgentService.GetAgents",
                 [this, request, response](const auth::Principal&, Done done) {
                   edge_.engine->Query(
                       [request, response](const cluster::Cluster& cluster) {
                         List(cluster, *request, response);
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetAgent(grpc::CallbackServerContext* context,
                                     const api::GetAgentRequest* request,
                                     api::GetAgentResponse* response) override {
    return Unary(edge_, context, "det.api.v1.AgentService.GetAgent",
                 [this, request, response](const auth::Principal&, Done done) {
                   Find(request->agent_id(), response->mutable_agent(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetSlots(grpc::CallbackServerContext* context,
                                     const api::GetSlotsRequest* request,
                                     api::GetSlotsResponse* response) override {
    return Unary(edge_, context, "det.api.v1.AgentService.GetSlots",
                 [this, request, response](const auth::Principal&, Done done) {
                   auto agent = std::make_shared<api::Agent>();
                   Find(request->agent_id(), agent.get(),
                        [agent, response, done = std::move(done)](absl::Status status) mutable {
                          for (auto& [unused, slot] : *agent->mutable_slots()) {
                            *response->add_slots() = std::move(slot);
                          }
                          done(std::move(status));
                        });
                 });
  }

 private:
  static void List(const cluster::Cluster& cluster, const api::GetAgentsRequest& request,
                   api::GetAgentsResponse* response) {
    const int total = static_cast<int>(cluster.agents().size());
    const int start =
        request.offset() >= 0 ? request.offset() : std::max(0, total + request.offset());
    int index = 0;
    for (const auto& [unused, agent] : cluster.agents()) {
      if (index++ < start) continue;
      if (request.limit() > 0 && response->agents_size() >= request.limit()) break;
      api::Agent* out = response->add_agents();
      *out = ToProto(agent, cluster);
      if (request.exclude_slots()) out->clear_slots();
      if (request.exclude_containers()) out->clear_containers();
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->agents_size(), total);
  }

  void Find(const std::string& id, api::Agent* out, Done done) {
    auto found = std::make_shared<bool>(false);
    edge_.engine->Query(
        [id, out, found](const cluster::Cluster& cluster) {
          const auto it = cluster.agents().find(model::AgentId(id));
          if (it == cluster.agents().end()) return;
          *out = ToProto(it->second, cluster);
          *found = true;
        },
        [id, found, done = std::move(done)](absl::Status status) mutable {
          if (status.ok() && !*found) {
            status = absl::NotFoundError(absl::StrCat("agent ", id, " does not exist"));
          }
          done(std::move(status));
        });
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAgentService(const Edge& edge) {
  return std::make_unique<AgentService>(edge);
}

}  // namespace det::service
