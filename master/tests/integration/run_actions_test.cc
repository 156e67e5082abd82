// What is done with many runs at once: each by itself, with its own result.
#include <map>
#include <string>
#include <vector>

#include "det/api/v1/run_action.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/cluster_client.h"

namespace det::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kRandom[] = R"(
name: road
entrypoint: "true"
searcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 10}}
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}
max_restarts: 0
)";
constexpr char kAll[] = R"({"filterGroup":{"kind":"group","conjunction":"and","children":[]}})";

class RunActionsRoadTest : public RoadTest {
 protected:
  // No agent: its runs wait. The numbers of its runs.
  std::vector<int> Make(const std::string& config = kConfig) {
    api::CreateExperimentResponse response;
    const grpc::Status status = Create(Request(config), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    last_ = response.experiment().id();
    const api::Experiment made = Get(last_);
    return {made.trial_ids().begin(), made.trial_ids().end()};
  }

  template <class Req, class Res>
  std::vector<std::string> Do(
      grpc::Status (api::RunActionService::Stub::*method)(grpc::ClientContext*, const Req&, Res*),
      const Req& request, const std::string& token = "user") {
    As context(token);
    Res response;
    status_ = (actions_.get()->*method)(&context, request, &response);
    std::vector<std::string> errors;
    ids_.clear();
    for (const api::RunActionResult& result : response.results()) {
      ids_.push_back(result.id());
      errors.push_back(result.error());
    }
    return errors;
  }
  template <class Req>
  static Req Of(const std::vector<int>& runs, int project = 1) {
    Req request;
    request.mutable_run_ids()->Assign(runs.begin(), runs.end());
    request.set_project_id(project);
    return request;
  }

  using Stub = api::RunActionService::Stub;
  std::unique_ptr<Stub> actions_ = api::RunActionService::NewStub(world_.channel());
  int last_ = 0;
  grpc::Status status_;
  std::vector<int> ids_;
};

TEST_F(RunActionsRoadTest, EachRunHasItsOwnResult) {
  const int first = Make()[0];
  const int second = Make()[0];
  const auto paused = Do(&Stub::PauseRuns, Of<api::PauseRunsRequest>({second, 99, first, second}));
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_THAT(ids_, testing::ElementsAre(second, 99, first)) << "each once, as they were named";
  EXPECT_THAT(paused[0], IsEmpty());
  EXPECT_THAT(paused[1], HasSubstr("99 does not exist"));
  EXPECT_THAT(paused[2], IsEmpty());
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_PAUSED);
  EXPECT_EQ(Get(2).state(), api::Experiment::STATE_PAUSED);
  world_.audit().Flush();
  std::map<std::string, std::string> audited;
  const auto records = world_.store().audit().ListAudit({});
  ASSERT_TRUE(records.ok()) << records.status();
  for (const auto& record : *records) {
    if (record.method.ends_with(".PauseRuns")) audited[record.target] = record.code;
  }
  EXPECT_EQ(audited["run 1"], "OK");
  EXPECT_EQ(audited["run 2"], "OK");
  EXPECT_EQ(audited["run 99"], "NOT_FOUND");
  EXPECT_THAT(Do(&Stub::ResumeRuns, Of<api::ResumeRunsRequest>({first}))[0], IsEmpty());
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
}

TEST_F(RunActionsRoadTest, FromEndToDeletion) {
  const int run = Make()[0];
  EXPECT_THAT(Do(&Stub::ArchiveRuns, Of<api::ArchiveRunsRequest>({run}))[0], HasSubstr("ACTIVE"));
  EXPECT_THAT(Do(&Stub::KillRuns, Of<api::KillRunsRequest>({run}, 0))[0], IsEmpty());
  EXPECT_EQ(Await(1).state(), api::Experiment::STATE_CANCELED);
  EXPECT_THAT(Do(&Stub::PauseRuns, Of<api::PauseRunsRequest>({run}))[0], HasSubstr("CANCELED"));
  EXPECT_THAT(Do(&Stub::ArchiveRuns, Of<api::ArchiveRunsRequest>({run}))[0], IsEmpty());
  EXPECT_TRUE(Get(1).archived());
  EXPECT_THAT(Do(&Stub::UnarchiveRuns, Of<api::UnarchiveRunsRequest>({run}))[0], IsEmpty());
  EXPECT_FALSE(Get(1).archived());
  EXPECT_THAT(Do(&Stub::DeleteRuns, Of<api::DeleteRunsRequest>({run}))[0], IsEmpty());
}

