// Log policies in a whole master.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

class LogsTest : public MasterIntegrationTest {
 protected:
  // Starts an experiment with this log policy, whose trial may restart. Returns its first
  // allocation.
  std::string RunWith(FakeAgent& agent, const std::string& policy, int* experiment) {
    EXPECT_TRUE(agent.Next().has_registered());
    api::CreateExperimentResponse response;
    const grpc::Status created = Create(Request(absl::StrCat(R"(
name: logs
entrypoint: "true"
searcher: {name: single, metric: loss, max_length: {batches: 10}}
max_restarts: 3
log_policies: [)",
                                                             policy, "]\n")),
                                        &response);
    EXPECT_TRUE(created.ok()) << created.error_message();
    *experiment = response.experiment().id();
    const std::string allocation = agent.Next().start().task().allocation_id();
    agent.Started(allocation);
    agent.AwaitAck();
    return allocation;
  }
};

TEST_F(LogsTest, AppliesALogPolicyBeforeTheExitThatFollows) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation =
      RunWith(agent, "{name: nan, pattern: 'loss is nan', action: cancel_retries}", &id);
  agent.Log(allocation, 1, "step 1: loss is 3");
  agent.Log(allocation, 2, "step 2: loss is nan");
  agent.Exited(allocation, 1);
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_ERROR) << "the trial did not restart";
}

TEST_F(LogsTest, ShowsTheLogPolicyThatMatched) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = RunWith(agent, "{name: slow, pattern: 'step .* took'}", &id);
  EXPECT_FALSE(GetTrial(Get(id).trial_ids(0)).has_log_policy_matched());
  agent.Log(allocation, 1, "step 1 took 9 s");
  agent.Exited(allocation, 0);
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_COMPLETED);
  EXPECT_EQ(GetTrial(Get(id).trial_ids(0)).log_policy_matched(), "slow");
}

TEST_F(LogsTest, SelectsLinesWithoutRankAndKeepsNulBytes) {
  const int trial = Get(Create()).trial_ids(0);
  std::vector<model::LogLine> lines(2);
  for (model::LogLine& line : lines) line.task = model::TaskId(GetTrial(trial).task_id());
  lines[0].rank = 1;
  lines[0].text = "ranked";
  lines[1].text = std::string("nul \0 byte", 10);
  ASSERT_TRUE(master_.store().AddLogLines(lines).ok());
  const auto read = [&](int rank, int limit) {
    CallContext context("user");
    api::TrialLogsRequest request;
    request.set_trial_id(trial);
    request.add_rank_ids(rank);
    request.set_limit(limit);
    const auto stream = trials_->TrialLogs(&context, request);
    std::vector<std::string> texts;
    api::TrialLogsResponse line;
    while (stream->Read(&line)) texts.push_back(line.log());
    EXPECT_TRUE(stream->Finish().ok());
    return texts;
  };
  EXPECT_EQ(read(-1, 0), std::vector<std::string>{lines[1].text});
  EXPECT_EQ(read(1, 0), std::vector<std::string>{"ranked"});
  EXPECT_TRUE(read(-2, 0).empty());
  EXPECT_TRUE(read(-1, -1).empty()) << "a negative limit selects no lines";
}

TEST_F(LogsTest, RestartsWithoutAMatchingLine) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation =
      RunWith(agent, "{name: nan, pattern: 'loss is nan', action: cancel_retries}", &id);
  agent.Log(allocation, 1, "step 1: loss is 3");
  agent.Exited(allocation, 1);
  const std::string again = agent.Next().start().task().allocation_id();
  EXPECT_NE(again, allocation);
  // Matches in the log of the first attempt do not affect the second one.
  agent.Started(again);
  agent.AwaitAck();
  agent.Log(again, 1, "loss is nan");
  agent.Exited(again, 1);
  EXPECT_EQ(Await(id).state(), api::Experiment::STATE_ERROR);
}

TEST_F(LogsTest, DoesNotUseAnExcludedAgent) {
  auto first = std::make_unique<FakeAgent>(master_, "a1", 1);
  int id = 0;
  const std::string allocation =
      RunWith(*first, "{name: ecc, pattern: 'ECC', action: exclude_node}", &id);
  FakeAgent second(master_, "a2", 1);
  EXPECT_TRUE(second.Next().has_registered());
  first->Log(allocation, 1, "ECC");
  first->Exited(allocation, 1);
  EXPECT_NE(second.Next().start().task().allocation_id(), allocation);
  EXPECT_TRUE(Kill(id).ok());
}

}  // namespace
}  // namespace det::tests
