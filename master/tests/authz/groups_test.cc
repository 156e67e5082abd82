// Groups, created roles, and the mode without roles, called at the services.
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "det/api/v1/detached.grpc.pb.h"
#include "det/api/v1/experiment.grpc.pb.h"
#include "det/api/v1/experiment_action.grpc.pb.h"
#include "det/api/v1/group.grpc.pb.h"
#include "det/api/v1/master.grpc.pb.h"
#include "det/api/v1/model.grpc.pb.h"
#include "det/api/v1/project.grpc.pb.h"
#include "det/api/v1/role.grpc.pb.h"
#include "det/api/v1/token.grpc.pb.h"
#include "det/api/v1/user.grpc.pb.h"
#include "det/api/v1/workspace.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"
#include <grpcpp/grpcpp.h>

namespace det::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum grpc::StatusCode;

constexpr int kEditorId = 5;
constexpr int kWorkspaceCreatorId = 3;

// The token "user" belongs to the administrator; "ann" and "ben" have no role.
class Cluster {
 public:
  explicit Cluster(auth::AuthzType authz = auth::AuthzType::kRbac)
      : master(store::MakeFakeDatabase(), absl::Hours(1), {}, authz),
        ann(Add("ann")),
        ben(Add("ben")) {}

  int Add(const std::string& name) {
    const auto added = master.store().users().AddUser({.username = name});
    EXPECT_TRUE(added.ok());
    master.AddSession(name, store::SessionRecord::Kind::kUser, added->id);
    return added->id.value();
  }
  template <class Stub, class Req, class Res>
  grpc::Status Call(std::unique_ptr<Stub> (*make)(const std::shared_ptr<grpc::ChannelInterface>&,
                                                  const grpc::StubOptions&),
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Req&, Res*),
                    const std::string& token, const Req& request, Res* response) {
    CallContext context(token);
    response->Clear();
    const auto stub = make(master.channel(), {});
    return (stub.get()->*method)(&context, request, response);
  }
  grpc::Status CreateGroup(const std::string& token, const std::string& name,
                           const std::vector<int>& users = {}) {
    api::CreateGroupRequest request;
    request.set_name(name);
    request.mutable_add_users()->Add(users.begin(), users.end());
    api::CreateGroupResponse response;
    const grpc::Status status =
        Call(&api::GroupService::NewStub, &api::GroupService::Stub::CreateGroup, token, request,
             &response);
    group = response.group();
    return status;
  }
  grpc::Status UpdateGroup(const std::string& token, const api::UpdateGroupRequest& request) {
    api::UpdateGroupResponse response;
    const grpc::Status status =
        Call(&api::GroupService::NewStub, &api::GroupService::Stub::UpdateGroup, token, request,
             &response);
    if (status.ok()) group = response.group();
    return status;
  }
  grpc::Status AssignToGroup(const std::string& token, int group_id, int role, int workspace) {
    api::AssignRolesRequest request;
    auto* assignment = request.add_group_role_assignments();
    assignment->set_group_id(group_id);
    assignment->mutable_role_assignment()->mutable_role()->set_role_id(role);
    if (workspace != 0) assignment->mutable_role_assignment()->set_scope_workspace_id(workspace);
    api::AssignRolesResponse response;
    return Call(&api::RoleService::NewStub, &api::RoleService::Stub::AssignRoles, token, request,
                &response);
  }
  grpc::Status CreateRole(const std::string& token, const std::string& name,
                          const std::vector<api::PermissionType>& permissions) {
    api::CreateRoleRequest request;
    request.mutable_role()->set_name(name);
    for (const auto permission : permissions) {
      request.mutable_role()->add_permissions()->set_id(permission);
    }
    api::CreateRoleResponse response;
    const grpc::Status status = Call(
        &api::RoleService::NewStub, &api::RoleService::Stub::CreateRole, token, request, &response);
    role = response.role();
    return status;
  }
  int CreateExperiment(const std::string& token) {
    api::CreateExperimentRequest request;
    request.set_config(kConfig);
    api::CreateExperimentResponse response;
    EXPECT_TRUE(Call(&api::ExperimentService::NewStub,
                     &api::ExperimentService::Stub::CreateExperiment, token, request, &response)
                    .ok());
    return response.experiment().id();
  }
  grpc::Status KillExperiment(const std::string& token, int id) {
    api::KillExperimentRequest request;
    request.set_id(id);
    api::KillExperimentResponse response;
    return Call(&api::ExperimentService::NewStub, &api::ExperimentService::Stub::KillExperiment,
                token, request, &response);
  }
  grpc::StatusCode GetWorkspace(const std::string& token, int id) {
    api::GetWorkspaceRequest request;
    request.set_id(id);
    api::GetWorkspaceResponse response;
    return Call(&api::WorkspaceService::NewStub, &api::WorkspaceService::Stub::GetWorkspace, token,
                request, &response)
        .error_code();
  }
  grpc::Status PostWorkspace(const std::string& token, const std::string& name) {
    api::PostWorkspaceRequest request;
    request.set_name(name);
    return Call(&api::WorkspaceService::NewStub, &api::WorkspaceService::Stub::PostWorkspace, token,
                request, &workspace);
  }
  grpc::StatusCode RenameWorkspace(const std::string& token, int id, const std::string& name) {
    api::PatchWorkspaceRequest request;
    request.set_id(id);
    request.mutable_workspace()->set_name(name);
    api::PatchWorkspaceResponse response;
    return Call(&api::WorkspaceService::NewStub, &api::WorkspaceService::Stub::PatchWorkspace,
                token, request, &response)
        .error_code();
  }
  std::vector<std::string> ListGroups(const std::string& token) {
    api::GetGroupsRequest request;
    request.set_limit(10);
    api::GetGroupsResponse response;
    EXPECT_TRUE(Call(&api::GroupService::NewStub, &api::GroupService::Stub::GetGroups, token,
                     request, &response)
                    .ok());
    std::vector<std::string> names;
    for (const auto& each : response.groups()) names.push_back(each.group().name());
    return names;
  }

  TestMaster master;
  int ann, ben;
  api::GroupDetails group;
  api::Role role;
  api::PostWorkspaceResponse workspace;
};

