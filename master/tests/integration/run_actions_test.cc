// Actions on many runs in one call, with one result for each.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "det/api/v1/run_action.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kRandom[] = R"(
name: experiment
entrypoint: "true"
searcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 10}}
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}
max_restarts: 0
)";
constexpr char kAll[] = R"({"filterGroup":{"kind":"group","conjunction":"and","children":[]}})";

class RunActionsTest : public MasterIntegrationTest {
 protected:
  // Creates an experiment, whose runs wait because there is no agent. Returns the IDs of its runs.
  std::vector<int> Make(const std::string& config = kConfig) {
    api::CreateExperimentResponse response;
    const grpc::Status status = Create(Request(config), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    last_ = response.experiment().id();
    const api::Experiment made = Get(last_);
    return {made.trial_ids().begin(), made.trial_ids().end()};
  }

  template <class Req, class Res>
  std::vector<std::string> Apply(
      grpc::Status (api::RunActionService::Stub::*method)(grpc::ClientContext*, const Req&, Res*),
      const Req& request, const std::string& token = "user") {
    CallContext context(token);
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
  static Req MakeRequest(const std::vector<int>& runs, int project = 1) {
    Req request;
    request.mutable_run_ids()->Assign(runs.begin(), runs.end());
    request.set_project_id(project);
    return request;
  }

  using Stub = api::RunActionService::Stub;
  std::unique_ptr<Stub> actions_ = api::RunActionService::NewStub(master_.channel());
  int last_ = 0;
  grpc::Status status_;
  std::vector<int> ids_;
};

TEST_F(RunActionsTest, ReturnsOneResultPerRun) {
  const int first = Make()[0];
  const int second = Make()[0];
  const auto paused =
      Apply(&Stub::PauseRuns, MakeRequest<api::PauseRunsRequest>({second, 99, first, second}));
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_THAT(ids_, testing::ElementsAre(second, 99, first)) << "each once, in the requested order";
  EXPECT_THAT(paused[0], IsEmpty());
  EXPECT_THAT(paused[1], HasSubstr("'99' not found"));
  EXPECT_THAT(paused[2], IsEmpty());
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_PAUSED);
  EXPECT_EQ(Get(2).state(), api::Experiment::STATE_PAUSED);
  master_.audit().Flush();
  std::map<std::string, std::string> audited;
  const auto records = master_.store().audit().ListAudit({});
  ASSERT_TRUE(records.ok()) << records.status();
  for (const auto& record : *records) {
    if (record.method.ends_with(".PauseRuns")) audited[record.target] = record.code;
  }
  EXPECT_EQ(audited["run 1"], "OK");
  EXPECT_EQ(audited["run 2"], "OK");
  EXPECT_EQ(audited["run 99"], "NOT_FOUND");
  EXPECT_THAT(Apply(&Stub::ResumeRuns, MakeRequest<api::ResumeRunsRequest>({first}))[0], IsEmpty());
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
}

TEST_F(RunActionsTest, ArchivesAndDeletesAfterTheEnd) {
  const int run = Make()[0];
  EXPECT_THAT(Apply(&Stub::ArchiveRuns, MakeRequest<api::ArchiveRunsRequest>({run}))[0],
              HasSubstr("ACTIVE"));
  EXPECT_THAT(Apply(&Stub::KillRuns, MakeRequest<api::KillRunsRequest>({run}, 0))[0], IsEmpty());
  EXPECT_EQ(Await(1).state(), api::Experiment::STATE_CANCELED);
  EXPECT_THAT(Apply(&Stub::PauseRuns, MakeRequest<api::PauseRunsRequest>({run}))[0],
              HasSubstr("CANCELED"));
  EXPECT_THAT(Apply(&Stub::ArchiveRuns, MakeRequest<api::ArchiveRunsRequest>({run}))[0], IsEmpty());
  EXPECT_TRUE(Get(1).archived());
  EXPECT_THAT(Apply(&Stub::UnarchiveRuns, MakeRequest<api::UnarchiveRunsRequest>({run}))[0],
              IsEmpty());
  EXPECT_FALSE(Get(1).archived());
  EXPECT_THAT(Apply(&Stub::DeleteRuns, MakeRequest<api::DeleteRunsRequest>({run}))[0], IsEmpty());
}

TEST_F(RunActionsTest, RejectsExperimentActionsForARunOfASearch) {
  const std::vector<int> runs = Make(kRandom);
  ASSERT_EQ(runs.size(), 2u);
  const std::string reason = absl::StrCat(" run '", runs[0], "' (part of multi-trial).");
  EXPECT_EQ(Apply(&Stub::PauseRuns, MakeRequest<api::PauseRunsRequest>({runs[0]}))[0],
            "Cannot pause/unpause" + reason);
  EXPECT_EQ(Apply(&Stub::ResumeRuns, MakeRequest<api::ResumeRunsRequest>({runs[0]}))[0],
            "Cannot pause/unpause" + reason);
  for (const std::string& error :
       {Apply(&Stub::DeleteRuns, MakeRequest<api::DeleteRunsRequest>({runs[0]}))[0],
        Apply(&Stub::ArchiveRuns, MakeRequest<api::ArchiveRunsRequest>({runs[0]}))[0]}) {
    EXPECT_THAT(error, HasSubstr(reason));
  }
  api::MoveRunsRequest move;
  move.add_run_ids(runs[0]);
  EXPECT_THAT(Apply(&Stub::MoveRuns, move), IsEmpty());
  EXPECT_THAT(status_.error_message(), HasSubstr("destination_project_id"));
  move.set_destination_project_id(1);
  EXPECT_EQ(Apply(&Stub::MoveRuns, move)[0], "Cannot move" + reason);
  move.set_skip_multitrial(true);
  EXPECT_EQ(Apply(&Stub::MoveRuns, move)[0], "Skipping" + reason);
  EXPECT_THAT(Apply(&Stub::KillRuns, MakeRequest<api::KillRunsRequest>({runs[0]}))[0], IsEmpty());
  EXPECT_EQ(GetTrial(runs[0]).state(), api::Trial::STATE_CANCELED);
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
}

TEST_F(RunActionsTest, AuthorizesEachInItsWorkspace) {
  const int run = Make()[0];
  store::WorkspaceRecord record;
  record.name = "vision";
  const int there = master_.store().workspaces().AddWorkspace(record)->id;
  const auto user = master_.store().users().AddUser({.username = "ann"});
  ASSERT_TRUE(master_.store().access().AddRole({user->id, there, model::Role::kEditor}).ok());
  master_.AddSession("ann", store::SessionRecord::Kind::kUser, user->id);
  const auto hidden = Apply(&Stub::KillRuns, MakeRequest<api::KillRunsRequest>({run}, 0), "ann");
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_THAT(hidden[0], HasSubstr("not found"));
  Apply(&Stub::KillRuns, MakeRequest<api::KillRunsRequest>({run}), "ann");
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND) << "ann cannot see the project";
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
  const auto elsewhere = Apply(&Stub::KillRuns, MakeRequest<api::KillRunsRequest>({run}, 7));
  EXPECT_THAT(elsewhere[0], HasSubstr("not found in project with id '7'"));
}

TEST_F(RunActionsTest, SelectsByAFilter) {
  const int first = Make()[0];
  const int second = Make()[0];
  api::PauseRunsRequest request;
  request.set_filter(kAll);
  Apply(&Stub::PauseRuns, request);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status_.error_message(), HasSubstr("project"));
  request.set_project_id(1);
  Apply(&Stub::PauseRuns, request);
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_THAT(ids_, testing::UnorderedElementsAre(first, second));
  EXPECT_EQ(Get(2).state(), api::Experiment::STATE_PAUSED);
  request.set_filter("{");
  Apply(&Stub::PauseRuns, request);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_filter("");
  EXPECT_THAT(Apply(&Stub::PauseRuns, request), IsEmpty()) << "an empty filter matches nothing";
}

TEST_F(RunActionsTest, RejectsTooManyWithoutAnyChange) {
  std::vector<int> runs = Make();
  for (int id = 2; id <= 1001; ++id) runs.push_back(id);
  Apply(&Stub::PauseRuns, MakeRequest<api::PauseRunsRequest>(runs));
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status_.error_message(), HasSubstr("1000"));
  EXPECT_EQ(Get(1).state(), api::Experiment::STATE_QUEUED);
}

}  // namespace
}  // namespace det::tests
