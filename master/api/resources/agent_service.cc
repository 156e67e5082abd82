#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/agent.unary.h"
#include "master/api/common/convert.h"
#include "master/api/common/convert_resources.h"
#include "master/api/resources/services.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

absl::StatusOr<int> ParseSlot(const std::string& text) {
  int slot = 0;
  if (absl::SimpleAtoi(text, &slot) && slot >= 0) return slot;
  return absl::InvalidArgumentError(
      absl::StrCat("slot_id: expected the number of a slot, found \"", text, "\""));
}

constexpr int kMaxWindows = 100;

absl::Status NoSuchSlot(const std::string& agent, const std::string& slot) {
  return absl::NotFoundError(absl::StrCat("agent ", agent, " has no slot ", slot));
}

absl::StatusOr<cluster::SetMaintenance> MaintenanceToEvent(
    const v1::SetMaintenanceRequest& request) {
  cluster::SetMaintenance event{.agent = model::AgentId(request.agent_id()), .windows = {}};
  if (request.windows_size() > kMaxWindows) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows: ", request.windows_size(), "; ", "the limit is ", kMaxWindows));
  }
  // The database stores microseconds, and JSON allows years of four digits.
  const absl::Time last = absl::FromUnixSeconds(253402300799);
  const auto rounded = [](absl::Time t) { return absl::FromUnixMicros(absl::ToUnixMicros(t)); };
  for (const v1::MaintenanceWindow& window : request.windows()) {
    if (!window.has_begin() || !window.has_end()) {
      return absl::InvalidArgumentError("windows: each window needs a begin and an end");
    }
    model::Maintenance& added = event.windows.emplace_back();
    added.begin = rounded(FromProto(window.begin()));
    added.end = rounded(FromProto(window.end()));
    if (added.begin < absl::UnixEpoch() || added.end > last) {
      return absl::InvalidArgumentError(
          "windows: each window must be between the years 1970 and 9999");
    }
    added.note = window.note();
  }
  return event;
}

constexpr char kMask[] = "********";

// Whether the caller sees which task uses which device at which address. Without roles, every user
// reads everything.
bool SeesDetails(const auth::Principal& caller) {
  return caller.basic || caller.Holds(model::Permission::kViewSensitiveAgentInfo, 0);
}

void Mask(v1::Device* device) {
  device->set_id(-1);
  device->set_uuid(kMask);
}

void Mask(v1::Container* container) {
  container->set_id(kMask);
  container->set_parent(kMask);
  container->set_permission_denied(true);
  for (v1::Device& device : *container->mutable_devices()) Mask(&device);
}

void Mask(v1::Agent* agent) {
  for (std::string& address : *agent->mutable_addresses()) address = kMask;
  for (auto& [unused, slot] : *agent->mutable_slots()) {
    if (slot.has_device()) Mask(slot.mutable_device());
    if (slot.has_container()) Mask(slot.mutable_container());
    for (v1::Container& container : *slot.mutable_containers()) Mask(&container);
  }
  // The keys are the IDs of allocations.
  google::protobuf::Map<std::string, v1::Container> containers;
  containers.swap(*agent->mutable_containers());
  for (auto& [unused, container] : containers) {
    Mask(&container);
    (*agent->mutable_containers())[absl::StrCat(agent->containers_size())] = std::move(container);
  }
}

class AgentService final : public ApiService<v1::AgentService> {
 public:
  AgentService(CallPipeline& calls, engine::Engine& engine, const base::Clock& clock)
      : ApiService(calls), engine_(engine), clock_(clock) {}

