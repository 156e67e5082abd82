// det agent list|enable|disable|maintenance
#include "cli/commands/agent.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/time_text.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/agent.pb.h"

namespace det::cli {
namespace {

using api::v1::Agent;
using api::v1::MaintenanceWindow;
using api::v1::Slot;

const Positional kAgent = {"AGENT", "Agent ID"};

Cell AgentState(const Agent& agent) {
  const bool disconnected = !agent.connected();
  const absl::string_view word = agent.draining()   ? "draining"
                                 : !agent.enabled() ? "disabled"
                                 : disconnected     ? "disconnected"
                                                    : "connected";
  const std::string state =
      absl::StrCat(word, disconnected && word != "disconnected" ? ", disconnected" : "");
  if (disconnected) return Cell(absl::StrCat("✕ ", state), Paint::kFailed, state);
  if (word != "connected") return Cell(absl::StrCat("‖ ", state), Paint::kPaused, state);
  return Cell(absl::StrCat("● ", state), Paint::kRunning, state);
}

std::string WindowText(const MaintenanceWindow& window) {
  return absl::StrCat(FormatShortTime(ToTime(window.begin())), " to ",
                      FormatShortTime(ToTime(window.end())),
                      window.note().empty() ? "" : absl::StrCat(" (", window.note(), ")"));
}

// Returns the first maintenance window and the number of further windows.
Cell MaintenanceCell(const Agent& agent) {
  if (agent.maintenance().empty()) return Cell("-");
  std::string text = WindowText(agent.maintenance(0));
  const bool now = ToTime(agent.maintenance(0).begin()) <= absl::Now();
  if (agent.maintenance_size() > 1) {
    absl::StrAppend(&text, " and ", agent.maintenance_size() - 1, " more");
  }
  return Cell(text, now ? Paint::kWaiting : Paint::kPlain);
}

absl::StatusOr<int> RunAgentList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetAgentsResponse response;
  DET_RETURN_IF_ERROR(api->Call("AgentService.GetAgents", api::v1::GetAgentsRequest(), &response));
  Table table({{"AGENT", false, true},
               {"STATE"},
               {"SLOTS", true},
               {"USED", true},
               {"TASKS", true},
               {"POOL"},
               {"REGISTERED"},
               {"ADDRESS", false, true},
               {"VERSION"},
               {"MAINTENANCE", false, true}});
  for (const Agent& agent : response.agents()) {
    const std::vector<Slot> slots = GetSlots(agent);
    const int64_t used = std::count_if(slots.begin(), slots.end(),
                                       [](const Slot& slot) { return slot.has_container(); });
    table.AddRow({agent.id(), AgentState(agent), absl::StrCat(slots.size()), absl::StrCat(used),
                  absl::StrCat(agent.containers_size()), absl::StrJoin(agent.resource_pools(), ","),
                  MakeAgeCell(agent.registered_time(), absl::Now()),
                  absl::StrJoin(agent.addresses(), ","), agent.version(), MaintenanceCell(agent)});
  }
  return run.PrintList(
      response, table,
      "no agents; start one on each machine: resolute-agent --master " + api->addresses());
}

// Returns the agents named by the positionals or by --all.
absl::StatusOr<std::vector<std::string>> ReadAgentIds(const Invocation& run, const ApiClient& api,
                                                      absl::string_view command) {
  std::vector<std::string> ids = run.args.Words("AGENT");
  if (ids.empty() != run.args.Has("all")) {
    return UsageError(absl::StrCat("agent ", command, " needs either AGENT or --all"));
  }
  if (!ids.empty()) return ids;
  api::v1::GetAgentsRequest request;
  request.set_exclude_slots(true);
  request.set_exclude_containers(true);
  api::v1::GetAgentsResponse response;
  DET_RETURN_IF_ERROR(api.Call("AgentService.GetAgents", request, &response));
  for (const Agent& agent : response.agents()) ids.push_back(agent.id());
  return ids;
}

absl::StatusOr<int> PrintChanged(Invocation& run, const api::v1::GetAgentsResponse& changed,
                                 absl::string_view verb) {
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(changed));
    return kExitOk;
  }
  if (changed.agents().empty()) run.screen->PrintNotice("no agents");
  for (const Agent& agent : changed.agents()) {
    const int tasks = agent.containers_size();
    run.screen->Print(absl::StrCat(
        verb, " agent ", agent.id(),
        tasks > 0 && !agent.enabled()
            ? absl::StrCat("; ", FormatCount(tasks, "task"),
                           agent.draining() ? " can finish" : " stopped and queued again")
            : "",
        "\n"));
  }
  return kExitOk;
}

absl::StatusOr<int> RunAgentEnable(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> ids, ReadAgentIds(run, *api, "enable"));
  api::v1::GetAgentsResponse changed;
  for (const std::string& id : ids) {
    api::v1::EnableAgentRequest request;
    request.set_agent_id(id);
    api::v1::EnableAgentResponse response;
    DET_RETURN_IF_ERROR(api->Call("AgentService.EnableAgent", request, &response));
    changed.add_agents()->Swap(response.mutable_agent());
  }
  return PrintChanged(run, changed, "enabled");
}