TEST(GroupsTest, RoleOfGroupAppliesToItsMembersAtOnce) {
  Cluster cluster;
  ASSERT_TRUE(cluster.CreateGroup("user", "ops", {cluster.ann}).ok());
  const int id = cluster.group.group_id();
  EXPECT_EQ(cluster.GetWorkspace("ann", 1), PERMISSION_DENIED);
  ASSERT_TRUE(cluster.AssignToGroup("user", id, kEditorId, 1).ok());
  EXPECT_EQ(cluster.GetWorkspace("ann", 1), OK);
  EXPECT_EQ(cluster.GetWorkspace("ben", 1), PERMISSION_DENIED);

  api::UpdateGroupRequest change;
  change.set_group_id(id);
  change.add_add_users(cluster.ben);
  change.add_remove_users(cluster.ann);
  ASSERT_TRUE(cluster.UpdateGroup("user", change).ok());
  EXPECT_EQ(cluster.GetWorkspace("ann", 1), PERMISSION_DENIED);
  EXPECT_EQ(cluster.GetWorkspace("ben", 1), OK);

  api::DeleteGroupRequest request;
  request.set_group_id(id);
  api::DeleteGroupResponse response;
  ASSERT_TRUE(cluster
                  .Call(&api::GroupService::NewStub, &api::GroupService::Stub::DeleteGroup, "user",
                        request, &response)
                  .ok());
  EXPECT_EQ(cluster.GetWorkspace("ben", 1), PERMISSION_DENIED);
}

