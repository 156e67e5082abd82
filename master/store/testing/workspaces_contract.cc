// Workspaces: a part of the contract suite in store_contract.h.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> GetNames(const absl::StatusOr<WorkspacePage>& page) {
  std::vector<std::string> names;
  if (!page.ok()) return {std::string(page.status().message())};
  for (const WorkspaceRecord& workspace : page->workspaces) names.push_back(workspace.name);
  return names;
}

WorkspaceRecord WorkspaceNamed(const std::string& name, int owner = 1) {
  WorkspaceRecord record;
  record.name = name;
  record.owner = model::UserId(owner);
  return record;
}

TEST_P(StoreContractTest, KeepsUncategorized) {
  Workspaces& workspaces = store_->workspaces();
  const auto first = workspaces.GetWorkspace(kUncategorized, model::UserId(1));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->name, "Uncategorized");
  EXPECT_TRUE(first->immutable);
  EXPECT_EQ(first->num_projects, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(workspaces.DeleteWorkspace(kUncategorized)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      workspaces.ChangeWorkspace(kUncategorized, {.name = "other"}).status()));
  const auto project = store_->projects().GetProject(kUncategorized);
  ASSERT_TRUE(project.ok()) << project.status();
  EXPECT_EQ(project->name, "Uncategorized");
  EXPECT_EQ(project->workspace_name, "Uncategorized");
  EXPECT_TRUE(project->immutable);
}

TEST_P(StoreContractTest, GivesCreatorOfWorkspaceARole) {
  const model::UserId ann = store_->users().AddUser({.username = "ann"})->id;
  const auto add = [&](const std::string& name, std::optional<model::RoleId> role) {
    return store_->workspaces().AddWorkspace({.name = name, .owner = ann}, role)->id;
  };
  const int32_t edited = add("edited", model::Role::kEditor);
  add("none", std::nullopt);
  EXPECT_EQ(store_->access().GetUserRoles(ann).value(),
            (std::vector<RoleAssignment>{{ann, edited, model::Role::kEditor}}));
}

TEST_P(StoreContractTest, StoresAndChangesWorkspace) {
  Workspaces& workspaces = store_->workspaces();
  WorkspaceRecord requested = WorkspaceNamed("vision");
  requested.agent_user = AgentUser{.uid = 7, .gid = 8, .user = "ann", .group = "lab"};
  requested.checkpoint_storage = R"({"type":"shared_fs"})";
  requested.default_compute_pool = "gpus";
  const auto made = workspaces.AddWorkspace(requested);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_GT(made->id, kUncategorized);
  EXPECT_TRUE(absl::IsAlreadyExists(workspaces.AddWorkspace(requested).status()));

  const auto read = backend_->Open()->workspaces().GetWorkspace(made->id, model::UserId(1));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, "vision");
  EXPECT_EQ(read->agent_user, requested.agent_user);
  EXPECT_EQ(read->checkpoint_storage, requested.checkpoint_storage);
  EXPECT_EQ(read->default_compute_pool, "gpus");
  EXPECT_EQ(read->default_aux_pool, "");
  EXPECT_FALSE(read->archived);

  const auto changed = workspaces.ChangeWorkspace(
      made->id, {.name = "speech", .checkpoint_storage = "", .default_aux_pool = "cpus"});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->name, "speech");
  EXPECT_EQ(changed->checkpoint_storage, "");
  EXPECT_EQ(changed->default_compute_pool, "gpus");
  EXPECT_EQ(changed->default_aux_pool, "cpus");
  EXPECT_TRUE(absl::IsAlreadyExists(
      workspaces.ChangeWorkspace(made->id, {.name = "Uncategorized"}).status()));
  EXPECT_TRUE(absl::IsNotFound(workspaces.ChangeWorkspace(99, {}).status()));
  EXPECT_TRUE(absl::IsNotFound(workspaces.GetWorkspace(99, {}).status()));
  EXPECT_TRUE(absl::IsNotFound(workspaces.GetWorkspaceName(99).status()));
  EXPECT_EQ(workspaces.GetWorkspaceName(kUncategorized).value_or("?"), "Uncategorized");
}

TEST_P(StoreContractTest, ListsWorkspacesByFilterSortAndWindow) {
  const UserRecord ann = *store_->users().AddUser({.username = "ann"});
  const UserRecord bob = *store_->users().AddUser({.username = "bob"});
  Workspaces& workspaces = store_->workspaces();
  const auto b = workspaces.AddWorkspace(WorkspaceNamed("b-lab", bob.id.value()));
  const auto a = workspaces.AddWorkspace(WorkspaceNamed("a-Lab", bob.id.value()));
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_EQ(a->owner_name, "bob");
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces({})),
              ElementsAre("Uncategorized", "b-lab", "a-Lab"));
  WorkspaceQuery query{.sort = WorkspaceQuery::Sort::kName, .descending = true, .name = "LAB"};
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces(query)), ElementsAre("b-lab", "a-Lab"));
  query.window = {.offset = 1, .limit = 1};
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces(query)), ElementsAre("a-Lab"));
  EXPECT_EQ(workspaces.ListWorkspaces(query)->total, 2);
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces({.exact_name = "b-lab"})), ElementsAre("b-lab"));
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces({.owners = {"ann"}})),
              ElementsAre("Uncategorized"));
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces({.owner_ids = {bob.id}})),
              ElementsAre("b-lab", "a-Lab"));
  WorkspaceQuery visible;
  visible.visible = std::vector<int32_t>{a->id};
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces(visible)), ElementsAre("a-Lab"));
  visible.visible = std::vector<int32_t>();
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces(visible)), ElementsAre());
}