  grpc::ServerUnaryReactor* GetAgents(grpc::CallbackServerContext* context,
                                      const v1::GetAgentsRequest* request,
                                      v1::GetAgentsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller, Done done) {
                   engine_.Query(
                       [request, response, now = clock_.Now(),
                        whole = SeesDetails(caller)](const cluster::Cluster& cluster) {
                         List(cluster, now, *request, response);
                         if (whole) return;
                         for (v1::Agent& agent : *response->mutable_agents()) Mask(&agent);
                       },
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetAgent(grpc::CallbackServerContext* context,
                                     const v1::GetAgentRequest* request,
                                     v1::GetAgentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller, Done done) {
                   Find(caller, request->agent_id(), response->mutable_agent(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetSlots(grpc::CallbackServerContext* context,
                                     const v1::GetSlotsRequest* request,
                                     v1::GetSlotsResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal& caller, Done done) {
          auto agent = std::make_shared<v1::Agent>();
          Find(caller, request->agent_id(), agent.get(),
               [agent, request, response, done = std::move(done)](absl::Status status) mutable {
                 std::map<int, v1::Slot*> slots;
                 for (auto& [number, slot] : *agent->mutable_slots()) {
                   slots[ParseSlot(number).value_or(0)] = &slot;
                 }
                 for (const auto& [unused, slot] : slots) {
                   response->add_slots()->Swap(slot);
                 }
                 *response->mutable_pagination() = ApplyWindow(*request, response->mutable_slots());
                 done(std::move(status));
               });
        });
  }

  grpc::ServerUnaryReactor* GetSlot(grpc::CallbackServerContext* context,
                                    const v1::GetSlotRequest* request,
                                    v1::GetSlotResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller, Done done) {
                   FindSlot(caller, request->agent_id(), request->slot_id(),
                            response->mutable_slot(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* EnableAgent(grpc::CallbackServerContext* context,
                                        const v1::EnableAgentRequest* request,
                                        v1::EnableAgentResponse* response) override {
    return ChangeAgent(context, __func__, request, request->agent_id(),
                       cluster::EnableAgent{model::AgentId(request->agent_id())},
                       response->mutable_agent());
  }

  grpc::ServerUnaryReactor* DisableAgent(grpc::CallbackServerContext* context,
                                         const v1::DisableAgentRequest* request,
                                         v1::DisableAgentResponse* response) override {
    return ChangeAgent(context, __func__, request, request->agent_id(),
                       cluster::DisableAgent{model::AgentId(request->agent_id()), request->drain()},
                       response->mutable_agent());
  }

  grpc::ServerUnaryReactor* SetMaintenance(grpc::CallbackServerContext* context,
                                           const v1::SetMaintenanceRequest* request,
                                           v1::SetMaintenanceResponse* response) override {
    auto event = MaintenanceToEvent(*request);
    return ChangeAgent(
        context, __func__, request, request->agent_id(),
        event.ok() ? absl::StatusOr<cluster::Event>(*std::move(event)) : event.status(),
        response->mutable_agent());
  }

  grpc::ServerUnaryReactor* EnableSlot(grpc::CallbackServerContext* context,
                                       const v1::EnableSlotRequest* request,
                                       v1::EnableSlotResponse* response) override {
    return ChangeSlot(context, __func__, *request, response->mutable_slot(),
                      [](model::AgentId agent, int slot) {
                        return cluster::EnableSlot{std::move(agent), slot};
                      });
  }

  grpc::ServerUnaryReactor* DisableSlot(grpc::CallbackServerContext* context,
                                        const v1::DisableSlotRequest* request,
                                        v1::DisableSlotResponse* response) override {
    return ChangeSlot(context, __func__, *request, response->mutable_slot(),
                      [drain = request->drain()](model::AgentId agent, int slot) {
                        return cluster::DisableSlot{std::move(agent), slot, drain};
                      });
  }

 private:
  static void List(const cluster::Cluster& cluster, absl::Time now,
                   const v1::GetAgentsRequest& request, v1::GetAgentsResponse* response) {
    std::vector<model::AgentId> ids;
    for (const auto& [id, unused] : cluster.agents()) ids.push_back(id);
    if (request.sort_by() == v1::GetAgentsRequest::SORT_BY_TIME) {
      std::stable_sort(ids.begin(), ids.end(), [&](const auto& a, const auto& b) {
        return cluster.agents().at(a).registered_at < cluster.agents().at(b).registered_at;
      });
    }
    if (request.order_by() == v1::ORDER_BY_DESC) std::reverse(ids.begin(), ids.end());
    const int total = static_cast<int>(ids.size());
    const store::Range range = store::Resolve(ToWindow(request.offset(), request.limit()), total);
    const Occupants occupants = FindOccupants(cluster);
    for (int i = range.begin; i < range.end; ++i) {
      v1::Agent* out = response->add_agents();
      *out = *FindAgent(cluster, occupants, ids[static_cast<size_t>(i)], now);
      if (request.exclude_slots()) out->clear_slots();
      if (request.exclude_containers()) out->clear_containers();
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->agents_size(), total);
  }

  void Find(const auth::Principal& caller, const std::string& id, v1::Agent* out, Done done) {
    auto found = std::make_shared<bool>(false);
    engine_.Query(
        [id, out, found, now = clock_.Now(),
         whole = SeesDetails(caller)](const cluster::Cluster& cluster) {
          auto agent = FindAgent(cluster, FindOccupants(cluster), model::AgentId(id), now);
          *found = agent.has_value();
          if (agent) *out = *std::move(agent);
          if (!whole) Mask(out);
        },
        [id, found, done = std::move(done)](absl::Status status) mutable {
          if (status.ok() && !*found) {
            status = absl::NotFoundError(
                absl::StrCat("agent ", id, " not found; `det agent list` lists the agents"));
          }
          done(std::move(status));
        });
  }

  void FindSlot(const auth::Principal& caller, const std::string& id, const std::string& slot,
                v1::Slot* out, Done done) {
    auto agent = std::make_shared<v1::Agent>();
    Find(caller, id, agent.get(),
         [agent, id, slot, out, done = std::move(done)](absl::Status status) mutable {
           const auto found = agent->mutable_slots()->find(slot);
           if (status.ok() && found == agent->slots().end()) status = NoSuchSlot(id, slot);
           if (status.ok()) out->Swap(&found->second);
           done(std::move(status));
         });
  }

  grpc::ServerUnaryReactor* ChangeAgent(grpc::CallbackServerContext* context, const char* method,
                                        const google::protobuf::Message* request,
                                        const std::string& id, absl::StatusOr<cluster::Event> event,
                                        v1::Agent* out) {
    return Unary(method, context, request, nullptr,
                 [this, id, event = std::move(event), out](const auth::Principal& caller,
                                                           Done done) mutable {
                   if (!event.ok()) return done(event.status());
                   SubmitAndFinish(engine_, *std::move(event),
                                   [this, caller, id, out,
                                    done = std::move(done)](absl::Status status) mutable {
                                     if (!status.ok()) return done(std::move(status));
                                     Find(caller, id, out, std::move(done));
                                   });
                 });
  }

  template <class Request, class MakeEvent>
  grpc::ServerUnaryReactor* ChangeSlot(grpc::CallbackServerContext* context, const char* method,
                                       const Request& request, v1::Slot* out, MakeEvent make) {
    return Unary(
        method, context, &request, nullptr,
        [this, &request, out, make](const auth::Principal& caller, Done done) {
          const absl::StatusOr<int> slot = ParseSlot(request.slot_id());
          if (!slot.ok()) return done(slot.status());
          SubmitAndFinish(
              engine_, make(model::AgentId(request.agent_id()), *slot),
              [this, caller, &request, out, done = std::move(done)](absl::Status status) mutable {
                if (!status.ok()) return done(std::move(status));
                FindSlot(caller, request.agent_id(), request.slot_id(), out, std::move(done));
              });
        });
  }

  engine::Engine& engine_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<Service> MakeAgentService(CallPipeline& calls, engine::Engine& engine,
                                          const base::Clock& clock) {
  return std::make_unique<AgentService>(calls, engine, clock);
}

}  // namespace det::api
