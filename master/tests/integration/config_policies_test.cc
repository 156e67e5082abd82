// Configuration policies in a whole master: enforced values and limits.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "det/api/v1/config_policy.grpc.pb.h"
#include "det/api/v1/job.grpc.pb.h"
#include "det/api/v1/search.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using ::testing::HasSubstr;
using enum grpc::StatusCode;

class ConfigPoliciesTest : public MasterIntegrationTest {
 protected:
  grpc::Status PutGlobal(const std::string& text, const std::string& workload = "EXPERIMENT",
                         const std::string& token = "user") {
    CallContext context(token);
    api::PutGlobalConfigPoliciesRequest request;
    request.set_workload_type(workload);
    request.set_config_policies(text);
    api::PutGlobalConfigPoliciesResponse response;
    return policies_->PutGlobalConfigPolicies(&context, request, &response);
  }
  grpc::Status PutOwn(const std::string& text, int workspace = 1) {
    CallContext context("user");
    api::PutWorkspaceConfigPoliciesRequest request;
    request.set_workspace_id(workspace);
    request.set_workload_type("EXPERIMENT");
    request.set_config_policies(text);
    api::PutWorkspaceConfigPoliciesResponse response;
    return policies_->PutWorkspaceConfigPolicies(&context, request, &response);
  }
  grpc::Status CreateWith(const std::string& more, api::CreateExperimentResponse* response,
                          bool validate_only = false) {
    api::CreateExperimentRequest request = Request(kConfig + more);
    request.set_validate_only(validate_only);
    return Create(request, response);
  }
  std::string Refusal(const std::string& more) {
    api::CreateExperimentResponse response;
    const grpc::Status status = CreateWith(more, &response, /*validate_only=*/true);
    EXPECT_EQ(status.error_code(), PERMISSION_DENIED) << status.error_message();
    return status.error_message();
  }
  static std::string Field(const google::protobuf::Struct& config, const std::string& outer,
                           const std::string& inner) {
    const auto& fields = config.fields().at(outer).struct_value().fields();
    return fields.at(inner).ShortDebugString();
  }

  // Creates a project in a new workspace.
  store::ProjectRecord MakeProject(const std::string& name) {
    store::WorkspaceRecord workspace;
    workspace.name = name;
    workspace.owner = model::UserId(1);
    store::ProjectRecord project;
    project.name = name;
    project.owner = workspace.owner;
    project.workspace = master_.store().workspaces().AddWorkspace(workspace)->id;
    return *master_.store().projects().AddProject(project);
  }
  // Adds a user with the token "ann".
  void AddAnn(const std::vector<std::pair<int32_t, model::Role>>& roles) {
    store::UserRecord ann;
    ann.username.append("ann");
    const model::UserId id = master_.store().users().AddUser(ann)->id;
    for (const auto& [workspace, role] : roles) {
      ASSERT_TRUE(master_.store().access().AddRole({id, workspace, role}).ok());
    }
    master_.AddSession("ann", store::SessionRecord::Kind::kUser, id);
  }

  std::unique_ptr<api::ConfigPolicyService::Stub> policies_ =
      api::ConfigPolicyService::NewStub(master_.channel());
};

TEST_F(ConfigPoliciesTest, StoresAndShowsPolicies) {
  CallContext context("user");
  api::GetGlobalConfigPoliciesRequest request;
  request.set_workload_type("experiment");
  api::GetGlobalConfigPoliciesResponse response;
  ASSERT_TRUE(policies_->GetGlobalConfigPolicies(&context, request, &response).ok());
  EXPECT_TRUE(response.config_policies().fields().empty());
  ASSERT_TRUE(PutGlobal("constraints: {priority_limit: 40}\n").ok());
  CallContext again("user");
  ASSERT_TRUE(policies_->GetGlobalConfigPolicies(&again, request, &response).ok());
  EXPECT_EQ(Field(response.config_policies(), "constraints", "priority_limit"), "number_value: 40");
  CallContext last("user");
  api::DeleteGlobalConfigPoliciesRequest delete_request;
  delete_request.set_workload_type("EXPERIMENT");
  api::DeleteGlobalConfigPoliciesResponse none;
  EXPECT_TRUE(policies_->DeleteGlobalConfigPolicies(&last, delete_request, &none).ok());
  api::CreateExperimentResponse made;
  EXPECT_TRUE(CreateWith("resources: {priority: 1}", &made, true).ok());
}

