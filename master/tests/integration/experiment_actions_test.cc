// Actions on many experiments of a project in one call, with one result for each.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "det/api/v1/experiment_action.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ExperimentActionsTest : public MasterIntegrationTest {
 protected:
  using Service = api::ExperimentActionService;
  using Stub = Service::Stub;
  using Errors = std::map<int, std::string>;

  template <class Req, class Res>
  Errors Apply(grpc::Status (Stub::*method)(grpc::ClientContext*, const Req&, Res*),
               const Req& request, const std::string& token = "user") {
    CallContext context(token);
    Res response;
    status_ = (actions_.get()->*method)(&context, request, &response);
    Errors errors;
    ids_.clear();
    for (const api::ExperimentActionResult& result : response.results()) {
      ids_.push_back(result.id());
      errors[result.id()] = result.error();
    }
    return errors;
  }
  template <class Req>
  static Req MakeRequest(const std::vector<int>& ids, int project = 1) {
    Req request;
    request.mutable_experiment_ids()->Assign(ids.begin(), ids.end());
    request.set_project_id(project);
    return request;
  }

  std::unique_ptr<Stub> actions_ = Service::NewStub(master_.channel());
  grpc::Status status_;
  std::vector<int> ids_;
};

TEST_F(ExperimentActionsTest, ReturnsOneResultPerExperiment) {
  const int first = Create();
  const int second = Create();
  Errors errors = Apply(&Stub::PauseExperiments,
                        MakeRequest<api::PauseExperimentsRequest>({second, 99, first, second}));
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_THAT(ids_, ElementsAre(second, 99, first)) << "each once, in the requested order";
  EXPECT_THAT(errors[first], IsEmpty());
  EXPECT_THAT(errors[99], HasSubstr("99 not found"));
  EXPECT_EQ(Get(first).state(), api::Experiment::STATE_PAUSED);
  EXPECT_EQ(Get(second).state(), api::Experiment::STATE_PAUSED);
  master_.audit().Flush();
  std::map<std::string, std::string> audited;
  const auto records = master_.store().audit().ListAudit({});
  ASSERT_TRUE(records.ok()) << records.status();
  for (const auto& record : *records) {
    if (record.method.ends_with(".PauseExperiments")) audited[record.target] = record.code;
  }
  EXPECT_EQ(audited["experiment 1"], "OK");
  EXPECT_EQ(audited["experiment 99"], "NOT_FOUND");

  errors = Apply(&Stub::ActivateExperiments, MakeRequest<api::ActivateExperimentsRequest>({first}));
  EXPECT_THAT(errors[first], IsEmpty());
  EXPECT_EQ(Get(first).state(), api::Experiment::STATE_QUEUED);
  EXPECT_EQ(Get(second).state(), api::Experiment::STATE_PAUSED);
}

TEST_F(ExperimentActionsTest, ArchivesAndDeletesAfterTheEnd) {
  const int id = Create();
  const int other = Create();
  EXPECT_THAT(
      Apply(&Stub::ArchiveExperiments, MakeRequest<api::ArchiveExperimentsRequest>({id}))[id],
      HasSubstr("ACTIVE"));
  EXPECT_THAT(
      Apply(&Stub::CancelExperiments, MakeRequest<api::CancelExperimentsRequest>({other}))[other],
      IsEmpty());
  EXPECT_THAT(Apply(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({id}))[id],
              IsEmpty());
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_CANCELED);
  EXPECT_EQ(Await(other).state(), api::Experiment::STATE_CANCELED);
  EXPECT_THAT(Apply(&Stub::PauseExperiments, MakeRequest<api::PauseExperimentsRequest>({id}))[id],
              HasSubstr("CANCELED"));
  EXPECT_THAT(
      Apply(&Stub::ArchiveExperiments, MakeRequest<api::ArchiveExperimentsRequest>({id}))[id],
      IsEmpty());
  EXPECT_TRUE(Get(id).archived());
  EXPECT_THAT(
      Apply(&Stub::UnarchiveExperiments, MakeRequest<api::UnarchiveExperimentsRequest>({id}))[id],
      IsEmpty());
  EXPECT_FALSE(Get(id).archived());
  EXPECT_THAT(Apply(&Stub::DeleteExperiments, MakeRequest<api::DeleteExperimentsRequest>({id}))[id],
              IsEmpty());
}