TEST_P(StoreContractTest, PinsWorkspacePerUser) {
  Workspaces& workspaces = store_->workspaces();
  const auto made = workspaces.AddWorkspace(WorkspaceNamed("vision"));
  ASSERT_TRUE(made.ok()) << made.status();
  const model::UserId ann(5), bob(6);
  EXPECT_TRUE(workspaces.PinWorkspace(ann, made->id, TimeAt(1)).ok());
  EXPECT_TRUE(workspaces.PinWorkspace(ann, made->id, TimeAt(2)).ok());
  EXPECT_EQ(workspaces.GetWorkspace(made->id, ann)->pinned_at, TimeAt(2));
  EXPECT_FALSE(workspaces.GetWorkspace(made->id, bob)->pinned_at);
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces({.caller = ann, .pinned = true})),
              ElementsAre("vision"));
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces({.caller = bob, .pinned = true})), ElementsAre());
  EXPECT_TRUE(workspaces.PinWorkspace(ann, made->id, std::nullopt).ok());
  EXPECT_FALSE(workspaces.GetWorkspace(made->id, ann)->pinned_at);
  EXPECT_TRUE(absl::IsNotFound(workspaces.PinWorkspace(ann, 99, TimeAt(1))));
}

TEST_P(StoreContractTest, PinsNewWorkspaceForOwner_WhenRequested) {
  Workspaces& workspaces = store_->workspaces();
  WorkspaceRecord requested = WorkspaceNamed("vision");
  requested.pinned_at = TimeAt(3);
  const auto made = workspaces.AddWorkspace(requested);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->pinned_at, TimeAt(3));
  EXPECT_EQ(workspaces.GetWorkspace(made->id, requested.owner)->pinned_at, TimeAt(3));
  EXPECT_FALSE(workspaces.GetWorkspace(made->id, model::UserId(99))->pinned_at);
}

TEST_P(StoreContractTest, SortsWorkspacesByNameWithoutRegardToCase) {
  Workspaces& workspaces = store_->workspaces();
  for (const char* name : {"b", "Z", "_PRJ", "_Patched", "_Early"}) {
    ASSERT_TRUE(workspaces.AddWorkspace(WorkspaceNamed(name)).ok());
  }
  EXPECT_THAT(GetNames(workspaces.ListWorkspaces({.sort = WorkspaceQuery::Sort::kName})),
              ElementsAre("_Early", "_Patched", "_PRJ", "b", "Uncategorized", "Z"));
}

TEST_P(StoreContractTest, DeletesEmptyWorkspaceWithProjects) {
  const auto w = store_->workspaces().AddWorkspace(WorkspaceNamed("vision"));
  ASSERT_TRUE(w.ok()) << w.status();
  ProjectRecord project;
  project.workspace = w->id;
  project.name = "cats";
  project.owner = model::UserId(1);
  const auto p = store_->projects().AddProject(project);
  ASSERT_TRUE(p.ok()) << p.status();
  experiment::Experiment e = MakeExperiment(1);
  e.workspace = w->id;
  e.project = p->id;
  Commit({cluster::PutExperiment{e}});
  EXPECT_EQ(store_->workspaces().GetWorkspace(w->id, {})->num_experiments, 1);
  const absl::Status full = store_->workspaces().DeleteWorkspace(w->id);
  EXPECT_TRUE(absl::IsFailedPrecondition(full));
  EXPECT_THAT(std::string(full.message()), HasSubstr("\"vision\" contains 1 experiment;"));
  Commit({cluster::SetProject{e.id, {}}});
  EXPECT_TRUE(store_->workspaces().DeleteWorkspace(w->id).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->workspaces().DeleteWorkspace(w->id)));
  EXPECT_TRUE(absl::IsNotFound(store_->projects().GetProject(p->id).status()));
}

TEST_P(StoreContractTest, ArchivesProjectsWithWorkspace) {
  const auto w = store_->workspaces().AddWorkspace(WorkspaceNamed("vision"));
  ASSERT_TRUE(w.ok()) << w.status();
  ProjectRecord project;
  project.workspace = w->id;
  project.name = "cats";
  const auto p = store_->projects().AddProject(project);
  ASSERT_TRUE(p.ok()) << p.status();
  ASSERT_TRUE(store_->workspaces().ChangeWorkspace(w->id, {.archived = true}).ok());
  EXPECT_TRUE(store_->projects().GetProject(p->id)->archived);
  for (const ProjectPatch& patch :
       {ProjectPatch{.name = "x"}, ProjectPatch{.workspace = kUncategorized},
        ProjectPatch{.archived = false}}) {
    EXPECT_TRUE(
        absl::IsFailedPrecondition(store_->projects().ChangeProject(p->id, patch).status()));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(
      store_->workspaces().ChangeWorkspace(w->id, {.name = "x"}).status()));
  project.name = "dogs";
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->projects().AddProject(project).status()));
  EXPECT_THAT(GetNames(store_->workspaces().ListWorkspaces({.archived = true})),
              ElementsAre("vision"));
  ASSERT_TRUE(store_->workspaces().ChangeWorkspace(w->id, {.archived = false}).ok());
  EXPECT_FALSE(store_->projects().GetProject(p->id)->archived);
}

}  // namespace
}  // namespace det::store
