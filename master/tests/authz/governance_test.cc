// Audit, roles, idempotency keys, the cluster message and usage, called at the services.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "det/api/v1/auth.grpc.pb.h"
#include "det/api/v1/experiment.grpc.pb.h"
#include "det/api/v1/master.grpc.pb.h"
#include "det/api/v1/role.grpc.pb.h"
#include "det/api/v1/template.grpc.pb.h"
#include "det/api/v1/usage.grpc.pb.h"
#include "det/api/v1/workspace.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"
#include <grpcpp/grpcpp.h>

namespace det::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using enum grpc::StatusCode;

// The token "user" belongs to the administrator; "ann" and "ben" are Editors of Uncategorized.
class GovernanceTest : public MasterIntegrationTest {
 protected:
  GovernanceTest() : ann_(Add("ann")), ben_(Add("ben")) {}

  int Add(const std::string& name) {
    store::UserRecord user;
    user.username = name;
    const auto added = master_.store().users().AddUser(user, model::Role::kEditor);
    EXPECT_TRUE(added.ok());
    master_.AddSession(name, store::SessionRecord::Kind::kUser, added->id);
    return added->id.value();
  }
  grpc::Status MakeWorkspace(const std::string& token, const std::string& name,
                             const std::string& key = "") {
    CallContext context(token);
    context.AddMetadata("x-request-id", "request-of-" + name);
    if (!key.empty()) context.AddMetadata("idempotency-key", key);
    api::PostWorkspaceRequest request;
    request.set_name(name);
    made_.Clear();
    return workspaces_->PostWorkspace(&context, request, &made_);
  }
  std::vector<api::AuditRecord> Audit(const api::GetAuditRequest& request = {}) {
    master_.audit().Flush();
    CallContext context("user");
    audit_.Clear();
    const grpc::Status status = master_service_->GetAudit(&context, request, &audit_);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {audit_.records().begin(), audit_.records().end()};
  }
  // Assigns the named role; workspace 0 means the cluster.
  grpc::Status Assign(const std::string& token, int user, const std::string& role, int workspace) {
    CallContext context(token);
    api::AssignRolesRequest request;
    Fill(user, role, workspace, request.add_user_role_assignments());
    api::AssignRolesResponse response;
    return roles_->AssignRoles(&context, request, &response);
  }
  grpc::Status Remove(const std::string& token, int user, const std::string& role, int workspace) {
    CallContext context(token);
    api::RemoveAssignmentsRequest request;
    Fill(user, role, workspace, request.add_user_role_assignments());
    api::RemoveAssignmentsResponse response;
    return roles_->RemoveAssignments(&context, request, &response);
  }
  static void Fill(int user, const std::string& role, int workspace, api::UserRoleAssignment* out) {
    out->set_user_id(user);
    out->mutable_role_assignment()->mutable_role()->set_name(role);
    if (workspace != 0) out->mutable_role_assignment()->set_scope_workspace_id(workspace);
  }
  // Lines such as "Editor: 1 2", one for each role.
  std::vector<std::string> Summary(const std::string& token) {
    CallContext context(token);
    api::GetPermissionsSummaryResponse response;
    EXPECT_TRUE(roles_->GetPermissionsSummary(&context, {}, &response).ok());
    std::vector<std::string> lines;
    for (int i = 0; i < response.assignments_size(); ++i) {
      std::string line = response.roles(i).name() + ":";
      for (const int id : response.assignments(i).scope_workspace_ids()) {
        line += " " + std::to_string(id);
      }
      if (response.assignments(i).scope_cluster()) line += " cluster";
      lines.push_back(line);
    }
    return lines;
  }

  std::unique_ptr<api::MasterService::Stub> master_service_ =
      api::MasterService::NewStub(master_.channel());
  std::unique_ptr<api::RoleService::Stub> roles_ = api::RoleService::NewStub(master_.channel());
  std::unique_ptr<api::UsageService::Stub> usage_ = api::UsageService::NewStub(master_.channel());
  std::unique_ptr<api::WorkspaceService::Stub> workspaces_ =
      api::WorkspaceService::NewStub(master_.channel());
  const int ann_, ben_;
  api::PostWorkspaceResponse made_;
  api::GetAuditResponse audit_;
};

