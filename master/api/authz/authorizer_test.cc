// Authorizer: every method of the API by every role, in the caller's workspace and in another one.
#include "master/api/authz/authorizer.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include "det/agent/v1/agent.pb.h"
#include "det/api/v1/agent.pb.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/command.pb.h"
#include "det/api/v1/config_policy.pb.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/experiment_action.pb.h"
#include "det/api/v1/job.pb.h"
#include "det/api/v1/log_fields.pb.h"
#include "det/api/v1/log_retention.pb.h"
#include "det/api/v1/master.pb.h"
#include "det/api/v1/model.pb.h"
#include "det/api/v1/model_def.pb.h"
#include "det/api/v1/overview.pb.h"
#include "det/api/v1/project.pb.h"
#include "det/api/v1/raw.pb.h"
#include "det/api/v1/resource_pool.pb.h"
#include "det/api/v1/role.pb.h"
#include "det/api/v1/run.pb.h"
#include "det/api/v1/run_action.pb.h"
#include "det/api/v1/search.pb.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/task_runtime.pb.h"
#include "det/api/v1/template.pb.h"
#include "det/api/v1/token.pb.h"
#include "det/api/v1/trial.pb.h"
#include "det/api/v1/trial_source.pb.h"
#include "det/api/v1/generic_task.pb.h"
#include "det/api/v1/usage.pb.h"
#include "det/api/v1/user.pb.h"
#include "det/api/v1/webhook.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "det/trial/v1/trial.pb.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "master/auth/tokens.h"
#include "master/store/testing/fake_store.h"
#include "proto/api_descriptors.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

namespace det::api {
namespace {

// The declarations of methods are read from the generated pool, which contains only linked files.
auto LinkMessages() {
  return std::array{det::api::v1::Device::descriptor(),
                    det::api::v1::AgentUserGroup::descriptor(),
                    det::api::v1::CheckpointTrainingMetadata::descriptor(),
                    det::api::v1::Command::descriptor(),
                    det::api::v1::GetGlobalConfigPoliciesRequest::descriptor(),
                    det::api::v1::Experiment::descriptor(),
                    det::api::v1::BulkExperimentFilters::descriptor(),
                    det::api::v1::JobSummary::descriptor(),
                    det::api::v1::TrialLogsFieldsRequest::descriptor(),
                    det::api::v1::PutExperimentRetainLogsRequest::descriptor(),
                    det::api::v1::GetTelemetryRequest::descriptor(),
                    det::api::v1::Model::descriptor(),
                    det::api::v1::FileNode::descriptor(),
                    det::api::v1::GetOverviewRequest::descriptor(),
                    det::api::v1::Note::descriptor(),
                    det::api::v1::DownloadCheckpointRequest::descriptor(),
                    det::api::v1::ResourcePool::descriptor(),
                    det::api::v1::ScopeTypeMask::descriptor(),
                    det::api::v1::FlatRunExperiment::descriptor(),
                    det::api::v1::RunActionResult::descriptor(),
                    det::api::v1::PreviewHPSearchRequest::descriptor(),
                    det::api::v1::Allocation::descriptor(),
                    det::api::v1::GetTaskContextDirectoryRequest::descriptor(),
                    det::api::v1::Template::descriptor(),
                    det::api::v1::TokenInfo::descriptor(),
                    det::api::v1::Metrics::descriptor(),
                    det::api::v1::GetTrialMetricsByCheckpointRequest::descriptor(),
                    det::api::v1::CreateGenericTaskRequest::descriptor(),
                    det::api::v1::ResourceAllocationRawRequest::descriptor(),
                    det::api::v1::GetUsersRequest::descriptor(),
                    det::api::v1::Trigger::descriptor(),
                    det::api::v1::Workspace::descriptor(),
                    det::trial::v1::WatchAllocationRequest::descriptor(),
                    det::agent::v1::AgentMessage::descriptor()};
}

using auth::Principal;
using auth::PrincipalKind;
using auth::Scope;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using model::Role;

constexpr int32_t kOwn = 1;
constexpr int32_t kOther = 2;

// Resources 100 to 199 are in workspace 1, 200 to 299 in workspace 2.
class FakeWorkspaceResolver final : public WorkspaceResolver {
 public:
  absl::StatusOr<int32_t> FindWorkspace(Scope scope, const std::string& id) override {
    ++lookups;
    if (scope == Scope::kWorkspace) return id == "1" ? kOwn : kOther;
    if (id.empty() || id[0] == '9') return absl::NotFoundError("none");
    return id[0] - '0';
  }
  // User 5 owns the resources with odd numbers.
  absl::StatusOr<model::UserId> FindOwner(Scope, const std::string& id) override {
    return model::UserId((id.back() - '0') % 2 == 1 ? 5 : 6);
  }
  int lookups = 0;
};

// Sets the field at the path to `id`, in a new element of each list.
void Put(std::string_view path, const std::string& id, Message* message) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field =
      message->GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  ASSERT_NE(field, nullptr) << message->GetDescriptor()->full_name() << " has no " << path;
  const auto* r = message->GetReflection();
  const bool many = field->is_repeated();
  if (dot != path.npos) {
    return Put(path.substr(dot + 1), id,
               many ? r->AddMessage(message, field) : r->MutableMessage(message, field));
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    const int number = std::stoi(id);
    many ? r->AddInt32(message, field, number) : r->SetInt32(message, field, number);
  } else {
    ASSERT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_STRING) << field->full_name();
    many ? r->AddString(message, field, id) : r->SetString(message, field, id);
  }
}

class AuthorizerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(LinkMessages().empty());
    google::protobuf::FileDescriptorSet files;
    const std::string_view bytes = proto::ApiDescriptors();
    ASSERT_TRUE(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    for (const auto& file : files.file()) {
      ASSERT_NE(pool_.BuildFile(file), nullptr) << file.name();
      for (const auto& service : file.service()) {
        const auto* found = pool_.FindServiceByName(file.package() + "." + service.name());
        for (int i = 0; i < found->method_count(); ++i) methods_.push_back(found->method(i));
      }
    }
    ASSERT_GT(methods_.size(), 80u);
  }

  std::unique_ptr<Message> Request(const MethodDescriptor& method) {
    return std::unique_ptr<Message>(factory_.GetPrototype(method.input_type())->New());
  }
  // Returns a request that names a resource in `workspace` in each field of the declaration.
  std::unique_ptr<Message> RequestIn(const MethodDescriptor& method, int32_t workspace) {
    const auth::Requirement needs = auth::GetRequirement(method.full_name());
    std::unique_ptr<Message> request = Request(method);
    const auto id = [&](Scope scope) {
      const std::string resource = std::to_string(100 * workspace);
      switch (scope) {
        case Scope::kWorkspace:
          return std::to_string(workspace);
        case Scope::kSelf:
          return std::string("5");
        case Scope::kTask:
          return resource + "." + resource;
        case Scope::kAllocation:
          return resource + "." + resource + ".0";
        default:
          return resource;
      }
    };
    if (!needs.field.empty()) Put(needs.field, id(needs.scope), request.get());
    if (!needs.second_field.empty()) Put(needs.second_field, id(needs.second_scope), request.get());
    return request;
  }
  absl::Status Authorize(const MethodDescriptor& method, const Principal& principal,
                         const Message& request) {
    const auth::Requirement requirement = auth::GetRequirement(method.full_name());
    const absl::Status status = auth::Authorize(requirement, principal);
    return status.ok() ? authorizer_.AuthorizeResources(requirement, principal, request) : status;
  }
  // Authorizes a call with an Authorization header, or with a ticket.
  Authorization Authorize(const std::string& method, const Credentials& credentials) {
    return authorizer_.Authorize(auth::GetRequirement(method), credentials,
                                 v1::GetMeRequest::default_instance());
  }
  // Adds user ada, an Editor, with a session.
  void AddAda(const std::string& token) {
    const auto user = store_.users().AddUser({.username = "ada"}, Role::kEditor);
    ASSERT_TRUE(user.ok());
    ASSERT_TRUE(
        store_.access().PutSession({.token_hash = auth::HashToken(token), .user = user->id}).ok());
  }
  static Principal MakeUser(Role role, int32_t workspace) {
    Principal principal{.kind = PrincipalKind::kUser, .user = model::UserId(5)};
    if (role != Role::kNone) principal.roles = {{workspace, role}};
    return principal;
  }

  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  std::vector<const MethodDescriptor*> methods_;
  store::FakeStore store_;
  base::FakeClock clock_{absl::FromUnixSeconds(1'000'000)};
  auth::Authenticator authenticator_{&store_, &clock_, auth::AllocationTokens("secret")};
  FakeWorkspaceResolver resolver_;
  Authorizer authorizer_{
      &authenticator_, &resolver_, &clock_, {.requests_per_second = 1, .streams_per_user = 1}};
};