TEST_F(ConfigPoliciesTest, ReportsInvalidFields) {
  const auto refusal = [&](const std::string& text) { return PutGlobal(text).error_message(); };
  EXPECT_THAT(refusal("a: 1"), HasSubstr("policy:1: a: unknown field; expected one of"));
  EXPECT_THAT(refusal("constraints:\n  priority_limit: 100"),
              HasSubstr("policy:2: constraints.priority_limit: expected an integer from 1 to 99"));
  EXPECT_THAT(refusal("constraints: {resources: {max_slots: many}}"),
              HasSubstr("constraints.resources.max_slots: expected an integer"));
  EXPECT_THAT(refusal("invariant_config: {max_restarts: often}"), HasSubstr("max_restarts"));
  EXPECT_THAT(refusal("invariant_config: {workspace: mine}"), HasSubstr("remove it"));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected a map"));
  EXPECT_THAT(PutGlobal("{}", "SHELL").error_message(), HasSubstr("expected EXPERIMENT or NTSC"));
  EXPECT_TRUE(PutGlobal("constraints: {priority_limit: 9}", "NTSC").ok());
  EXPECT_THAT(PutGlobal("invariant_config: {anything: 1}", "NTSC").error_message(),
              HasSubstr("only supported for experiments"));
  EXPECT_EQ(PutOwn("{}", 99).error_code(), NOT_FOUND);
  EXPECT_EQ(PutOwn("{}", 0).error_code(), NOT_FOUND);
}

TEST_F(ConfigPoliciesTest, ClusterOverridesWorkspaceAndBothOverrideTheUser) {
  ASSERT_TRUE(
      PutOwn("invariant_config: {max_restarts: 3, resources: {weight: 2, priority: 60}}").ok());
  ASSERT_TRUE(PutGlobal("invariant_config: {resources: {weight: 5}}").ok());
  api::CreateExperimentResponse response;
  const grpc::Status status =
      CreateWith("resources: {weight: 9, priority: 70, slots_per_trial: 2}", &response, true);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Field(response.config(), "resources", "weight"), "number_value: 5");
  EXPECT_EQ(Field(response.config(), "resources", "priority"), "number_value: 60");
  EXPECT_EQ(Field(response.config(), "resources", "slots_per_trial"), "number_value: 2");
  EXPECT_EQ(response.config().fields().at("max_restarts").number_value(), 3);
}

TEST_F(ConfigPoliciesTest, LimitErrorsNameThePolicy) {
  ASSERT_TRUE(PutOwn("constraints: {resources: {max_slots: 4}, priority_limit: 40}").ok());
  EXPECT_THAT(Refusal("resources: {slots_per_trial: 5}"),
              HasSubstr("resources.slots_per_trial: 5 is more than the 4 slots that the policy of "
                        "workspace Uncategorized allows"));
  EXPECT_THAT(Refusal("resources: {max_slots: 8}"), HasSubstr("resources.max_slots: 8"));
  EXPECT_THAT(Refusal("resources: {priority: 39}"), HasSubstr("is ahead of 40"));
  ASSERT_TRUE(PutGlobal("constraints: {resources: {max_slots: 2}}").ok());
  EXPECT_THAT(Refusal("resources: {slots_per_trial: 3}"), HasSubstr("the policy of the cluster"));
  EXPECT_THAT(Refusal("resources: {priority: 39}"), HasSubstr("workspace Uncategorized"));
  api::CreateExperimentResponse response;
  ASSERT_TRUE(CreateWith("resources: {priority: 40}", &response, true).ok());
  EXPECT_EQ(Field(response.config(), "resources", "max_slots"), "number_value: 2");
}

