// Authorizer: every method of the API by every role, in a workspace of one's own and in another.
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
#include "det/api/v1/unserved.pb.h"
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

// What a method requires is read from the generated pool, which has only what is linked.
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
                    det::api::v1::UnservedRequest::descriptor(),
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

// Whatever is called 100 and something lies in workspace 1, 200 and something in 2.
class Map final : public WorkspaceResolver {
 public:
  absl::StatusOr<int32_t> WorkspaceOf(Scope where, const std::string& id) override {
    ++asked;
    if (where == Scope::kWorkspace) return id == "1" ? kOwn : kOther;
    if (id.empty() || id[0] == '9') return absl::NotFoundError("none");
    return id[0] - '0';
  }
  int asked = 0;
};

// Puts `id` where the path leads, into a new element of each list.
void Put(std::string_view path, int id, Message* message) {
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
    many ? r->AddInt32(message, field, id) : r->SetInt32(message, field, id);
  } else {
    ASSERT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_STRING) << field->full_name();
    const std::string text = std::to_string(id);
    many ? r->AddString(message, field, text) : r->SetString(message, field, text);
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
  // Names a thing in `workspace` by every field of the method's rule.
  std::unique_ptr<Message> RequestIn(const MethodDescriptor& method, int32_t workspace) {
    const auth::Requirement needs = auth::GetRequirement(method.full_name());
    std::unique_ptr<Message> request = Request(method);
    const auto id = [&](Scope where) {
      return where == Scope::kWorkspace ? workspace : where == Scope::kSelf ? 5 : 100 * workspace;
    };
    if (!needs.field.empty()) Put(needs.field, id(needs.scope), request.get());
    if (!needs.second_field.empty()) Put(needs.second_field, id(needs.second_scope), request.get());
    return request;
  }
  absl::Status Judge(const MethodDescriptor& method, const Principal& principal,
                     const Message& request) {
    const absl::Status status = auth::Authorize(method.full_name(), principal);
    return status.ok() ? authorizer_.JudgeNamed(method.full_name(), principal, request) : status;
  }
  static Principal Holds(Role role, int32_t workspace) {
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
  Map map_;
  Authorizer authorizer_{
      &authenticator_, &map_, &clock_, {.requests_per_second = 1, .streams_per_user = 1}};
};

TEST_F(AuthorizerTest, TheTableKnowsEveryMethodAndItsFields) {
  for (const MethodDescriptor* method : methods_) {
    const auth::Requirement needs = auth::GetRequirement(method->full_name());
    EXPECT_FALSE(needs.is_denied) << method->full_name() << " lacks the option det.access";
    if (needs.field.empty()) {
      EXPECT_LE(needs.scope, Scope::kSelf) << method->full_name();
    } else {
      EXPECT_FALSE(ValuesAt(*RequestIn(*method, kOwn), needs.field).empty()) << method->full_name();
    }
  }
}

TEST_F(AuthorizerTest, EveryMethodByEveryRoleHereAndElsewhere) {
  using enum Role;
  int judged = 0;
  for (const MethodDescriptor* method : methods_) {
    const auth::Requirement needs = auth::GetRequirement(method->full_name());
    if (needs.is_public || needs.kind != PrincipalKind::kUser) continue;
    const bool names = needs.scope >= Scope::kWorkspace || needs.second_scope >= Scope::kWorkspace;
    for (const Role role : {kNone, kViewer, kEditor, kWorkspaceAdmin, kClusterAdmin}) {
      for (const int32_t held : {0, kOwn}) {
        for (const int32_t lies : {kOwn, kOther}) {
          const bool here = held == 0 || (held == lies && role != kNone);
          absl::StatusCode expected = absl::StatusCode::kOk;
          if (needs.scope == Scope::kSelf) {
            // Its own: user 5 is who asks.
          } else if (role < needs.role || (needs.scope == Scope::kCluster && held != 0)) {
            expected = absl::StatusCode::kPermissionDenied;
          } else if (names && !here) {
            expected = absl::StatusCode::kNotFound;
          }
          const absl::Status status = Judge(*method, Holds(role, held), *RequestIn(*method, lies));
          EXPECT_EQ(status.code(), expected)
              << method->full_name() << " by " << ToString(role) << " of workspace " << held
              << " on what lies in " << lies << ": " << status;
          ++judged;
        }
      }
    }
    const absl::Status nobody = Judge(*method, {}, *RequestIn(*method, kOwn));
    EXPECT_EQ(nobody.code(), absl::StatusCode::kUnauthenticated) << method->full_name();
  }
  EXPECT_GT(judged, 1500);
}

