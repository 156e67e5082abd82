// Workspaces in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_WORKSPACES_H_
#define MASTER_STORE_TESTING_FAKE_WORKSPACES_H_

#include <functional>
#include <optional>
#include <utility>

#include "master/store/interfaces/workspaces.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeWorkspaces final : public Workspaces {
 public:
  // `held` is asked before each write, without the database's mutex.
  FakeWorkspaces(FakeDatabase* database, std::function<absl::Status()> held)
      : db_(*database), held_(std::move(held)) {}

  absl::StatusOr<WorkspaceRecord> GetWorkspace(int32_t id, model::UserId asking) override;
  absl::StatusOr<std::string> NameOf(int32_t workspace) override;
  absl::StatusOr<WorkspacePage> ListWorkspaces(const WorkspaceQuery& query) override;
  absl::StatusOr<WorkspaceRecord> AddWorkspace(const WorkspaceRecord& workspace) override;
  absl::StatusOr<WorkspaceRecord> ChangeWorkspace(int32_t id, const WorkspacePatch& patch) override;
  absl::Status DeleteWorkspace(int32_t id) override;
  absl::Status PinWorkspace(model::UserId user, int32_t id, std::optional<absl::Time> at) override;

 private:
  // These hold the mutex already.
  WorkspaceRecord Read(const WorkspaceRecord& row, model::UserId asking) const;
  bool IsTaken(const std::string& name, int32_t but) const;

  FakeDatabase& db_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_WORKSPACES_H_