TEST_F(AuthorizerTest, FindsOptionAndFieldsOfEveryMethod) {
  for (const MethodDescriptor* method : methods_) {
    const auth::Requirement needs = auth::GetRequirement(method->full_name());
    EXPECT_FALSE(needs.is_denied) << method->full_name() << " lacks the option det.access";
    if (needs.field.empty()) {
      EXPECT_LE(needs.scope, Scope::kSelf) << method->full_name();
    } else {
      EXPECT_FALSE(GetFieldValues(*RequestIn(*method, kOwn), needs.field).empty())
          << method->full_name();
    }
  }
}

TEST_F(AuthorizerTest, AuthorizesEveryMethodByRoleAndWorkspace) {
  using enum Role;
  int decided = 0;
  for (const MethodDescriptor* method : methods_) {
    const auth::Requirement needs = auth::GetRequirement(method->full_name());
    if (needs.is_public || needs.kind != PrincipalKind::kUser) continue;
    const bool names = needs.scope >= Scope::kWorkspace || needs.second_scope >= Scope::kWorkspace;
    for (const Role role : {kNone, kViewer, kEditor, kWorkspaceAdmin, kClusterAdmin}) {
      for (const int32_t held : {0, kOwn}) {
        for (const int32_t workspace : {kOwn, kOther}) {
          const bool here = held == 0 || (held == workspace && role != kNone);
          absl::StatusCode expected = absl::StatusCode::kOk;
          if (needs.scope == Scope::kSelf) {
            // The caller is user 5, the resource itself.
          } else if (role < needs.role || (needs.scope == Scope::kCluster && held != 0)) {
            expected = absl::StatusCode::kPermissionDenied;
          } else if (names && !here) {
            expected = absl::StatusCode::kNotFound;
          }
          const absl::Status status =
              Authorize(*method, MakeUser(role, held), *RequestIn(*method, workspace));
          EXPECT_EQ(status.code(), expected)
              << method->full_name() << " by " << ToString(role) << " of workspace " << held
              << " on a resource in " << workspace << ": " << status;
          ++decided;
        }
      }
    }
    const absl::Status nobody = Authorize(*method, {}, *RequestIn(*method, kOwn));
    EXPECT_EQ(nobody.code(), absl::StatusCode::kUnauthenticated) << method->full_name();
  }
  EXPECT_GT(decided, 1500);
}

