// Workspaces in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_WORKSPACES_H_
#define MASTER_STORE_TESTING_FAKE_WORKSPACES_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/workspaces.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeWorkspaces final : public Workspaces {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeWorkspaces(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<WorkspaceRecord> GetWorkspace(int32_t id, model::UserId caller) override;
  absl::StatusOr<WorkspaceRecord> GetWorkspaceSettings(int32_t id) override;
  absl::StatusOr<std::string> GetWorkspaceName(int32_t workspace) override;
  absl::StatusOr<WorkspacePage> ListWorkspaces(const WorkspaceQuery& query) override;
  absl::StatusOr<WorkspaceRecord> AddWorkspace(const WorkspaceRecord& workspace,
                                               std::optional<model::RoleId> role) override;
  absl::StatusOr<WorkspaceRecord> ChangeWorkspace(int32_t id, const WorkspacePatch& patch) override;
  absl::Status DeleteWorkspace(int32_t id) override;
  absl::Status StartDeletion(int32_t id) override;
  absl::StatusOr<std::vector<int32_t>> ListDeletions() override;
  absl::Status MarkDeletionFailed(int32_t id, const std::string& reason) override;
  absl::Status PinWorkspace(model::UserId user, int32_t id, std::optional<absl::Time> at) override;

 private:
  // REQUIRE the mutex.
  WorkspaceRecord Read(const WorkspaceRecord& row, model::UserId caller) const;
  bool IsTaken(const std::string& name, int32_t excluded) const;

  FakeDatabase& db_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_WORKSPACES_H_