TEST_F(GovernanceTest, RecordsEachChangeInTheAuditLog) {
  ASSERT_TRUE(MakeWorkspace("ann", "vision").ok());
  const int vision = made_.workspace().id();
  EXPECT_EQ(MakeWorkspace("ann", "vision").error_code(), ALREADY_EXISTS);
  EXPECT_EQ(Kill(77).error_code(), NOT_FOUND);
  EXPECT_EQ(Assign("ben", ben_, "Editor", vision).error_code(), PERMISSION_DENIED);

  const auto records = Audit();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[3].method(), "det.api.v1.WorkspaceService.PostWorkspace");
  EXPECT_EQ(records[3].caller(), "ann");
  EXPECT_EQ(records[3].user_id(), ann_);
  EXPECT_EQ(records[3].request_id(), "request-of-vision");
  EXPECT_EQ(records[3].code(), "OK");
  EXPECT_EQ(records[3].target(), absl::StrCat("name vision, made workspace ", vision));
  EXPECT_EQ(records[2].code(), "ALREADY_EXISTS");
  EXPECT_EQ(records[1].target(), "experiment 77");
  EXPECT_EQ(records[1].caller(), "admin");
  EXPECT_EQ(records[0].caller(), "ben") << "the caller is recorded although the call failed";
  EXPECT_EQ(records[0].code(), "PERMISSION_DENIED");
  EXPECT_EQ(records[0].target(), absl::StrCat("workspace ", vision, ", user_id ", ben_));
}

TEST_F(GovernanceTest, AuditRecordsNameEachAssignedRoleAndItsScope) {
  ASSERT_TRUE(MakeWorkspace("user", "vision").ok());
  const int vision = made_.workspace().id();
  ASSERT_TRUE(Assign("user", ann_, "Editor", vision).ok());
  ASSERT_TRUE(Remove("user", ann_, "Editor", vision).ok());
  ASSERT_TRUE(Assign("user", ben_, "Viewer", 0).ok());
  const auto records = Audit();
  ASSERT_EQ(records.size(), 7u) << "each call, and each of its assignments";
  const auto target = [&](size_t i) { return records[records.size() - 1 - i].target(); };
  EXPECT_EQ(target(1), absl::StrCat("user ", ann_, ", Editor in workspace ", vision));
  EXPECT_EQ(target(3), absl::StrCat("user ", ann_, ", Editor in workspace ", vision));
  EXPECT_EQ(target(5), absl::StrCat("user ", ben_, ", Viewer for the cluster"));
  EXPECT_EQ(records[1].caller(), "admin");
  EXPECT_EQ(records[1].method(), "det.api.v1.RoleService.AssignRoles");
}

TEST_F(GovernanceTest, DoesNotRecordReadsAndDryRuns) {
  EXPECT_THAT(Audit(), IsEmpty());
  EXPECT_THAT(Audit(), IsEmpty()) << "reading the log is not recorded";
  const auto experiments = api::ExperimentService::NewStub(master_.channel());
  api::CreateExperimentRequest create;
  create.set_config("name: x");
  api::CreateExperimentResponse created;
  for (const bool only : {true, false}) {
    CallContext context("ann");
    create.set_validate_only(only);
    EXPECT_EQ(experiments->CreateExperiment(&context, create, &created).error_code(),
              INVALID_ARGUMENT);
  }
  EXPECT_EQ(Audit().size(), 1u);
}

TEST_F(GovernanceTest, AuditRecordNamesTheTemplate) {
  const auto templates = api::TemplateService::NewStub(master_.channel());
  api::PostTemplateRequest post;
  post.mutable_template_()->set_name("small");
  api::PostTemplateResponse posted;
  api::DeleteTemplateRequest remove;
  remove.set_template_name("small");
  api::DeleteTemplateResponse removed;
  CallContext first("ann"), second("ann");
  EXPECT_TRUE(templates->PostTemplate(&first, post, &posted).ok());
  EXPECT_TRUE(templates->DeleteTemplate(&second, remove, &removed).ok());
  const auto records = Audit();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].target(), "name small");
  EXPECT_EQ(records[0].target(), "template small");
}

TEST_F(GovernanceTest, OnlyAdministratorsReadFilteredPagesOfTheAuditLog) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(MakeWorkspace("ann", name).ok());
  EXPECT_EQ(Kill(77).error_code(), NOT_FOUND);
  api::GetAuditRequest request;
  request.set_username("ann");
  EXPECT_EQ(Audit(request).size(), 3u);
  request.set_method("WorkspaceService.Post");
  EXPECT_EQ(Audit(request).size(), 3u);
  request.set_limit(2);
  EXPECT_EQ(Audit(request).size(), 2u);
  request.set_before_id(audit_.next_before_id());
  EXPECT_EQ(Audit(request).size(), 1u);
  EXPECT_EQ(audit_.next_before_id(), 0);
  request.set_method("ExperimentService.");
  EXPECT_THAT(Audit(request), IsEmpty());

  CallContext context("ann");
  EXPECT_EQ(master_service_->GetAudit(&context, {}, &audit_).error_code(), PERMISSION_DENIED);
}