TEST(GroupsTest, OnlyAdministratorsChangeGroups) {
  Cluster cluster;
  EXPECT_EQ(cluster.CreateGroup("ann", "mine").error_code(), PERMISSION_DENIED);
  ASSERT_TRUE(cluster.CreateGroup("user", "ops", {cluster.ann}).ok());
  EXPECT_EQ(cluster.group.users(0).username(), "ann");
  EXPECT_EQ(cluster.CreateGroup("user", "ops").error_code(), ALREADY_EXISTS);
  EXPECT_EQ(cluster.CreateGroup("user", "ghosts", {99}).error_code(), NOT_FOUND);

  api::UpdateGroupRequest change;
  change.set_group_id(1);
  change.add_add_users(cluster.ann);
  EXPECT_EQ(cluster.UpdateGroup("user", change).error_code(), ALREADY_EXISTS);
  change.set_group_id(99);
  EXPECT_EQ(cluster.UpdateGroup("user", change).error_code(), NOT_FOUND);
}

TEST(GroupsTest, UsersSeeOnlyTheirOwnGroups) {
  Cluster cluster;
  ASSERT_TRUE(cluster.CreateGroup("user", "ops", {cluster.ann}).ok());
  ASSERT_TRUE(cluster.CreateGroup("user", "science").ok());
  EXPECT_THAT(cluster.ListGroups("user"), ElementsAre("ops", "science"));
  EXPECT_THAT(cluster.ListGroups("ann"), ElementsAre("ops"));
  api::GetGroupRequest request;
  request.set_group_id(cluster.group.group_id());
  api::GetGroupResponse response;
  EXPECT_EQ(cluster
                .Call(&api::GroupService::NewStub, &api::GroupService::Stub::GetGroup, "ann",
                      request, &response)
                .error_code(),
            NOT_FOUND);
}

TEST(GroupsTest, RequiresALimit) {
  Cluster cluster;
  for (const int limit : {0, 501}) {
    api::GetGroupsRequest request;
    request.set_limit(limit);
    api::GetGroupsResponse response;
    EXPECT_EQ(cluster
                  .Call(&api::GroupService::NewStub, &api::GroupService::Stub::GetGroups, "user",
                        request, &response)
                  .error_code(),
              INVALID_ARGUMENT)
        << limit;
  }
}

TEST(GroupsTest, ListsGroupsAndUsersOfAWorkspace) {
  Cluster cluster;
  ASSERT_TRUE(cluster.CreateGroup("user", "ops", {cluster.ann}).ok());
  ASSERT_TRUE(cluster.AssignToGroup("user", cluster.group.group_id(), kEditorId, 1).ok());
  api::GetGroupsAndUsersAssignedToWorkspaceRequest request;
  request.set_workspace_id(1);
  api::GetGroupsAndUsersAssignedToWorkspaceResponse response;
  ASSERT_TRUE(cluster
                  .Call(&api::RoleService::NewStub,
                        &api::RoleService::Stub::GetGroupsAndUsersAssignedToWorkspace, "ann",
                        request, &response)
                  .ok());
  ASSERT_EQ(response.groups_size(), 1);
  EXPECT_EQ(response.groups(0).users(0).username(), "ann");
  ASSERT_EQ(response.assignments_size(), 1);
  EXPECT_EQ(response.assignments(0).group_role_assignments(0).group_id(), cluster.group.group_id());
}