absl::StatusOr<int> RunAgentDisable(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> ids, ReadAgentIds(run, *api, "disable"));
  api::v1::GetAgentsResponse changed;
  for (const std::string& id : ids) {
    api::v1::DisableAgentRequest request;
    request.set_agent_id(id);
    request.set_drain(run.args.Has("drain"));
    api::v1::DisableAgentResponse response;
    DET_RETURN_IF_ERROR(api->Call("AgentService.DisableAgent", request, &response));
    changed.add_agents()->Swap(response.mutable_agent());
  }
  return PrintChanged(run, changed, run.args.Has("drain") ? "draining" : "disabled");
}

// Returns the window of --from, --to and --note.
absl::StatusOr<MaintenanceWindow> ReadWindow(const Invocation& run) {
  if (!run.args.Has("from") || !run.args.Has("to")) {
    return UsageError("agent maintenance needs --from and --to, or --clear");
  }
  const absl::Time now = absl::Now();
  DET_ASSIGN_OR_RETURN(const absl::Time from, ParseTime("--from", *run.args.Get("from"), now));
  DET_ASSIGN_OR_RETURN(const absl::Time to, ParseTime("--to", *run.args.Get("to"), from));
  if (to <= from || to <= now) {
    return UsageError(absl::StrCat("--to: ", FormatShortTime(to), " is not after ",
                                   to <= from ? "--from" : "now"));
  }
  MaintenanceWindow window;
  *window.mutable_begin() = ToTimestamp(from);
  *window.mutable_end() = ToTimestamp(to);
  window.set_note(run.args.Get("note").value_or(""));
  return window;
}

std::string WindowTable(const Agent& agent, const Style& style) {
  if (agent.maintenance().empty()) return "no maintenance windows for agent " + agent.id() + "\n";
  Table table({{"BEGIN"}, {"END"}, {"NOTE", false, true}});
  for (const MaintenanceWindow& window : agent.maintenance()) {
    table.AddRow({FormatTimestamp(window.begin()), FormatTimestamp(window.end()), window.note()});
  }
  return table.Render(style);
}

absl::StatusOr<int> RunMaintenance(Invocation& run) {
  const bool clear = run.args.Has("clear");
  const bool add = run.args.Has("from") || run.args.Has("to") || run.args.Has("note");
  if (clear && add) return UsageError("agent maintenance takes either a window or --clear");
  api::v1::SetMaintenanceRequest request;
  request.set_agent_id(run.args.Word("AGENT"));
  MaintenanceWindow window;
  if (add) {
    DET_ASSIGN_OR_RETURN(window, ReadWindow(run));
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::SetMaintenanceResponse response;
  if (!clear) {
    api::v1::GetAgentRequest get;
    get.set_agent_id(request.agent_id());
    api::v1::GetAgentResponse got;
    DET_RETURN_IF_ERROR(api->Call("AgentService.GetAgent", get, &got));
    *request.mutable_windows() = got.agent().maintenance();
    *response.mutable_agent() = got.agent();
  }
  if (add) request.mutable_windows()->Add(std::move(window));
  if (add || clear) {
    DET_RETURN_IF_ERROR(api->Call("AgentService.SetMaintenance", request, &response));
  }
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(WindowTable(response.agent(), run.screen->out()));
  }
  return kExitOk;
}

}  // namespace

std::vector<Slot> GetSlots(const Agent& agent) {
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

std::vector<Command> AgentCommands() {
  const Positional some = {"AGENT", "Agent IDs", true, true};
  const Option all = {"all", 0, "", "Select all agents of the cluster"};
  std::vector<Command> commands = {
      {{"agent", "list"},
       "List agents with their state and used slots",
       {},
       {kCsv},
       RunAgentList,
       ""},
      {{"agent", "enable"}, "Enable agents", {some}, {all}, RunAgentEnable, ""},
      {{"agent", "disable"},
       "Disable agents",
       {some},
       {all, {"drain", 0, "", "Let running tasks finish; otherwise they are queued again"}},
       RunAgentDisable,
       "The setting survives restarts of the agent and the master. `det agent enable` reverts it."},
      {{"agent", "maintenance"},
       "Show or set the maintenance windows of an agent",
       {kAgent},
       {{"from", 0, "TIME", "Start of the window"},
        {"to", 0, "TIME", "End of the window; +2h counts from --from"},
        {"note", 0, "TEXT", "Note to show with the window"},
        {"clear", 0, "", "Remove all maintenance windows of the agent"}},
       RunMaintenance,
       "TIME is 2026-12-01T04:00 (local time unless it has a zone: ...Z, ...+01:00), 04:00 (the "
       "next occurrence), now, +90m, +2h or +1d. No task that would overlap a window is started. "
       "When the window begins, running tasks are preempted."},
  };
  for (Command& command : SlotCommands()) commands.push_back(std::move(command));
  return commands;
}

}  // namespace det::cli
