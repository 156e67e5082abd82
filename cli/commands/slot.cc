// det slot list|enable|disable
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/agent.h"
#include "cli/table.h"
#include "det/api/v1/agent.pb.h"

namespace det::cli {
namespace {

using api::v1::Agent;
using api::v1::Container;
using api::v1::Slot;

std::string GetType(const Slot& slot) {
  absl::string_view name = api::v1::Device::Type_Name(slot.device().type());
  absl::ConsumePrefix(&name, "TYPE_");
  return absl::AsciiStrToLower(name);
}

Cell MakeSlotStateCell(const Slot& slot) {
  if (slot.quarantined()) return Cell("✕ quarantined", Paint::kFailed, "quarantined");
  if (slot.draining()) return Cell("‖ draining", Paint::kPaused, "draining");
  if (!slot.enabled()) return Cell("‖ disabled", Paint::kPaused, "disabled");
  if (slot.has_container()) return Cell("● used", Paint::kRunning, "used");
  return Cell("free");
}

// Returns the containers on the slot; there are several if tasks share the device.
std::string JoinContainers(const Slot& slot, const std::string& (Container::*part)() const) {
  if (slot.containers().empty()) return slot.has_container() ? (slot.container().*part)() : "-";
  return absl::StrJoin(slot.containers(), ",", [&](std::string* out, const Container& container) {
    absl::StrAppend(out, (container.*part)());
  });
}

absl::StatusOr<int> RunSlotList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetAgentsResponse response;
  DET_RETURN_IF_ERROR(api->Call("AgentService.GetAgents", api::v1::GetAgentsRequest(), &response));
  Table table({{"AGENT", false, true},
               {"POOL"},
               {"SLOT", true},
               {"TYPE"},
               {"STATE"},
               {"ALLOCATION"},
               {"TASK"},
               {"DEVICE", false, true},
               {"REASON", false, true}});
  for (const Agent& agent : response.agents()) {
    for (const Slot& slot : GetSlots(agent)) {
      table.AddRow({agent.id(), absl::StrJoin(agent.resource_pools(), ","), slot.id(),
                    GetType(slot), MakeSlotStateCell(slot), JoinContainers(slot, &Container::id),
                    JoinContainers(slot, &Container::parent), slot.device().brand(),
                    slot.reason()});
    }
  }
  return run.PrintList(response, table, "no slots: no agents are registered");
}

template <class Request, class Response>
absl::StatusOr<int> ChangeSlot(Invocation& run, const char* method, Request request,
                               const char* verb) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  request.set_agent_id(run.args.Word("AGENT"));
  request.set_slot_id(run.args.Word("SLOT"));
  Response response;
  DET_RETURN_IF_ERROR(api->Call(method, request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(
        absl::StrCat(verb, " slot ", request.slot_id(), " of agent ", request.agent_id(), "\n"));
  }
  return kExitOk;
}

absl::StatusOr<int> RunSlotEnable(Invocation& run) {
  return ChangeSlot<api::v1::EnableSlotRequest, api::v1::EnableSlotResponse>(
      run, "AgentService.EnableSlot", {}, "enabled");
}

absl::StatusOr<int> RunSlotDisable(Invocation& run) {
  api::v1::DisableSlotRequest request;
  request.set_drain(run.args.Has("drain"));
  return ChangeSlot<api::v1::DisableSlotRequest, api::v1::DisableSlotResponse>(
      run, "AgentService.DisableSlot", std::move(request),
      run.args.Has("drain") ? "draining" : "disabled");
}

}  // namespace

std::vector<Command> SlotCommands() {
  const std::vector<Positional> which = {{"AGENT", "Agent ID"},
                                         {"SLOT", "Slot number on the agent"}};
  return {
      {{"slot", "list"},
       "List slots of all agents with their state and tasks",
       {},
       {kCsv},
       RunSlotList,
       ""},
      {{"slot", "enable"},
       "Enable a slot; this also ends a quarantine",
       which,
       {},
       RunSlotEnable,
       ""},
      {{"slot", "disable"},
       "Disable a slot",
       which,
       {{"drain", 0, "", "Let running tasks finish; otherwise they are queued again"}},
       RunSlotDisable,
       ""},
  };
}

}  // namespace det::cli