TEST(RolesTest, CreatedRoleGivesItsPermissionsOnly) {
  Cluster cluster;
  ASSERT_TRUE(
      cluster
          .CreateRole("user", "Renamer",
                      {api::PERMISSION_TYPE_VIEW_WORKSPACE, api::PERMISSION_TYPE_UPDATE_WORKSPACE})
          .ok());
  const int renamer = cluster.role.role_id();
  ASSERT_TRUE(cluster.PostWorkspace("user", "vision").ok());
  const int vision = cluster.workspace.workspace().id();
  ASSERT_TRUE(cluster.CreateGroup("user", "ops", {cluster.ann}).ok());
  ASSERT_TRUE(cluster.AssignToGroup("user", cluster.group.group_id(), renamer, vision).ok());
  EXPECT_EQ(cluster.RenameWorkspace("ann", vision, "sight"), OK);
  EXPECT_EQ(cluster.RenameWorkspace("ann", 1, "x"), NOT_FOUND);
  api::DeleteWorkspaceRequest request;
  request.set_id(vision);
  api::DeleteWorkspaceResponse response;
  EXPECT_EQ(cluster
                .Call(&api::WorkspaceService::NewStub,
                      &api::WorkspaceService::Stub::DeleteWorkspace, "ann", request, &response)
                .error_code(),
            PERMISSION_DENIED);

  // A change of the role takes effect at once.
  api::UpdateRoleRequest update;
  *update.mutable_role() = cluster.role;
  update.mutable_role()->clear_permissions();
  update.mutable_role()->add_permissions()->set_id(api::PERMISSION_TYPE_VIEW_WORKSPACE);
  api::UpdateRoleResponse updated;
  ASSERT_TRUE(cluster
                  .Call(&api::RoleService::NewStub, &api::RoleService::Stub::UpdateRole, "user",
                        update, &updated)
                  .ok());
  EXPECT_EQ(cluster.RenameWorkspace("ann", vision, "eyes"), PERMISSION_DENIED);
  EXPECT_EQ(cluster.GetWorkspace("ann", vision), OK);

  api::DeleteRoleRequest remove;
  remove.set_role_id(renamer);
  api::DeleteRoleResponse removed;
  EXPECT_EQ(cluster
                .Call(&api::RoleService::NewStub, &api::RoleService::Stub::DeleteRole, "user",
                      remove, &removed)
                .error_code(),
            FAILED_PRECONDITION);
}

TEST(RolesTest, RefusesInvalidRoles) {
  Cluster cluster;
  EXPECT_EQ(cluster.CreateRole("ann", "Own", {api::PERMISSION_TYPE_VIEW_PROJECT}).error_code(),
            PERMISSION_DENIED);
  EXPECT_EQ(cluster.CreateRole("user", "Empty", {}).error_code(), INVALID_ARGUMENT);
  EXPECT_EQ(cluster.CreateRole("user", "", {api::PERMISSION_TYPE_VIEW_PROJECT}).error_code(),
            INVALID_ARGUMENT);
  EXPECT_EQ(cluster.CreateRole("user", "Editor", {api::PERMISSION_TYPE_VIEW_PROJECT}).error_code(),
            ALREADY_EXISTS);
  EXPECT_EQ(cluster.CreateRole("user", "Odd", {static_cast<api::PermissionType>(77)}).error_code(),
            INVALID_ARGUMENT);
}

TEST(RolesTest, RefusesPermissionsOfTheClusterInAWorkspace) {
  Cluster cluster;
  ASSERT_TRUE(cluster.CreateGroup("user", "ops").ok());
  const int ops = cluster.group.group_id();
  const grpc::Status refused = cluster.AssignToGroup("user", ops, kWorkspaceCreatorId, 1);
  EXPECT_EQ(refused.error_code(), INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("create workspace"));
  EXPECT_TRUE(cluster.AssignToGroup("user", ops, kWorkspaceCreatorId, 0).ok());

  ASSERT_TRUE(cluster.CreateRole("user", "Operator", {api::PERMISSION_TYPE_UPDATE_AGENTS}).ok());
  EXPECT_EQ(cluster.AssignToGroup("user", ops, cluster.role.role_id(), 1).error_code(),
            INVALID_ARGUMENT);
  EXPECT_TRUE(cluster.AssignToGroup("user", ops, cluster.role.role_id(), 0).ok());
}

TEST(RolesTest, RefusesToAssignPermissionsThatTheCallerLacks) {
  Cluster cluster;
  ASSERT_TRUE(
      cluster
          .CreateRole("user", "Assigner",
                      {api::PERMISSION_TYPE_VIEW_WORKSPACE, api::PERMISSION_TYPE_ASSIGN_ROLES})
          .ok());
  const int assigner = cluster.role.role_id();
  ASSERT_TRUE(cluster.CreateGroup("user", "ops", {cluster.ann}).ok());
  const int ops = cluster.group.group_id();
  ASSERT_TRUE(cluster.AssignToGroup("user", ops, assigner, 1).ok());
  EXPECT_TRUE(cluster.AssignToGroup("ann", ops, assigner, 1).ok());
  EXPECT_EQ(cluster.AssignToGroup("ann", ops, kEditorId, 1).error_code(), PERMISSION_DENIED);
  EXPECT_EQ(cluster.AssignToGroup("ann", ops, assigner, 0).error_code(), PERMISSION_DENIED);
}