TEST_F(ConfigPoliciesTest, RejectsQueueUpdatesThatViolateAPolicy) {
  api::CreateExperimentResponse made;
  ASSERT_TRUE(CreateWith("resources: {priority: 60}", &made).ok());
  const auto patch = [&](auto set) {
    CallContext context("user");
    api::PatchExperimentRequest request;
    request.mutable_experiment()->set_id(made.experiment().id());
    set(*request.mutable_experiment()->mutable_resources());
    api::PatchExperimentResponse response;
    return experiments_->PatchExperiment(&context, request, &response);
  };
  ASSERT_TRUE(PutGlobal("invariant_config: {resources: {priority: 60}}\n"
                        "constraints: {resources: {max_slots: 2}}\n")
                  .ok());
  EXPECT_THAT(patch([](auto& r) { r.set_priority(61); }).error_message(), HasSubstr("sets 60"));
  EXPECT_TRUE(patch([](auto& r) { r.set_priority(60); }).ok());
  EXPECT_EQ(patch([](auto& r) { r.set_max_slots(9); }).error_code(), PERMISSION_DENIED);
  EXPECT_THAT(patch([](auto& r) { r.set_max_slots(0); }).error_message(),
              HasSubstr("0 (no limit)"));
  EXPECT_TRUE(patch([](auto& r) { r.set_max_slots(1); }).ok());
}

TEST_F(ConfigPoliciesTest, LimitsTheSizeOfAConfiguration) {
  const std::string much(3 << 20, 'x');
  api::CreateExperimentResponse response;
  const grpc::Status given = CreateWith("data: {much: " + much + "}\n", &response);
  EXPECT_EQ(given.error_code(), INVALID_ARGUMENT);
  EXPECT_THAT(given.error_message(), HasSubstr("exceed the maximum of 2097152"));
  // YAML aliases make a small request large when it is stored.
  std::string lines = "data:\n  a: &a " + much.substr(0, 1 << 20) + "\n";
  for (const char* name : {"b", "c", "d", "e"}) lines += std::string("  ") + name + ": *a\n";
  const grpc::Status whole = CreateWith(lines, &response);
  EXPECT_EQ(whole.error_code(), INVALID_ARGUMENT) << whole.error_message();
}

TEST_F(ConfigPoliciesTest, DoesNotMoveAJobBeyondThePriorityLimit) {
  std::vector<std::string> jobs;
  for (int i = 0; i < 3; ++i) {
    api::CreateExperimentResponse made;
    ASSERT_TRUE(CreateWith("resources: {priority: 30}", &made).ok());
    jobs.push_back(made.experiment().job_id());
  }
  const auto service = api::JobService::NewStub(master_.channel());
  const auto move = [&](const std::string& job, auto set) {
    CallContext context("user");
    api::UpdateJobQueueRequest request;
    request.add_updates()->set_job_id(job);
    set(*request.mutable_updates(0));
    api::UpdateJobQueueResponse response;
    return service->UpdateJobQueue(&context, request, &response);
  };
  const auto ahead = [&](auto& to) { to.set_ahead_of(jobs[0]); };
  const auto behind = [&](auto& to) { to.set_behind_of(jobs[0]); };
  EXPECT_TRUE(move(jobs[2], ahead).ok());
  ASSERT_TRUE(PutGlobal("constraints: {priority_limit: 40}\n").ok());
  EXPECT_EQ(move(jobs[1], ahead).error_code(), PERMISSION_DENIED);
  EXPECT_THAT(
      move(jobs[1], behind).error_message(),
      HasSubstr("behind_of: priority: 30 is ahead of 40, the highest priority that the policy of"));
  ASSERT_TRUE(PutGlobal("constraints: {priority_limit: 30}\n").ok());
  EXPECT_TRUE(move(jobs[1], ahead).ok());
}

// Users cannot use secrets that they cannot read.
TEST_F(ConfigPoliciesTest, ViewerCannotForkSecretsOfTheParent) {
  const store::ProjectRecord theirs = MakeProject("theirs");
  const store::ProjectRecord own = MakeProject("own");
  const auto make = [&](const std::string& more) {
    api::CreateExperimentRequest request = Request(kConfig + more);
    request.set_project_id(theirs.id);
    api::CreateExperimentResponse made;
    const grpc::Status status = Create(request, &made);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return made.experiment().id();
  };
  const int secret = make("data: {secrets: {key: hush}}\n");
  const int plain = make("data: {key: known}\n");
  AddAnn({{theirs.workspace, model::Role::kViewer}, {own.workspace, model::Role::kEditor}});
  const auto fork = [&](int parent, const std::string& text) {
    CallContext context("ann");
    api::CreateExperimentRequest request;
    request.set_parent_id(parent);
    request.set_project_id(own.id);
    request.set_config(text);
    request.set_validate_only(true);
    api::CreateExperimentResponse response;
    return experiments_->CreateExperiment(&context, request, &response);
  };
  const grpc::Status refused = fork(secret, "");
  EXPECT_EQ(refused.error_code(), PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("contains secrets"));
  EXPECT_TRUE(fork(secret, kConfig).ok()) << "a fork with the user's own configuration";
  EXPECT_TRUE(fork(plain, "").ok()) << fork(plain, "").error_message();
}

