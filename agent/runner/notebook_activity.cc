#include "agent/runner/notebook_activity.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

namespace det::agent {
namespace {

using Json = nlohmann::json;

absl::StatusOr<Json> ParseList(const char* name, const std::string& text) {
  Json list = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (list.is_array()) return list;
  return absl::InvalidArgumentError(absl::StrCat("JupyterLab did not return a list of ", name));
}

// Times are in ISO 8601 with the same precision and zone, so that their order is that of the text.
void ReadLastEvent(const Json& item, NotebookActivity& activity) {
  if (!item.contains("last_activity") || !item["last_activity"].is_string()) return;
  activity.last_event = std::max(activity.last_event, item["last_activity"].get<std::string>());
}

}  // namespace

absl::StatusOr<NotebookActivity> ParseActivity(const std::string& kernels,
                                               const std::string& terminals,
                                               const std::string& sessions) {
  NotebookActivity activity;
  const absl::StatusOr<Json> kernel_list = ParseList("kernels", kernels);
  const absl::StatusOr<Json> terminal_list = ParseList("terminals", terminals);
  const absl::StatusOr<Json> session_list = ParseList("sessions", sessions);
  for (const auto* list : {&kernel_list, &terminal_list, &session_list}) {
    if (!list->ok()) return list->status();
  }
  activity.kernels = static_cast<int>(kernel_list->size());
  activity.terminals = static_cast<int>(terminal_list->size());
  activity.sessions = static_cast<int>(session_list->size());
  for (const Json& kernel : *kernel_list) {
    if (!kernel.is_object()) continue;
    if (const auto it = kernel.find("connections"); it != kernel.end() && it->is_number()) {
      activity.connections += it->get<int>();
    }
    const auto state = kernel.find("execution_state");
    activity.busy = activity.busy || (state != kernel.end() && *state == "busy");
    ReadLastEvent(kernel, activity);
  }
  for (const Json& terminal : *terminal_list) {
    if (terminal.is_object()) ReadLastEvent(terminal, activity);
  }
  return activity;
}

bool IsIdle(const std::string& type, const NotebookActivity& now,
            const NotebookActivity& previous) {
  if (type == "kernel_connections") return now.connections == 0;
  if (type == "activity") {
    return !now.busy && (now.last_event.empty() || now.last_event == previous.last_event);
  }
  return now.kernels == 0 && now.terminals == 0 && now.sessions == 0;
}

}  // namespace det::agent