// Experiment and trial are called 100: they lie in workspace 1.
TEST_F(AuthorizerTest, ATaskReadsItsOwnAndTheCheckpointsOfItsWorkspace) {
  const Principal task{.kind = PrincipalKind::kAllocation,
                       .allocation = model::AllocationId("100.100.0")};
  int open = 0;
  for (const MethodDescriptor* method : methods_) {
    const auth::Requirement needs = auth::GetRequirement(method->full_name());
    const absl::Status here = Judge(*method, task, *RequestIn(*method, kOwn));
    const absl::Status there = Judge(*method, task, *RequestIn(*method, kOther));
    const bool may = needs.is_public || needs.own_task || needs.kind == PrincipalKind::kAllocation;
    EXPECT_EQ(here.ok(), may) << method->full_name() << ": " << here;
    if (!needs.own_task || needs.field.empty()) continue;
    EXPECT_TRUE(absl::IsPermissionDenied(there)) << method->full_name() << ": " << there;
    ++open;
  }
  EXPECT_EQ(open, 6);
}

TEST_F(AuthorizerTest, WhatTasksTellIsNotForUsers) {
  const auto* report = pool_.FindMethodByName("det.api.v1.TaskRuntimeService.ReportTrialMetrics");
  Principal admin = Holds(Role::kClusterAdmin, 0);
  EXPECT_TRUE(absl::IsPermissionDenied(Judge(*report, admin, *Request(*report))));
}

TEST_F(AuthorizerTest, WhatIsSeenButNotChangedSaysWhichRoleIsMissing) {
  const auto* kill = pool_.FindMethodByName("det.api.v1.ExperimentService.KillExperiment");
  Principal both = Holds(Role::kViewer, kOwn);
  both.roles.push_back({kOther, Role::kEditor});
  const absl::Status status = Judge(*kill, both, *RequestIn(*kill, kOwn));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(),
            "det.api.v1.ExperimentService.KillExperiment needs the role Editor in workspace 1; ask "
            "one of its administrators");
  EXPECT_TRUE(Judge(*kill, both, *RequestIn(*kill, kOther)).ok());
}

TEST_F(AuthorizerTest, WhatMayNotBeSeenIsAsIfItWereNotThere) {
  const auto* get = pool_.FindMethodByName("det.api.v1.ExperimentService.GetExperiment");
  const auto ask = [&](int id) {
    std::unique_ptr<Message> request = Request(*get);
    Put("experiment_id", id, request.get());
    return Judge(*get, Holds(Role::kWorkspaceAdmin, kOwn), *request);
  };
  EXPECT_EQ(ask(999), absl::NotFoundError("experiment 999 does not exist"));
  EXPECT_EQ(ask(201), absl::NotFoundError("experiment 201 does not exist"));
  EXPECT_TRUE(ask(101).ok());
}

TEST_F(AuthorizerTest, OneOfManyThatMayNotBeChangedRefusesAll) {
  const auto* remove = pool_.FindMethodByName("det.api.v1.CheckpointService.DeleteCheckpoints");
  std::unique_ptr<Message> request = Request(*remove);
  for (const int id : {101, 102, 201}) Put("checkpoint_uuids", id, request.get());
  EXPECT_EQ(Judge(*remove, Holds(Role::kEditor, kOwn), *request),
            absl::NotFoundError("checkpoint 201 does not exist"));
  const auto* order = pool_.FindMethodByName("det.api.v1.JobService.UpdateJobQueue");
  request = Request(*order);
  Put("updates.job_id", 101, request.get());
  EXPECT_TRUE(Judge(*order, Holds(Role::kEditor, kOwn), *request).ok());
  Put("updates.job_id", 201, request.get());
  EXPECT_TRUE(absl::IsNotFound(Judge(*order, Holds(Role::kEditor, kOwn), *request)));
}

TEST_F(AuthorizerTest, BothPlacesOfAMoveCount) {
  const auto* move = pool_.FindMethodByName("det.api.v1.ProjectService.MoveProject");
  std::unique_ptr<Message> request = Request(*move);
  Put("project_id", 101, request.get());
  Put("destination_workspace_id", kOther, request.get());
  Principal admin = Holds(Role::kWorkspaceAdmin, kOwn);
  EXPECT_TRUE(absl::IsNotFound(Judge(*move, admin, *request)));
  admin.roles.push_back({kOther, Role::kEditor});
  EXPECT_TRUE(absl::IsPermissionDenied(Judge(*move, admin, *request)));
  admin.roles.push_back({kOther, Role::kWorkspaceAdmin});
  EXPECT_TRUE(Judge(*move, admin, *request).ok());
}