TEST_F(ConfigPoliciesTest, AppliesPoliciesToUpdatesForksAndContinuations) {
  api::CreateExperimentResponse made;
  ASSERT_TRUE(CreateWith("resources: {priority: 30, slots_per_trial: 3}", &made).ok());
  const int id = made.experiment().id();
  ASSERT_TRUE(PutGlobal("constraints: {resources: {max_slots: 2}, priority_limit: 20}").ok());

  const auto patch = [&](int priority) {
    CallContext context("user");
    api::PatchExperimentRequest request;
    request.mutable_experiment()->set_id(id);
    request.mutable_experiment()->mutable_resources()->set_priority(priority);
    api::PatchExperimentResponse response;
    return experiments_->PatchExperiment(&context, request, &response);
  };
  EXPECT_EQ(patch(19).error_code(), PERMISSION_DENIED);
  EXPECT_TRUE(patch(20).ok());
  const auto jobs = api::JobService::NewStub(master_.channel());
  const auto update = [&](int priority) {
    CallContext context("user");
    api::UpdateJobQueueRequest request;
    request.add_updates()->set_job_id(Get(id).job_id());
    request.mutable_updates(0)->set_priority(priority);
    api::UpdateJobQueueResponse response;
    return jobs->UpdateJobQueue(&context, request, &response);
  };
  EXPECT_THAT(update(1).error_message(), HasSubstr("the policy of the cluster"));
  EXPECT_TRUE(update(25).ok());

  api::CreateExperimentRequest fork;
  fork.set_parent_id(id);
  api::CreateExperimentResponse response;
  EXPECT_EQ(Create(fork, &response).error_code(), PERMISSION_DENIED);
  ASSERT_TRUE(Kill(id).ok());
  Await(id);
  CallContext context("user");
  api::ContinueExperimentRequest again;
  again.set_id(id);
  api::ContinueExperimentResponse continued;
  EXPECT_THAT(experiments_->ContinueExperiment(&context, again, &continued).error_message(),
              HasSubstr("resources.slots_per_trial: 3"));
  CallContext preview("user");
  api::PreviewHPSearchRequest search;
  search.set_yaml(std::string(kConfig) + "resources: {slots_per_trial: 3}");
  api::PreviewHPSearchResponse summary;
  EXPECT_EQ(api::SearchService::NewStub(master_.channel())
                ->PreviewHPSearch(&preview, search, &summary)
                .error_code(),
            PERMISSION_DENIED);
}

TEST_F(ConfigPoliciesTest, RejectsRetentionThatPolicySets) {
  api::CreateExperimentResponse made;
  ASSERT_TRUE(CreateWith("", &made).ok());
  ASSERT_TRUE(PutGlobal("invariant_config: {checkpoint_storage: {save_trial_best: 2}}").ok());
  const auto patch = [&](int trial_best, int trial_latest) {
    CallContext context("user");
    api::PatchExperimentRequest request;
    request.mutable_experiment()->set_id(made.experiment().id());
    auto* storage = request.mutable_experiment()->mutable_checkpoint_storage();
    storage->set_save_trial_best(trial_best);
    storage->set_save_trial_latest(trial_latest);
    api::PatchExperimentResponse response;
    return experiments_->PatchExperiment(&context, request, &response);
  };
  const grpc::Status refused = patch(3, 1);
  EXPECT_EQ(refused.error_code(), PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("save_trial_best"));
  EXPECT_TRUE(patch(2, 4).ok());
}

}  // namespace
}  // namespace det::tests