// Experiment 100 and trial 100 are in workspace 1.
TEST_F(AuthorizerTest, AllowsTaskItsOwnTrialAndCheckpointsOfItsWorkspace) {
  const Principal task{.kind = PrincipalKind::kAllocation,
                       .allocation = model::AllocationId("100.100.0")};
  int open = 0;
  for (const MethodDescriptor* method : methods_) {
    const auth::Requirement needs = auth::GetRequirement(method->full_name());
    const absl::Status here = Authorize(*method, task, *RequestIn(*method, kOwn));
    const absl::Status there = Authorize(*method, task, *RequestIn(*method, kOther));
    const bool may = needs.is_public || needs.own_task || needs.kind == PrincipalKind::kAllocation;
    EXPECT_EQ(here.ok(), may) << method->full_name() << ": " << here;
    if (!needs.own_task || needs.field.empty()) continue;
    EXPECT_TRUE(absl::IsPermissionDenied(there)) << method->full_name() << ": " << there;
    ++open;
  }
  EXPECT_EQ(open, 32);
}

TEST_F(AuthorizerTest, AllowsReportsOfUsersWhoMayChangeTheExperiment) {
  const auto* report = pool_.FindMethodByName("det.api.v1.TaskRuntimeService.ReportTrialMetrics");
  const auto decide = [&](Role role, int32_t workspace) {
    return Authorize(*report, MakeUser(role, workspace), *RequestIn(*report, kOwn)).code();
  };
  EXPECT_EQ(decide(Role::kEditor, kOwn), absl::StatusCode::kOk);
  EXPECT_EQ(decide(Role::kViewer, kOwn), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(decide(Role::kEditor, kOther), absl::StatusCode::kNotFound);
}

TEST_F(AuthorizerTest, NamesMissingRole_WhenCallerSeesResource) {
  const auto* kill = pool_.FindMethodByName("det.api.v1.ExperimentService.KillExperiment");
  Principal both = MakeUser(Role::kViewer, kOwn);
  both.roles.push_back({kOther, Role::kEditor});
  const absl::Status status = Authorize(*kill, both, *RequestIn(*kill, kOwn));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(),
            "det.api.v1.ExperimentService.KillExperiment needs the role Editor in workspace 1 "
            "(permission UPDATE_EXPERIMENT); ask one of its administrators");
  EXPECT_TRUE(Authorize(*kill, both, *RequestIn(*kill, kOther)).ok());
}

TEST_F(AuthorizerTest, ReturnsNotFound_WhenCallerDoesNotSeeResource) {
  const auto* get = pool_.FindMethodByName("det.api.v1.ExperimentService.GetExperiment");
  const auto ask = [&](int id) {
    std::unique_ptr<Message> request = Request(*get);
    Put("experiment_id", std::to_string(id), request.get());
    return Authorize(*get, MakeUser(Role::kWorkspaceAdmin, kOwn), *request);
  };
  EXPECT_EQ(ask(999), absl::NotFoundError("experiment 999 not found"));
  EXPECT_EQ(ask(201), absl::NotFoundError("experiment 201 not found"));
  EXPECT_TRUE(ask(101).ok());
}

TEST_F(AuthorizerTest, ChecksPermissionsOfRestrictedRoles) {
  const auto decide = [&](const char* method, model::RoleId role) {
    const auto* found = pool_.FindMethodByName(std::string("det.api.v1.") + method);
    const Principal user{
        .kind = PrincipalKind::kUser, .user = model::UserId(5), .roles = {{kOwn, role}}};
    return Authorize(*found, user, *RequestIn(*found, kOwn)).code();
  };
  using enum absl::StatusCode;
  EXPECT_EQ(decide("ModelService.GetModel", model::kModelRegistryViewer), kOk);
  EXPECT_EQ(decide("ModelService.ArchiveModel", model::kModelRegistryViewer), kPermissionDenied);
  EXPECT_EQ(decide("ExperimentService.GetExperiment", model::kModelRegistryViewer),
            kPermissionDenied);
  EXPECT_EQ(decide("ExperimentService.KillExperiment", model::kEditorRestricted), kOk);
  EXPECT_EQ(decide("CommandService.LaunchNotebook", model::kEditorRestricted), kPermissionDenied);
  EXPECT_EQ(decide("CommandService.LaunchNotebook", model::kEditorProjectRestricted), kOk);
  EXPECT_EQ(decide("ProjectService.PatchProject", model::kEditorProjectRestricted),
            kPermissionDenied);
  EXPECT_EQ(decide("WorkspaceService.PostWorkspace", model::kWorkspaceCreator), kOk);
  EXPECT_EQ(decide("WorkspaceService.PatchWorkspace", model::kWorkspaceCreator), kPermissionDenied);
}