// "ann" administrates users, groups and tokens, and has no other permission.
TEST(RolesTest, UserAdministratorsCannotGainPermissions) {
  Cluster cluster;
  ASSERT_TRUE(
      cluster
          .CreateRole("user", "Staff",
                      {api::PERMISSION_TYPE_ADMINISTRATE_USER, api::PERMISSION_TYPE_UPDATE_GROUP,
                       api::PERMISSION_TYPE_ADMINISTRATE_TOKEN})
          .ok());
  ASSERT_TRUE(cluster.CreateGroup("user", "staff", {cluster.ann}).ok());
  const int staff = cluster.group.group_id();
  ASSERT_TRUE(cluster.AssignToGroup("user", staff, cluster.role.role_id(), 0).ok());
  ASSERT_TRUE(cluster.CreateGroup("user", "editors").ok());
  const int editors = cluster.group.group_id();
  ASSERT_TRUE(cluster.AssignToGroup("user", editors, kEditorId, 1).ok());

  const auto patch = [&](int user, const api::PatchUser& change) {
    api::PatchUserRequest request;
    request.set_user_id(user);
    *request.mutable_user() = change;
    api::PatchUserResponse response;
    return cluster
        .Call(&api::UserService::NewStub, &api::UserService::Stub::PatchUser, "ann", request,
              &response)
        .error_code();
  };
  api::PatchUser admin;
  admin.set_admin(true);
  EXPECT_EQ(patch(cluster.ann, admin), PERMISSION_DENIED);
  api::PatchUser password;
  password.set_password("Passw0rd-of-ann");
  EXPECT_EQ(patch(1, password), PERMISSION_DENIED) << "the administrator";
  EXPECT_EQ(patch(cluster.ben, password), OK) << "has no permission";
  api::PatchUser name;
  name.set_display_name("Boss");
  EXPECT_EQ(patch(1, name), OK);

  api::PostUserRequest add;
  add.mutable_user()->set_username("root");
  add.mutable_user()->set_admin(true);
  add.set_password("Passw0rd-of-root");
  api::PostUserResponse added;
  EXPECT_EQ(
      cluster
          .Call(&api::UserService::NewStub, &api::UserService::Stub::PostUser, "ann", add, &added)
          .error_code(),
      PERMISSION_DENIED);

  api::UpdateGroupRequest join;
  join.set_group_id(editors);
  join.add_add_users(cluster.ann);
  EXPECT_EQ(cluster.UpdateGroup("ann", join).error_code(), PERMISSION_DENIED);
  api::AssignMultipleGroupsRequest assign;
  assign.add_user_ids(cluster.ann);
  assign.add_add_groups(editors);
  api::AssignMultipleGroupsResponse assigned;
  EXPECT_EQ(cluster
                .Call(&api::GroupService::NewStub, &api::GroupService::Stub::AssignMultipleGroups,
                      "ann", assign, &assigned)
                .error_code(),
            PERMISSION_DENIED);
  join.set_group_id(staff);
  join.set_add_users(0, cluster.ben);
  EXPECT_TRUE(cluster.UpdateGroup("ann", join).ok()) << "ann has the permissions of this group";

  api::PostAccessTokenRequest token;
  token.set_user_id(1);
  api::PostAccessTokenResponse made;
  EXPECT_EQ(cluster
                .Call(&api::TokenService::NewStub, &api::TokenService::Stub::PostAccessToken, "ann",
                      token, &made)
                .error_code(),
            PERMISSION_DENIED);
}