TEST_F(AuthorizerTest, OthersAreChangedByAdministratorsOfTheCluster) {
  const auto* set = pool_.FindMethodByName("det.api.v1.UserService.SetUserPassword");
  std::unique_ptr<Message> request = Request(*set);
  Put("user_id", 6, request.get());
  EXPECT_TRUE(absl::IsPermissionDenied(Judge(*set, Holds(Role::kEditor, 0), *request)));
  EXPECT_TRUE(absl::IsPermissionDenied(Judge(*set, Holds(Role::kClusterAdmin, 1), *request)));
  EXPECT_TRUE(Judge(*set, Holds(Role::kClusterAdmin, 0), *request).ok());
}

TEST_F(AuthorizerTest, AsksOnceForAWhile) {
  const auto* get = pool_.FindMethodByName("det.api.v1.TrialService.GetTrial");
  const auto ask = [&] {
    return Judge(*get, Holds(Role::kViewer, kOwn), *RequestIn(*get, kOwn)).ok();
  };
  EXPECT_TRUE(ask());
  EXPECT_TRUE(ask());
  EXPECT_EQ(map_.asked, 1);
  clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(ask());
  EXPECT_EQ(map_.asked, 2);
}

TEST_F(AuthorizerTest, LimitsUsersAndSaysWhenToComeBack) {
  const auto user = store_.users().AddUser({.username = "ada"}, Role::kEditor);
  ASSERT_TRUE(user.ok());
  for (const auto& [token, kind] : std::map<std::string, store::SessionRecord::Kind>{
           {"user", store::SessionRecord::Kind::kUser},
           {"agent", store::SessionRecord::Kind::kAgent}}) {
    ASSERT_TRUE(
        store_.access()
            .PutSession({.token_hash = auth::HashToken(token), .kind = kind, .user = user->id})
            .ok());
  }
  const auto* me = pool_.FindMethodByName("det.api.v1.AuthService.GetMe");
  const auto ask = [&] {
    return authorizer_.Admit(me->full_name(), "Bearer user", *Request(*me)).status();
  };
  EXPECT_TRUE(ask().ok());
  EXPECT_TRUE(ask().ok());
  const absl::Status refusal = ask();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refusal.GetPayload(kRetryAfter), absl::Cord("1"));
  clock_.Advance(absl::Seconds(1));
  const auto principal = authorizer_.Admit(me->full_name(), "Bearer user", *Request(*me));
  ASSERT_TRUE(principal.ok()) << principal.status();
  EXPECT_EQ(principal->name, "ada");
  const std::string task =
      "Bearer " + authenticator_.allocation_tokens().Make(model::AllocationId("1.1.0"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(
        authorizer_.Admit("det.agent.v1.AgentHub.Connect", "Bearer agent", *Request(*me)).ok());
    EXPECT_TRUE(
        authorizer_.Admit("det.trial.v1.TrialRuntime.ReportProgress", task, *Request(*me)).ok());
  }
}

TEST_F(AuthorizerTest, ACallThatIsRefusedCountsToo) {
  const auto user = store_.users().AddUser({.username = "ada"}, Role::kEditor);
  ASSERT_TRUE(user.ok());
  ASSERT_TRUE(
      store_.access().PutSession({.token_hash = auth::HashToken("user"), .user = user->id}).ok());
  // For administrators.
  const auto* all = pool_.FindMethodByName("det.api.v1.UserService.PostUser");
  const auto by_head = [&] {
    return authorizer_.AdmitHead(all->full_name(), "Bearer user").status().code();
  };
  const auto whole = [&] {
    return authorizer_.Admit(all->full_name(), "Bearer user", *Request(*all)).status().code();
  };
  EXPECT_EQ(by_head(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(whole(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(by_head(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(whole(), absl::StatusCode::kResourceExhausted);
}

TEST_F(AuthorizerTest, AStreamHasItsPlaceUntilItIsOver) {
  const Principal ada = Holds(Role::kViewer, kOwn);
  auto first = authorizer_.TakeStream(ada);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(authorizer_.TakeStream(ada).status().code(), absl::StatusCode::kResourceExhausted);
  const Principal task{.kind = PrincipalKind::kAllocation};
  EXPECT_TRUE(authorizer_.TakeStream(task).ok());
  first->reset();
  EXPECT_TRUE(authorizer_.TakeStream(ada).ok());
}

}  // namespace
}  // namespace det::api