TEST_F(AuthorizerTest, HidesResource_WhenAnotherRoleLacksThePermissionToRead) {
  const auto* get = pool_.FindMethodByName("det.api.v1.ExperimentService.GetExperiment");
  const Principal user{.kind = PrincipalKind::kUser,
                       .user = model::UserId(5),
                       .roles = {{kOwn, model::kModelRegistryViewer}, {kOther, Role::kViewer}}};
  EXPECT_EQ(Authorize(*get, user, *RequestIn(*get, kOwn)).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Authorize(*get, user, *RequestIn(*get, kOther)).ok());
}

TEST_F(AuthorizerTest, LetsOwnersDelete_WhenThereAreNoRoles) {
  const auto* remove = pool_.FindMethodByName("det.api.v1.ExperimentService.DeleteExperiment");
  const auto* move = pool_.FindMethodByName("det.api.v1.ExperimentService.MoveExperiment");
  const Principal user{.kind = PrincipalKind::kUser,
                       .user = model::UserId(5),
                       .roles = auth::MakeRolesForBasicMode({}),
                       .basic = true};
  const auto decide = [&](int id) {
    std::unique_ptr<Message> request = Request(*remove);
    Put("experiment_id", std::to_string(id), request.get());
    return Authorize(*remove, user, *request).code();
  };
  EXPECT_EQ(decide(101), absl::StatusCode::kOk);
  EXPECT_EQ(decide(102), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(decide(999), absl::StatusCode::kNotFound);
  std::unique_ptr<Message> request = Request(*move);
  Put("experiment_id", "102", request.get());
  EXPECT_TRUE(Authorize(*move, user, *request).ok()) << "moving loses nothing";
}

TEST_F(AuthorizerTest, DeniesRequest_WhenOneOfItsResourcesIsDenied) {
  const auto* remove = pool_.FindMethodByName("det.api.v1.CheckpointService.DeleteCheckpoints");
  std::unique_ptr<Message> request = Request(*remove);
  for (const int id : {101, 102, 201}) Put("checkpoint_uuids", std::to_string(id), request.get());
  EXPECT_EQ(Authorize(*remove, MakeUser(Role::kEditor, kOwn), *request),
            absl::NotFoundError("checkpoint 201 not found"));
  const auto* order = pool_.FindMethodByName("det.api.v1.JobService.UpdateJobQueue");
  request = Request(*order);
  Put("updates.job_id", std::to_string(101), request.get());
  EXPECT_TRUE(Authorize(*order, MakeUser(Role::kEditor, kOwn), *request).ok());
  Put("updates.job_id", std::to_string(201), request.get());
  EXPECT_TRUE(absl::IsNotFound(Authorize(*order, MakeUser(Role::kEditor, kOwn), *request)));
}

TEST_F(AuthorizerTest, ChecksSourceAndDestinationOfMove) {
  const auto* move = pool_.FindMethodByName("det.api.v1.ProjectService.MoveProject");
  std::unique_ptr<Message> request = Request(*move);
  Put("project_id", std::to_string(101), request.get());
  Put("destination_workspace_id", std::to_string(kOther), request.get());
  Principal admin = MakeUser(Role::kWorkspaceAdmin, kOwn);
  EXPECT_TRUE(absl::IsNotFound(Authorize(*move, admin, *request)));
  admin.roles.push_back({kOther, Role::kEditor});
  EXPECT_TRUE(absl::IsPermissionDenied(Authorize(*move, admin, *request)));
  admin.roles.push_back({kOther, Role::kWorkspaceAdmin});
  EXPECT_TRUE(Authorize(*move, admin, *request).ok());
}

TEST_F(AuthorizerTest, AllowsOnlyClusterAdminToChangeOtherUsers) {
  const auto* set = pool_.FindMethodByName("det.api.v1.UserService.SetUserPassword");
  std::unique_ptr<Message> request = Request(*set);
  Put("user_id", std::to_string(6), request.get());
  EXPECT_TRUE(absl::IsPermissionDenied(Authorize(*set, MakeUser(Role::kEditor, 0), *request)));
  EXPECT_TRUE(
      absl::IsPermissionDenied(Authorize(*set, MakeUser(Role::kClusterAdmin, 1), *request)));
  EXPECT_TRUE(Authorize(*set, MakeUser(Role::kClusterAdmin, 0), *request).ok());
}

TEST_F(AuthorizerTest, CachesWorkspaceOfResource) {
  const auto* get = pool_.FindMethodByName("det.api.v1.TrialService.GetTrial");
  const auto ask = [&] {
    return Authorize(*get, MakeUser(Role::kViewer, kOwn), *RequestIn(*get, kOwn)).ok();
  };
  EXPECT_TRUE(ask());
  EXPECT_TRUE(ask());
  EXPECT_EQ(resolver_.lookups, 1);
  clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(ask());
  EXPECT_EQ(resolver_.lookups, 2);
}

constexpr char kGetMe[] = "det.api.v1.AuthService.GetMe";
constexpr char kPostUser[] = "det.api.v1.UserService.PostUser";  // for administrators

TEST_F(AuthorizerTest, LimitsRateOfUsersOnly) {
  AddAda("user");
  ASSERT_TRUE(store_.access()
                  .PutSession({.token_hash = auth::HashToken("agent"),
                               .kind = store::SessionRecord::Kind::kAgent})
                  .ok());
  const Credentials user{.authorization = "Bearer user", .ticket = ""};
  EXPECT_TRUE(Authorize(kGetMe, user).status.ok());
  EXPECT_TRUE(Authorize(kGetMe, user).status.ok());
  const absl::Status refusal = Authorize(kGetMe, user).status;
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refusal.message(), "rate limit exceeded; retry in 1 s");
  EXPECT_EQ(refusal.GetPayload(kRetryAfter), absl::Cord("1"));
  clock_.Advance(absl::Seconds(1));
  const Authorization decision = Authorize(kGetMe, user);
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.caller.name, "ada");
  const std::string task =
      "Bearer " + authenticator_.allocation_tokens().Make(model::AllocationId("1.1.0"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(Authorize("det.agent.v1.AgentHub.Connect", {"Bearer agent", ""}).status.ok());
    EXPECT_TRUE(Authorize("det.trial.v1.TrialRuntime.ReportProgress", {task, ""}).status.ok());
  }
}