TEST_F(GovernanceTest, ExecutesRequestsWithTheSameKeyOnce) {
  ASSERT_TRUE(MakeWorkspace("ann", "vision", "key").ok());
  const int vision = made_.workspace().id();
  ASSERT_TRUE(MakeWorkspace("ann", "vision", "key").ok());
  EXPECT_EQ(made_.workspace().id(), vision);
  EXPECT_EQ(made_.workspace().name(), "vision");
  const grpc::Status other = MakeWorkspace("ann", "sound", "key");
  EXPECT_EQ(other.error_code(), INVALID_ARGUMENT);
  EXPECT_THAT(other.error_message(), HasSubstr("used for a different request"));
  // The same key of another user is a different key. A permanent error is stored as well.
  EXPECT_EQ(MakeWorkspace("ben", "vision", "key").error_code(), ALREADY_EXISTS);
  EXPECT_EQ(MakeWorkspace("ben", "vision", "key").error_code(), ALREADY_EXISTS);
  EXPECT_TRUE(MakeWorkspace("ben", "sound", "other").ok());
}

TEST_F(GovernanceTest, OnlyEditorsOfItsWorkspaceChangeATemplate) {
  ASSERT_TRUE(MakeWorkspace("user", "vision").ok());
  const int vision = made_.workspace().id();
  const auto templates = api::TemplateService::NewStub(master_.channel());
  const auto post = [&](const std::string& token, const std::string& name, int workspace) {
    CallContext context(token);
    api::PostTemplateRequest request;
    request.mutable_template_()->set_name(name);
    request.mutable_template_()->set_workspace_id(workspace);
    api::PostTemplateResponse response;
    return templates->PostTemplate(&context, request, &response).error_code();
  };
  const auto put = [&](const std::string& token, int workspace) {
    CallContext context(token);
    api::PutTemplateRequest request;
    request.mutable_template_()->set_name("small");
    request.mutable_template_()->set_workspace_id(workspace);
    api::PutTemplateResponse response;
    const auto code = templates->PutTemplate(&context, request, &response).error_code();
    return code == OK ? response.template_().workspace_id() : -static_cast<int>(code);
  };
  const auto listed = [&](const std::string& token, std::vector<int> workspaces) {
    CallContext context(token);
    api::GetTemplatesRequest request;
    request.mutable_workspace_ids()->Add(workspaces.begin(), workspaces.end());
    api::GetTemplatesResponse response;
    EXPECT_TRUE(templates->GetTemplates(&context, request, &response).ok());
    return response.pagination().total();
  };
  EXPECT_EQ(post("user", "small", vision), OK);
  EXPECT_EQ(post("ann", "other", vision), NOT_FOUND);
  EXPECT_EQ(post("ann", "mine", 0), OK);
  EXPECT_EQ(put("ann", 0), -NOT_FOUND) << "ann cannot see the template";
  EXPECT_EQ(put("user", 0), vision) << "the workspace does not change";
  EXPECT_EQ(listed("ann", {}), 1);
  EXPECT_EQ(listed("user", {}), 2);
  EXPECT_EQ(listed("user", {vision}), 1);

  CallContext context("ann");
  api::CreateExperimentRequest create = Request();
  create.set_template_("small");
  api::CreateExperimentResponse created;
  EXPECT_EQ(experiments_->CreateExperiment(&context, create, &created).error_code(), NOT_FOUND);

  ASSERT_TRUE(Assign("user", ann_, "Viewer", vision).ok());
  EXPECT_EQ(put("ann", 1), -PERMISSION_DENIED) << "a viewer cannot move the template";
  EXPECT_EQ(put("user", 1), 1);

  // Authorization still caches the workspace in which ann could edit the template.
  const auto rename = [&](const std::string& token, const char* from, const char* to) {
    CallContext context(token);
    api::PatchTemplateNameRequest request;
    request.set_old_name(from);
    request.set_new_name(to);
    api::PatchTemplateNameResponse response;
    return templates->PatchTemplateName(&context, request, &response).error_code();
  };
  const auto patch = [&](const std::string& token) {
    CallContext context(token);
    api::PatchTemplateConfigRequest request;
    request.set_template_name("small");
    api::PatchTemplateConfigResponse response;
    return templates->PatchTemplateConfig(&context, request, &response).error_code();
  };
  const auto remove = [&](const std::string& token) {
    CallContext context(token);
    api::DeleteTemplateRequest request;
    request.set_template_name("small");
    api::DeleteTemplateResponse response;
    return templates->DeleteTemplate(&context, request, &response).error_code();
  };
  EXPECT_EQ(patch("ann"), OK);
  EXPECT_EQ(rename("ann", "small", "tiny"), OK);
  EXPECT_EQ(rename("ann", "tiny", "small"), OK);
  EXPECT_EQ(put("user", vision), vision);
  EXPECT_EQ(patch("ann"), PERMISSION_DENIED);
  EXPECT_EQ(rename("ann", "small", "tiny"), PERMISSION_DENIED);
  EXPECT_EQ(remove("ann"), PERMISSION_DENIED);
  EXPECT_EQ(remove("user"), OK);
}

