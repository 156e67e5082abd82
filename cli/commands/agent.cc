// det agent list, det slot list
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/agent.pb.h"

namespace det::cli {
namespace {

using api::v1::Agent;
using api::v1::Slot;

// Slots by number: a map of the wire is in no order.
std::vector<Slot> SlotsOf(const Agent& agent) {
  std::vector<Slot> slots;
  for (const auto& entry : agent.slots()) slots.push_back(entry.second);
  const auto number = [](const Slot& slot) {
    int value = 0;
    return absl::SimpleAtoi(slot.id(), &value) ? value : slot.device().id();
  };
  std::sort(slots.begin(), slots.end(),
            [&](const Slot& a, const Slot& b) { return number(a) < number(b); });
  return slots;
}

std::string TypeOf(const Slot& slot) {
  absl::string_view name = api::v1::Device::Type_Name(slot.device().type());
  absl::ConsumePrefix(&name, "TYPE_");
  return absl::AsciiStrToLower(name);
}

Cell AgentState(const Agent& agent) {
  if (!agent.connected()) return Cell("✕ away", Paint::kFailed);
  if (agent.draining()) return Cell("‖ draining", Paint::kPaused);
  if (!agent.enabled()) return Cell("‖ disabled", Paint::kPaused);
  return Cell("● connected", Paint::kRunning);
}

absl::StatusOr<int> RunAgentList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.Api());
  api::v1::GetAgentsResponse response;
  DET_RETURN_IF_ERROR(api->Call("AgentService.GetAgents", api::v1::GetAgentsRequest(), &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  if (response.agents().empty()) {
    run.screen->Note("no agents; on each machine: resolute-agent --master " + api->url());
    return kExitOk;
  }
  Table table({{"AGENT", false, true},
               {"STATE"},
               {"SLOTS", true},
               {"USED", true},
               {"POOL"},
               {"REGISTERED"},
               {"ADDRESS", false, true},
               {"VERSION"}});
  for (const Agent& agent : response.agents()) {
    const std::vector<Slot> slots = SlotsOf(agent);
    const int64_t used = std::count_if(slots.begin(), slots.end(),
                                       [](const Slot& slot) { return slot.has_container(); });
    table.AddRow({agent.id(), AgentState(agent), absl::StrCat(slots.size()), absl::StrCat(used),
                  absl::StrJoin(agent.resource_pools(), ","),
                  Ago(agent.registered_time(), absl::Now()), absl::StrJoin(agent.addresses(), ","),
                  agent.version()});
  }
  run.screen->Print(table.Render(run.screen->out()));
  return kExitOk;
}

absl::StatusOr<int> RunSlotList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.Api());
  api::v1::GetAgentsResponse response;
  DET_RETURN_IF_ERROR(api->Call("AgentService.GetAgents", api::v1::GetAgentsRequest(), &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  Table table({{"AGENT", false, true},
               {"SLOT", true},
               {"TYPE"},
               {"STATE"},
               {"ALLOCATION"},
               {"TASK"},
               {"DEVICE", false, true}});
  for (const Agent& agent : response.agents()) {
    for (const Slot& slot : SlotsOf(agent)) {
      const bool used = slot.has_container();
      table.AddRow({agent.id(), slot.id(), TypeOf(slot),
                    used ? Cell("● used", Paint::kRunning) : Cell("free"),
                    used ? slot.container().id() : "-", used ? slot.container().parent() : "-",
                    slot.device().brand()});
    }
  }
  if (table.empty()) {
    run.screen->Note("no slots: no agent is registered");
    return kExitOk;
  }
  run.screen->Print(table.Render(run.screen->out()));
  return kExitOk;
}

}  // namespace

std::vector<Command> AgentCommands() {
  return {
      {{"agent", "list"},
       "list the agents and how many of their slots are used",
       {},
       {},
       RunAgentList,
       ""},
      {{"slot", "list"},
       "list the slots of all agents and what runs on them",
       {},
       {},
       RunSlotList,
       ""},
  };
}

}  // namespace det::cli
