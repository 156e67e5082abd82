#include "master/store/postgres/workspace_rows.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/postgres/params.h"

namespace det::store {

absl::StatusOr<WorkspaceState> ToWorkspaceState(std::string_view text) {
  if (text.empty()) return WorkspaceState::kLive;
  if (text == "DELETING") return WorkspaceState::kDeleting;
  if (text == "DELETE_FAILED") return WorkspaceState::kDeleteFailed;
  return absl::InternalError(
      absl::StrCat("the database contains the unknown state ", std::string(text)));
}

std::vector<ProjectNote> ToNotes(const model::Value& value) {
  std::vector<ProjectNote> notes;
  if (value.AsList() == nullptr) return notes;
  const auto text = [](const model::Value* v) {
    return v == nullptr || v->AsString() == nullptr ? "" : *v->AsString();
  };
  for (const model::Value& item : *value.AsList()) {
    notes.push_back({text(item.Find("name")), text(item.Find("contents"))});
  }
  return notes;
}

absl::Status LockOpen(Connection& connection, int32_t workspace) {
  DET_ASSIGN_OR_RETURN(
      const Result row,
      connection.Exec("SELECT name, archived FROM workspaces WHERE id = $1 FOR SHARE",
                      MakeParams(workspace)));
  if (row.rows() == 0) return NoSuchWorkspace(workspace);
  return row.Bool(0, 1) ? WorkspaceIsArchived(std::string(row.Text(0, 0))) : absl::OkStatus();
}

}  // namespace det::store