TEST_F(GovernanceTest, OnlyAdministratorsOfTheWorkspaceAssignRoles) {
  ASSERT_TRUE(MakeWorkspace("user", "vision").ok());
  const int vision = made_.workspace().id();
  EXPECT_THAT(Summary("ann"), ElementsAre("Editor: 1"));
  EXPECT_EQ(Assign("ann", ben_, "Viewer", vision).error_code(), PERMISSION_DENIED);
  ASSERT_TRUE(Assign("user", ann_, "WorkspaceAdmin", vision).ok());
  ASSERT_TRUE(Assign("user", ann_, "WorkspaceAdmin", vision).ok()) << "assigning again succeeds";
  EXPECT_THAT(Summary("ann"),
              ElementsAre("Editor: 1", "WorkspaceAdmin: " + std::to_string(vision)));

  EXPECT_TRUE(Assign("ann", ben_, "WorkspaceAdmin", vision).ok());
  EXPECT_EQ(Assign("ann", ben_, "ClusterAdmin", vision).error_code(), INVALID_ARGUMENT);
  EXPECT_EQ(Assign("ann", ben_, "Viewer", 0).error_code(), PERMISSION_DENIED);
  EXPECT_EQ(Assign("ann", ben_, "Viewer", 1).error_code(), PERMISSION_DENIED);
  EXPECT_EQ(Assign("ann", ben_, "Viewer", 99).error_code(), NOT_FOUND);
  EXPECT_EQ(Assign("ann", 99, "Viewer", vision).error_code(), NOT_FOUND);
  EXPECT_EQ(Assign("ann", ben_, "King", vision).error_code(), NOT_FOUND);
  EXPECT_TRUE(Remove("ben", ann_, "WorkspaceAdmin", vision).ok());
  EXPECT_THAT(Summary("ann"), ElementsAre("Editor: 1"));

  EXPECT_TRUE(Assign("user", ann_, "ClusterAdmin", 0).ok());
  EXPECT_THAT(Summary("ann"), ElementsAre("ClusterAdmin: cluster", "Editor: 1"));
  EXPECT_TRUE(Remove("ann", ann_, "ClusterAdmin", 0).ok());
  EXPECT_THAT(Summary("user"), testing::Contains("ClusterAdmin: cluster"));
}

TEST_F(GovernanceTest, ListsRoles) {
  {
    CallContext context("ann");
    api::ListRolesRequest request;
    request.set_limit(2);
    api::ListRolesResponse response;
    ASSERT_TRUE(roles_->ListRoles(&context, request, &response).ok());
    EXPECT_EQ(response.roles_size(), 2);
    EXPECT_EQ(response.roles(0).name(), "ClusterAdmin");
    EXPECT_GT(response.roles(0).permissions_size(), response.roles(1).permissions_size());
    EXPECT_EQ(response.pagination().total(), 10);
  }
  {
    CallContext context("ann");
    api::SearchRolesAssignableToScopeRequest request;
    api::SearchRolesAssignableToScopeResponse response;
    ASSERT_TRUE(roles_->SearchRolesAssignableToScope(&context, request, &response).ok());
    EXPECT_EQ(response.roles_size(), 0);
  }
  {
    CallContext context("user");
    api::GetGroupsAndUsersAssignedToWorkspaceRequest request;
    request.set_workspace_id(1);
    request.set_name("AN");
    api::GetGroupsAndUsersAssignedToWorkspaceResponse response;
    ASSERT_TRUE(roles_->GetGroupsAndUsersAssignedToWorkspace(&context, request, &response).ok());
    ASSERT_EQ(response.users_assigned_directly_size(), 1);
    EXPECT_EQ(response.users_assigned_directly(0).username(), "ann");
    EXPECT_EQ(response.assignments(0).role().name(), "Editor");
  }
  api::GetRolesAssignedToUserRequest request;
  api::GetRolesAssignedToUserResponse response;
  {
    CallContext context("ann");
    request.set_user_id(ben_);
    EXPECT_EQ(roles_->GetRolesAssignedToUser(&context, request, &response).error_code(),
              PERMISSION_DENIED);
  }
  CallContext context("ann");
  request.set_user_id(ann_);
  ASSERT_TRUE(roles_->GetRolesAssignedToUser(&context, request, &response).ok());
  ASSERT_EQ(response.roles_size(), 1);
  EXPECT_EQ(response.roles(0).user_role_assignments(0).role_assignment().scope_workspace_id(), 1);
}