// A role for the cluster without the permission to view experiments must not reveal them.
TEST(RolesTest, WorkspaceCreatorsDoNotSeeExperiments) {
  Cluster cluster;
  api::PutExperimentRequest put;
  put.set_external_experiment_id("outside");
  put.mutable_create_experiment_request()->set_unmanaged(true);
  put.mutable_create_experiment_request()->set_config(
      "{name: x, searcher: {name: single, metric: loss}}");
  api::PutExperimentResponse experiment;
  ASSERT_TRUE(cluster
                  .Call(&api::DetachedService::NewStub, &api::DetachedService::Stub::PutExperiment,
                        "user", put, &experiment)
                  .ok());
  api::PutTrialRequest put_trial;
  put_trial.set_external_trial_id("one");
  put_trial.mutable_create_trial_request()->set_unmanaged(true);
  put_trial.mutable_create_trial_request()->set_experiment_id(experiment.experiment().id());
  api::PutTrialResponse trial;
  ASSERT_TRUE(cluster
                  .Call(&api::DetachedService::NewStub, &api::DetachedService::Stub::PutTrial,
                        "user", put_trial, &trial)
                  .ok());
  ASSERT_TRUE(cluster.CreateGroup("user", "makers", {cluster.ann}).ok());
  ASSERT_TRUE(cluster.AssignToGroup("user", cluster.group.group_id(), kWorkspaceCreatorId, 0).ok());

  api::GetTrialByExternalIDRequest get;
  get.set_external_experiment_id("outside");
  get.set_external_trial_id("one");
  api::GetTrialByExternalIDResponse found;
  EXPECT_EQ(cluster
                .Call(&api::DetachedService::NewStub,
                      &api::DetachedService::Stub::GetTrialByExternalID, "ann", get, &found)
                .error_code(),
            NOT_FOUND);
  api::CancelExperimentsRequest cancel;
  cancel.set_project_id(-1);
  cancel.mutable_filters();
  api::CancelExperimentsResponse canceled;
  EXPECT_EQ(
      cluster
          .Call(&api::ExperimentActionService::NewStub,
                &api::ExperimentActionService::Stub::CancelExperiments, "ann", cancel, &canceled)
          .error_code(),
      PERMISSION_DENIED);
}

TEST(BasicModeTest, UsersWorkWithEverythingAndOwnersChangeTheRest) {
  Cluster cluster(auth::AuthzType::kBasic);
  ASSERT_TRUE(cluster.PostWorkspace("ann", "anns").ok());
  const int anns = cluster.workspace.workspace().id();
  EXPECT_EQ(cluster.GetWorkspace("ben", anns), OK);
  EXPECT_EQ(cluster.RenameWorkspace("ben", anns, "bens"), PERMISSION_DENIED);
  EXPECT_EQ(cluster.RenameWorkspace("ann", anns, "mine"), OK);
  EXPECT_EQ(cluster.RenameWorkspace("user", anns, "its"), OK);

  api::PostProjectRequest project;
  project.set_workspace_id(anns);
  project.set_name("bens");
  api::PostProjectResponse made;
  ASSERT_TRUE(cluster
                  .Call(&api::ProjectService::NewStub, &api::ProjectService::Stub::PostProject,
                        "ben", project, &made)
                  .ok());
  const auto describe = [&](const std::string& token) {
    api::PatchProjectRequest request;
    request.set_id(made.project().id());
    request.mutable_project()->set_description("x");
    api::PatchProjectResponse response;
    return cluster
        .Call(&api::ProjectService::NewStub, &api::ProjectService::Stub::PatchProject, token,
              request, &response)
        .error_code();
  };
  cluster.Add("cleo");
  EXPECT_EQ(describe("cleo"), PERMISSION_DENIED);
  EXPECT_EQ(describe("ben"), OK) << "the owner of the project";
  EXPECT_EQ(describe("ann"), OK) << "the owner of the workspace";

  EXPECT_EQ(cluster.CreateGroup("ann", "ops").error_code(), PERMISSION_DENIED);
  ASSERT_TRUE(cluster.CreateGroup("user", "ops").ok());
  EXPECT_THAT(cluster.ListGroups("ben"), ElementsAre("ops"));
  ASSERT_TRUE(cluster.AssignToGroup("user", cluster.group.group_id(), kEditorId, 1).ok())
      << "roles can be prepared";
  EXPECT_EQ(cluster.AssignToGroup("ann", cluster.group.group_id(), kEditorId, anns).error_code(),
            PERMISSION_DENIED);
}