TEST_F(AuthorizerTest, CountsRefusedCalls) {
  AddAda("user");
  const auto by_header = [&] {
    return authorizer_.AuthorizeHeader(auth::GetRequirement(kPostUser), "Bearer user")
        .status.code();
  };
  const auto whole = [&] { return Authorize(kPostUser, {"Bearer user", ""}).status.code(); };
  EXPECT_EQ(by_header(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(whole(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(by_header(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(whole(), absl::StatusCode::kResourceExhausted);
}

TEST_F(AuthorizerTest, IdentifiesCallerOfRefusedCall) {
  AddAda("user");
  EXPECT_EQ(Authorize(kPostUser, {"Bearer user", ""}).caller.name, "ada");
  EXPECT_EQ(Authorize(kPostUser, {"Bearer other", ""}).caller, Principal{});
}

// The gateway's decision and the call are one decision: the token is counted once.
TEST_F(AuthorizerTest, DecidesAndCountsCallWithTicketOnce) {
  AddAda("user");
  const auth::Requirement method = auth::GetRequirement(kGetMe);
  for (int i = 0; i < 2; ++i) {
    const auto decision = authorizer_.AuthorizeHeader(method, "Bearer user");
    ASSERT_TRUE(decision.status.ok()) << decision.status;
    // The header is not read again.
    const Authorization call = Authorize(kGetMe, {"Bearer other", decision.ticket});
    EXPECT_TRUE(call.status.ok()) << call.status;
    EXPECT_EQ(call.caller.name, "ada");
  }
  EXPECT_EQ(authorizer_.AuthorizeHeader(method, "Bearer user").status.code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(AuthorizerTest, ChecksResourcesOfCallWithTicket) {
  AddAda("user");
  const auth::Requirement method =
      auth::GetRequirement("det.api.v1.ExperimentService.GetExperiment");
  const auto get = [&](int experiment) {
    v1::GetExperimentRequest request;
    request.set_experiment_id(experiment);
    const auto decision = authorizer_.AuthorizeHeader(method, "Bearer user");
    EXPECT_TRUE(decision.status.ok()) << decision.status;
    return authorizer_.Authorize(method, {"", decision.ticket}, request).status;
  };
  EXPECT_TRUE(get(101).ok());
  EXPECT_EQ(get(201), absl::NotFoundError("experiment 201 not found"));
}

TEST_F(AuthorizerTest, IgnoresInvalidTickets) {
  AddAda("user");
  const auth::Requirement method = auth::GetRequirement(kGetMe);
  const auto unauthenticated = [&](const std::string& called, const std::string& ticket) {
    return absl::IsUnauthenticated(Authorize(called, {"", ticket}).status);
  };
  EXPECT_TRUE(unauthenticated(kGetMe, "guessed"));
  const std::string once = authorizer_.AuthorizeHeader(method, "Bearer user").ticket;
  EXPECT_FALSE(unauthenticated(kGetMe, once));
  EXPECT_TRUE(unauthenticated(kGetMe, once)) << "a ticket is for one call";
  clock_.Advance(absl::Seconds(1));
  const std::string other = authorizer_.AuthorizeHeader(method, "Bearer user").ticket;
  EXPECT_TRUE(unauthenticated("det.api.v1.AgentService.GetAgents", other)) << "of another method";
  clock_.Advance(absl::Seconds(1));
  const std::string old = authorizer_.AuthorizeHeader(method, "Bearer user").ticket;
  clock_.Advance(Authorizer::kTicketLifetime);
  EXPECT_TRUE(unauthenticated(kGetMe, old)) << "expired";
  const std::string stale = authorizer_.AuthorizeHeader(method, "Bearer user").ticket;
  EXPECT_NE(stale, "");
  authenticator_.InvalidateUser(model::UserId(5));
  EXPECT_TRUE(unauthenticated(kGetMe, stale)) << "a user's roles may have changed";
  const std::string before = authorizer_.AuthorizeHeader(method, "Bearer user").ticket;
  authenticator_.InvalidateAll();
  EXPECT_TRUE(unauthenticated(kGetMe, before)) << "the roles of a group may have changed";
  EXPECT_EQ(authorizer_.AuthorizeHeader(auth::GetRequirement(kPostUser), "Bearer user").ticket, "")
      << "refused";
}

TEST_F(AuthorizerTest, LimitsOpenStreamsOfUser) {
  const Principal ada = MakeUser(Role::kViewer, kOwn);
  auto first = authorizer_.OpenStream(ada);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(authorizer_.OpenStream(ada).status().code(), absl::StatusCode::kResourceExhausted);
  const Principal task{.kind = PrincipalKind::kAllocation};
  EXPECT_TRUE(authorizer_.OpenStream(task).ok());
  first->reset();
  EXPECT_TRUE(authorizer_.OpenStream(ada).ok());
}

}  // namespace
}  // namespace det::api
