// The rows of workspaces and projects. Part of FakeDatabase. Guarded by its mutex; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_WORKSPACE_ROWS_H_
#define MASTER_STORE_TESTING_FAKE_WORKSPACE_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/projects.h"
#include "master/store/interfaces/workspaces.h"

namespace det::store {

// Rows without names of owners and without counts.
struct WorkspaceRows {
  WorkspaceRows() {
    WorkspaceRecord& workspace = workspaces[kUncategorized];
    workspace.id = kUncategorized;
    workspace.name = "Uncategorized";
    workspace.owner = model::UserId(1);
    workspace.immutable = true;
    ProjectRecord& project = projects[kUncategorized];
    project.id = kUncategorized;
    project.workspace = kUncategorized;
    project.name = "Uncategorized";
    project.key = "UNCAT";
    project.owner = model::UserId(1);
    project.immutable = true;
  }

  std::map<int32_t, WorkspaceRecord> workspaces;
  std::map<int32_t, ProjectRecord> projects;
  int32_t last_workspace = kUncategorized;
  int32_t last_project = kUncategorized;
  std::map<std::pair<model::UserId, int32_t>, absl::Time> pins, visits;
  std::map<model::ExperimentId, std::string> experiment_notes;
};

// Whether a workspace or project matches the query.
template <class Query, class Record>
bool MatchesQuery(const Query& query, const Record& record, int32_t workspace) {
  const auto is_in = [](const auto& list, const auto& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  return absl::StrContains(absl::AsciiStrToLower(record.name), absl::AsciiStrToLower(query.name)) &&
         (query.exact_name.empty() || query.exact_name == record.name) &&
         (!query.archived || *query.archived == record.archived) &&
         (query.owners.empty() || is_in(query.owners, record.owner_name)) &&
         (query.owner_ids.empty() || is_in(query.owner_ids, record.owner)) &&
         (!query.visible || is_in(*query.visible, workspace));
}

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_WORKSPACE_ROWS_H_
