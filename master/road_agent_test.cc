// What agents tell the master and get from it.
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "master/auth/tokens.h"
#include "master/testing/road.h"

namespace det::master {
namespace {

TEST_F(RoadTest, AgentsAreRefusedWithoutTheirTokenAndReplacedByThemselves) {
  PlayedAgent stranger(world_, "a0", 1, "nonsense");
  EXPECT_EQ(stranger.End().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  PlayedAgent first(world_, "a1", 1);
  EXPECT_TRUE(first.Next().has_registered());
  PlayedAgent other(world_, "a1", 4);
  EXPECT_TRUE(other.Next().has_shutdown());
  PlayedAgent again(world_, "a1", 1);
  EXPECT_TRUE(again.Next().has_registered());
  EXPECT_EQ(first.End().error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(RoadTest, ALineThatIsNoTextHoldsUpNothing) {
  PlayedAgent agent(world_, "a1", 1);
  const std::string allocation = Run(agent);
  agent.Log(allocation, 1, std::string("bad \xff and \0", 11));
  agent.Log(allocation, 2, "next");
  const auto lines = *world_.store().ListLogs({.task = model::TaskId("1.1"), .sources = {""}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].line.text, "bad \xEF\xBF\xBD and \xEF\xBF\xBD");
  EXPECT_EQ(lines[1].line.text, "next");
}

TEST_F(RoadTest, AnAgentGetsTheContext) {
  auto request = Request();
  auto* file = request.add_model_definition();
  file->set_path("data.bin");
  file->set_type(48);
  std::string content(3 << 20, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761u >> 7);
  file->set_content(content);
  PlayedAgent agent(world_, "a1", 1);
  EXPECT_TRUE(agent.Next().has_registered());
  api::CreateExperimentResponse response;
  ASSERT_TRUE(Create(request, &response).ok());
  const std::string hash = agent.Next().start().task().context_hash();
  As context("agent");
  wire::GetContextRequest ask;
  ask.set_hash(hash);
  const auto stream = agent.stub().GetContext(&context, ask);
  wire::GetContextResponse chunk;
  std::string tgz;
  while (stream->Read(&chunk)) tgz += chunk.chunk();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(auth::Sha256Hex(tgz), hash);
}

TEST(PatienceTest, AnAgentThatStaysAwayLosesItsTasks) {
  World world(store::MakeFakeDatabase(), absl::ZeroDuration());
  const auto experiments = api::ExperimentService::NewStub(world.channel());
  auto agent = std::make_unique<PlayedAgent>(world, "a1", 1);
  EXPECT_TRUE(agent->Next().has_registered());
  As context("user");
  api::CreateExperimentRequest request;
  request.set_config(std::string(kConfig));
  request.set_activate(true);
  api::CreateExperimentResponse response;
  ASSERT_TRUE(experiments->CreateExperiment(&context, request, &response).ok());
  const std::string allocation = agent->Next().start().task().allocation_id();
  agent.reset();
  // The next run waits for an agent, which comes under another name.
  PlayedAgent second(world, "a2", 1);
  EXPECT_TRUE(second.Next().has_registered());
  const std::string next = second.Next().start().task().allocation_id();
  EXPECT_NE(next, "");
  EXPECT_NE(next, allocation);
}

}  // namespace
}  // namespace det::master