TEST_F(GovernanceTest, ShowsTheClusterMessageFromItsStartTime) {
  const auto set = [&](const std::string& token, const api::SetClusterMessageRequest& request) {
    CallContext context(token);
    api::SetClusterMessageResponse response;
    return master_service_->SetClusterMessage(&context, request, &response).error_code();
  };
  const auto shown = [&] {
    grpc::ClientContext context;
    api::GetMasterResponse response;
    EXPECT_TRUE(master_service_->GetMaster(&context, {}, &response).ok());
    return response.cluster_message().message();
  };
  const auto kept = [&] {
    CallContext context("user");
    api::GetClusterMessageResponse response;
    EXPECT_TRUE(master_service_->GetClusterMessage(&context, {}, &response).ok());
    return response.cluster_message().message();
  };
  {
    CallContext context("ann");
    api::GetClusterMessageResponse response;
    EXPECT_EQ(master_service_->GetClusterMessage(&context, {}, &response).error_code(),
              PERMISSION_DENIED);
  }
  EXPECT_EQ(shown(), "");
  api::SetClusterMessageRequest request;
  EXPECT_EQ(set("user", request), INVALID_ARGUMENT);
  request.set_message("down at noon");
  EXPECT_EQ(set("ann", request), PERMISSION_DENIED);
  request.set_duration("soon");
  EXPECT_EQ(set("user", request), INVALID_ARGUMENT);
  request.set_duration("1h");
  EXPECT_EQ(set("user", request), OK);
  EXPECT_EQ(shown(), "down at noon");
  request.mutable_start_time()->set_seconds(4'000'000'000);
  EXPECT_EQ(set("user", request), OK);
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(kept(), "down at noon");
  CallContext context("user");
  api::DeleteClusterMessageResponse response;
  ASSERT_TRUE(master_service_->DeleteClusterMessage(&context, {}, &response).ok());
  EXPECT_EQ(kept(), "");
}

TEST_F(GovernanceTest, ReportsUsageOfVisibleWorkspacesOnly) {
  FakeAgent agent(master_, "a", 1);
  int experiment = 0;
  agent.Exited(Run(agent, &experiment), 0);
  agent.AwaitAck();
  Await(experiment);
  api::ResourceAllocationRawRequest request;
  request.set_timestamp_after("2020-01-01");
  request.set_timestamp_before("2120-01-01");
  api::ResourceAllocationRawResponse response;
  {
    CallContext context("ann");
    ASSERT_TRUE(usage_->ResourceAllocationRaw(&context, request, &response).ok());
    ASSERT_EQ(response.resource_entries_size(), 1);
    EXPECT_EQ(response.resource_entries(0).experiment_id(), experiment);
    EXPECT_EQ(response.resource_entries(0).slots(), 1);
  }
  {
    CallContext context("ann");
    google::api::HttpBody csv;
    ASSERT_TRUE(usage_->ExportResourceAllocationRaw(&context, request, &csv).ok());
    EXPECT_THAT(csv.content_type(), HasSubstr("text/csv"));
    EXPECT_THAT(csv.data(), HasSubstr("\n" + std::to_string(experiment) + ",training,"));
  }
  ASSERT_TRUE(MakeWorkspace("ann", "vision").ok());
  ASSERT_TRUE(Assign("ann", ben_, "Viewer", made_.workspace().id()).ok());
  ASSERT_TRUE(Remove("user", ben_, "Editor", 1).ok());
  CallContext context("ben");
  response.Clear();
  ASSERT_TRUE(usage_->ResourceAllocationRaw(&context, request, &response).ok());
  EXPECT_EQ(response.resource_entries_size(), 0);
}

}  // namespace
}  // namespace det::tests