TEST_F(ExperimentActionsTest, DeletesTensorboardFilesAfterTheEnd) {
  const int id = Create();
  api::DeleteTensorboardFilesRequest request;
  request.set_experiment_id(id);
  const auto remove = [&] {
    CallContext context("user");
    api::DeleteTensorboardFilesResponse response;
    return experiments_->DeleteTensorboardFiles(&context, request, &response).error_message();
  };
  EXPECT_THAT(remove(), HasSubstr("its trials write TensorBoard files; wait for its end"));
  EXPECT_THAT(Apply(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({id}))[id],
              IsEmpty());
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_CANCELED);
  // The storage of the experiment need not exist on this machine.
  EXPECT_THAT(remove(), Not(HasSubstr("wait for its end")));
}

TEST_F(ExperimentActionsTest, MovesExperimentsAndSetsLogRetention) {
  const int id = Create();
  auto keep = MakeRequest<api::PutExperimentsRetainLogsRequest>({id});
  keep.set_num_days(7);
  EXPECT_THAT(Apply(&Stub::PutExperimentsRetainLogs, keep)[id], IsEmpty());
  EXPECT_EQ(
      *master_.store().garbage_collection().GetTrialLogDays(model::TrialId(Get(id).trial_ids(0))),
      7);
  keep.set_num_days(40'000);
  EXPECT_THAT(Apply(&Stub::PutExperimentsRetainLogs, keep)[id], HasSubstr("num_days"));
  keep.set_num_days(-5);
  EXPECT_THAT(Apply(&Stub::PutExperimentsRetainLogs, keep)[id], HasSubstr("num_days"));
  const auto shown = [&] {
    return Get(id)
        .config()
        .fields()
        .at("retention_policy")
        .struct_value()
        .fields()
        .at("log_retention_days");
  };
  EXPECT_EQ(shown().number_value(), 7) << "what was refused changed nothing";
  keep.set_num_days(-1);
  EXPECT_THAT(Apply(&Stub::PutExperimentsRetainLogs, keep)[id], IsEmpty());
  EXPECT_EQ(shown().number_value(), -1);

  auto move = MakeRequest<api::MoveExperimentsRequest>({id});
  Apply(&Stub::MoveExperiments, move);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status_.error_message(), HasSubstr("destination_project_id"));
  store::ProjectRecord record;
  record.name = "other";
  record.workspace = 1;
  const int there = master_.store().projects().AddProject(record)->id;
  move.set_destination_project_id(there);
  EXPECT_THAT(Apply(&Stub::MoveExperiments, move)[id], IsEmpty());
  EXPECT_EQ(Get(id).project_id(), there);
  EXPECT_THAT(Apply(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({id}))[id],
              HasSubstr("project 1 has no experiment"));
}

TEST_F(ExperimentActionsTest, DoesNotMoveArchivedExperiments) {
  const int id = Create();
  Apply(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({id}));
  Await(id);
  Apply(&Stub::ArchiveExperiments, MakeRequest<api::ArchiveExperimentsRequest>({id}));
  store::ProjectRecord record;
  record.name = "other";
  record.workspace = 1;
  auto move = MakeRequest<api::MoveExperimentsRequest>({id});
  move.set_destination_project_id(master_.store().projects().AddProject(record)->id);
  EXPECT_THAT(Apply(&Stub::MoveExperiments, move)[id], HasSubstr("is archived"));
  EXPECT_EQ(Get(id).project_id(), 1);
  Apply(&Stub::UnarchiveExperiments, MakeRequest<api::UnarchiveExperimentsRequest>({id}));
  EXPECT_THAT(Apply(&Stub::MoveExperiments, move)[id], IsEmpty());
}

TEST_F(ExperimentActionsTest, AuthorizesEachInItsWorkspace) {
  const int id = Create();
  store::WorkspaceRecord record;
  record.name = "vision";
  const int there = master_.store().workspaces().AddWorkspace(record)->id;
  store::ProjectRecord project;
  project.name = "vision";
  project.workspace = there;
  const int project_id = master_.store().projects().AddProject(project)->id;
  const auto user = master_.store().users().AddUser({.username = "ann"});
  ASSERT_TRUE(master_.store().access().AddRole({user->id, there, model::Role::kEditor}).ok());
  master_.AddSession("ann", store::SessionRecord::Kind::kUser, user->id);
  EXPECT_THAT(Apply(&Stub::KillExperiments,
                    MakeRequest<api::KillExperimentsRequest>({id}, project_id), "ann")[id],
              HasSubstr("not found"));
  Apply(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({id}), "ann");
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND) << "ann cannot see the project";
  Apply(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({id}, 0));
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "project_id is required";
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_QUEUED);
}