TEST_F(RunActionsRoadTest, OneOfASearchIsRefusedWhatIsItsExperiments) {
  const std::vector<int> runs = Make(kRandom);
  ASSERT_EQ(runs.size(), 2u);
  for (const std::string& error :
       {Do(&Stub::PauseRuns, Of<api::PauseRunsRequest>({runs[0]}))[0],
        Do(&Stub::DeleteRuns, Of<api::DeleteRunsRequest>({runs[0]}))[0],
        Do(&Stub::ArchiveRuns, Of<api::ArchiveRunsRequest>({runs[0]}))[0]}) {
    EXPECT_THAT(error, HasSubstr("search of experiment 1"));
  }
  api::MoveRunsRequest move;
  move.add_run_ids(runs[0]);
  EXPECT_THAT(Do(&Stub::MoveRuns, move), IsEmpty());
  EXPECT_THAT(status_.error_message(), HasSubstr("destination_project_id"));
  move.set_destination_project_id(1);
  EXPECT_THAT(Do(&Stub::MoveRuns, move)[0], HasSubstr("search of experiment 1"));
  EXPECT_THAT(Do(&Stub::KillRuns, Of<api::KillRunsRequest>({runs[0]}))[0], IsEmpty());
  EXPECT_EQ(GetTrial(runs[0]).state(), api::Trial::STATE_CANCELED);
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
}

TEST_F(RunActionsRoadTest, EachIsJudgedWhereItLies) {
  const int run = Make()[0];
  store::WorkspaceRecord record;
  record.name = "vision";
  const int there = world_.store().workspaces().AddWorkspace(record)->id;
  const auto user = world_.store().users().AddUser({.username = "ann"});
  ASSERT_TRUE(world_.store().access().AddRole({user->id, there, model::Role::kEditor}).ok());
  world_.Session("ann", store::SessionRecord::Kind::kUser, user->id);
  const auto hidden = Do(&Stub::KillRuns, Of<api::KillRunsRequest>({run}, 0), "ann");
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_THAT(hidden[0], HasSubstr("does not exist"));
  Do(&Stub::KillRuns, Of<api::KillRunsRequest>({run}), "ann");
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND) << "the project is not seen";
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
  const auto elsewhere = Do(&Stub::KillRuns, Of<api::KillRunsRequest>({run}, 7));
  EXPECT_THAT(elsewhere[0], HasSubstr("project 7 has no run"));
}

TEST_F(RunActionsRoadTest, AFilterFindsThem) {
  const int first = Make()[0];
  const int second = Make()[0];
  api::PauseRunsRequest request;
  request.set_filter(kAll);
  Do(&Stub::PauseRuns, request);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status_.error_message(), HasSubstr("project"));
  request.set_project_id(1);
  Do(&Stub::PauseRuns, request);
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_THAT(ids_, testing::UnorderedElementsAre(first, second));
  EXPECT_EQ(Get(2).state(), api::Experiment::STATE_PAUSED);
  request.set_filter("{");
  Do(&Stub::PauseRuns, request);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_filter("");
  EXPECT_THAT(Do(&Stub::PauseRuns, request), IsEmpty()) << "an empty filter finds nothing";
}

TEST_F(RunActionsRoadTest, TooManyAreRefusedAndNothingIsDone) {
  std::vector<int> runs = Make();
  for (int id = 2; id <= 1001; ++id) runs.push_back(id);
  Do(&Stub::PauseRuns, Of<api::PauseRunsRequest>(runs));
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status_.error_message(), HasSubstr("1000"));
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
}

}  // namespace
}  // namespace det::tests