TEST(RolesTest, OnlyClusterAdministratorsSetTheUserOfTasks) {
  Cluster cluster;
  ASSERT_TRUE(cluster.CreateGroup("user", "ops", {cluster.ann}).ok());
  ASSERT_TRUE(cluster.AssignToGroup("user", cluster.group.group_id(), kEditorId, 1).ok());
  ASSERT_TRUE(cluster.PostWorkspace("ann", "anns").ok());
  const int anns = cluster.workspace.workspace().id();
  EXPECT_EQ(cluster.RenameWorkspace("ann", anns, "mine"), OK);
  const auto set = [&](const std::string& token) {
    api::PatchWorkspaceRequest request;
    request.set_id(anns);
    request.mutable_workspace()->mutable_agent_user_group()->set_agent_user("root");
    api::PatchWorkspaceResponse response;
    return cluster
        .Call(&api::WorkspaceService::NewStub, &api::WorkspaceService::Stub::PatchWorkspace, token,
              request, &response)
        .error_code();
  };
  EXPECT_EQ(set("ann"), PERMISSION_DENIED);
  EXPECT_NE(set("user"), PERMISSION_DENIED);
}

// The tasks of an experiment act as its owner.
TEST(RolesTest, OnlyOwnersContinueWithAnotherConfiguration) {
  Cluster cluster;
  ASSERT_TRUE(cluster.CreateGroup("user", "editors", {cluster.ann, cluster.ben}).ok());
  ASSERT_TRUE(cluster.AssignToGroup("user", cluster.group.group_id(), kEditorId, 1).ok());
  const int id = cluster.CreateExperiment("ann");
  const auto restart = [&](const std::string& token, const std::string& override) {
    EXPECT_TRUE(cluster.KillExperiment("ben", id).ok());
    api::ContinueExperimentRequest resume;
    resume.set_id(id);
    if (!override.empty()) resume.add_config_overrides(override);
    api::ContinueExperimentResponse response;
    return cluster
        .Call(&api::ExperimentService::NewStub, &api::ExperimentService::Stub::ContinueExperiment,
              token, resume, &response)
        .error_code();
  };
  EXPECT_EQ(restart("ben", "entrypoint=steal"), PERMISSION_DENIED);
  EXPECT_EQ(restart("ben", ""), OK);
  EXPECT_EQ(restart("ann", "entrypoint=other"), OK);
  EXPECT_EQ(restart("user", "entrypoint=another"), OK);
}

TEST(BasicModeTest, OnlyOwnersDeleteExperimentsAndModels) {
  Cluster cluster(auth::AuthzType::kBasic);
  const int id = cluster.CreateExperiment("ann");
  EXPECT_TRUE(cluster.KillExperiment("ben", id).ok());
  const auto remove = [&](const std::string& token) {
    api::DeleteExperimentRequest deletion;
    deletion.set_experiment_id(id);
    api::DeleteExperimentResponse response;
    return cluster
        .Call(&api::ExperimentService::NewStub, &api::ExperimentService::Stub::DeleteExperiment,
              token, deletion, &response)
        .error_code();
  };
  EXPECT_EQ(remove("ben"), PERMISSION_DENIED);
  EXPECT_NE(remove("ann"), PERMISSION_DENIED);

  api::PostModelRequest model;
  model.set_name("resnet");
  api::PostModelResponse made;
  ASSERT_TRUE(cluster
                  .Call(&api::ModelService::NewStub, &api::ModelService::Stub::PostModel, "ann",
                        model, &made)
                  .ok());
  const auto remove_model = [&](const std::string& token) {
    api::DeleteModelRequest deletion;
    deletion.set_model_name("resnet");
    api::DeleteModelResponse response;
    return cluster
        .Call(&api::ModelService::NewStub, &api::ModelService::Stub::DeleteModel, token, deletion,
              &response)
        .error_code();
  };
  EXPECT_EQ(remove_model("ben"), PERMISSION_DENIED);
  EXPECT_EQ(remove_model("ann"), OK);
}

}  // namespace
}  // namespace det::tests