TEST_F(ExperimentActionsTest, SelectsByFilters) {
  const int first = Create();
  const int second = Create();
  const int third = Create();
  ASSERT_TRUE(Kill(third).ok());
  Await(third);
  auto pause = MakeRequest<api::PauseExperimentsRequest>({99});
  pause.mutable_filters()->set_name("EXPER");
  pause.mutable_filters()->add_states(api::Experiment::STATE_ACTIVE);
  pause.mutable_filters()->add_excluded_experiment_ids(second);
  Apply(&Stub::PauseExperiments, pause);
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_THAT(ids_, ElementsAre(first)) << "experiment_ids are ignored with filters";
  EXPECT_EQ(Get(second).state(), api::Experiment::STATE_QUEUED);
  pause.mutable_filters()->set_name("of nobody");
  EXPECT_THAT(Apply(&Stub::PauseExperiments, pause), IsEmpty());
  pause.mutable_filters()->set_project_id(2);
  Apply(&Stub::PauseExperiments, pause);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ExperimentActionsTest, ActsOnExperimentsOfAnyProject) {
  const int id = Create();
  store::ProjectRecord record;
  record.name = "other";
  record.workspace = 1;
  auto move = MakeRequest<api::MoveExperimentsRequest>({id}, -1);
  move.set_destination_project_id(master_.store().projects().AddProject(record)->id);
  EXPECT_THAT(Apply(&Stub::MoveExperiments, move)[id], IsEmpty());
  EXPECT_THAT(
      Apply(&Stub::PauseExperiments, MakeRequest<api::PauseExperimentsRequest>({id}, -1))[id],
      IsEmpty());
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_PAUSED);
  auto activate = MakeRequest<api::ActivateExperimentsRequest>({}, -1);
  activate.mutable_filters()->set_name("exper");
  Apply(&Stub::ActivateExperiments, activate);
  EXPECT_THAT(ids_, ElementsAre(id));
  move.set_destination_project_id(99);
  Apply(&Stub::MoveExperiments, move);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND);
  const auto user = master_.store().users().AddUser({.username = "bob"});
  store::WorkspaceRecord workspace;
  workspace.name = "vision";
  const int vision = master_.store().workspaces().AddWorkspace(workspace)->id;
  ASSERT_TRUE(master_.store().access().AddRole({user->id, vision, model::Role::kEditor}).ok());
  master_.AddSession("bob", store::SessionRecord::Kind::kUser, user->id);
  auto kill = MakeRequest<api::KillExperimentsRequest>({}, -1);
  kill.mutable_filters();
  EXPECT_THAT(Apply(&Stub::KillExperiments, kill, "bob"), IsEmpty()) << "bob sees none";
  EXPECT_THAT(
      Apply(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({id}, -1), "bob")[id],
      testing::Not(IsEmpty()));
}

TEST_F(ExperimentActionsTest, SelectsByStateThatTheActionAppliesTo) {
  const int active = Create();
  const int paused = Create();
  const int ended = Create();
  Apply(&Stub::PauseExperiments, MakeRequest<api::PauseExperimentsRequest>({paused}));
  ASSERT_TRUE(Kill(ended).ok());
  Await(ended);
  const auto select = [this](auto method, auto request) {
    request.mutable_filters();
    EXPECT_THAT(Apply(method, request), testing::Each(testing::Pair(testing::_, IsEmpty())));
    return ids_;
  };
  EXPECT_THAT(select(&Stub::PauseExperiments, MakeRequest<api::PauseExperimentsRequest>({})),
              ElementsAre(active));
  EXPECT_THAT(select(&Stub::ActivateExperiments, MakeRequest<api::ActivateExperimentsRequest>({})),
              ElementsAre(active, paused));
  EXPECT_THAT(select(&Stub::ArchiveExperiments, MakeRequest<api::ArchiveExperimentsRequest>({})),
              ElementsAre(ended));
  EXPECT_THAT(select(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({})),
              ElementsAre(active, paused));
  EXPECT_THAT(Apply(&Stub::KillExperiments, MakeRequest<api::KillExperimentsRequest>({ended})),
              ElementsAre(testing::Pair(ended, "")))
      << "it has ended";
}

TEST_F(ExperimentActionsTest, RejectsTooManyWithoutAnyChange) {
  std::vector<int> ids = {Create()};
  for (int id = 2; id <= 1001; ++id) ids.push_back(id);
  Apply(&Stub::PauseExperiments, MakeRequest<api::PauseExperimentsRequest>(ids));
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status_.error_message(), HasSubstr("1001 experiments"));
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
}

}  // namespace
}  // namespace det::tests
