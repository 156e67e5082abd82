// The protocol between agents and the master.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "det/api/v1/agent.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/agents/certificate_required.h"
#include "master/auth/tokens.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

TEST_F(MasterIntegrationTest, RejectsAgentsWithoutTokenAndAllowsReconnection) {
  FakeAgent stranger(master_, "a0", 1, "nonsense");
  EXPECT_EQ(stranger.End().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  FakeAgent first(master_, "a1", 1);
  EXPECT_TRUE(first.Next().has_registered());
  FakeAgent again(master_, "a1", 1);
  EXPECT_TRUE(again.Next().has_registered());
  EXPECT_EQ(first.End().error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(MasterIntegrationTest, AgentTokensCallOnlyTheAgentProtocol) {
  using enum grpc::StatusCode;
  const std::string task = master_.MakeTaskToken("1.1.1");
  for (const auto& [token, code] : std::vector<std::pair<std::string, grpc::StatusCode>>{
           {"user", PERMISSION_DENIED}, {task, PERMISSION_DENIED}, {"none", UNAUTHENTICATED}}) {
    FakeAgent other(master_, "a1", 1, token);
    EXPECT_EQ(other.End().error_code(), code) << token;
    CallContext context(token);
    wire::PostLogsResponse response;
    EXPECT_EQ(other.stub().PostLogs(&context, {}, &response).error_code(), code) << token;
    CallContext again(token);
    wire::GetContextResponse chunk;
    EXPECT_EQ(other.stub().GetContext(&again, {})->Finish().error_code(), code) << token;
    CallContext tunnel(token);
    EXPECT_EQ(other.stub().Tunnel(&tunnel)->Finish().error_code(), code) << token;
  }
  CallContext context("agent");
  api::GetAgentsResponse response;
  const grpc::Status refused =
      api::AgentService::NewStub(master_.channel())->GetAgents(&context, {}, &response);
  EXPECT_EQ(refused.error_code(), PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("is for a user, but this token belongs to an agent"),
            std::string::npos)
      << refused.error_message();
}

TEST(CertificateRequiredTest, RejectsEveryAgentWithInstructions) {
  const auto service = agents::MakeCertificateRequiredService();
  grpc::ServerBuilder builder;
  builder.RegisterService(service.get());
  const auto server = builder.BuildAndStart();
  const auto stub = wire::AgentHub::NewStub(server->InProcessChannel({}));
  const auto expect = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_NE(status.error_message().find("--tls-cert and --tls-key"), std::string::npos);
  };
  CallContext connect("agent");
  expect(stub->Connect(&connect)->Finish());
  CallContext post("agent");
  wire::PostLogsResponse response;
  expect(stub->PostLogs(&post, {}, &response));
  CallContext get("agent");
  expect(stub->GetContext(&get, {})->Finish());
  CallContext tunnel("agent");
  expect(stub->Tunnel(&tunnel)->Finish());
}

TEST_F(MasterIntegrationTest, RejectsADuplicateAgentId_WhileTheFirstIsConnected) {
  auto first = std::make_unique<FakeAgent>(master_, "a1", 1);
  const std::string allocation = Run(*first);
  FakeAgent other(master_, "a1", 1, "agent", "two");
  const grpc::Status refused = other.End();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_NE(refused.error_message().find("agent id a1 is in use"), std::string::npos)
      << refused.error_message();
  // The first agent is not affected.
  first->Started(allocation);
  first->AwaitAck();
  // After it disconnects, another agent may use its ID. The agent cannot know when the master
  // notices the disconnection.
  first.reset();
  bool registered = false;
  while (!registered) {
    FakeAgent successor(master_, "a1", 1, "agent", "two");
    registered = successor.Next().has_registered();
    if (!registered) {
      EXPECT_EQ(successor.End().error_code(), grpc::StatusCode::ALREADY_EXISTS);
    }
  }
}

TEST_F(MasterIntegrationTest, RejectsInvalidAgentIds) {
  FakeAgent longest(master_, std::string(255, 'a'), 1);
  EXPECT_TRUE(longest.Next().has_registered());
  for (const std::string& id :
       {std::string(256, 'a'), std::string("a\nb"), std::string("a\0b", 3)}) {
    FakeAgent agent(master_, id, 1);
    EXPECT_TRUE(agent.Next().has_shutdown());
    const grpc::Status end = agent.End();
    EXPECT_EQ(end.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(end.error_message().find("agent id of"), std::string::npos) << end.error_message();
    CallContext context("agent");
    wire::PostLogsRequest logs;
    logs.set_agent_id("a1");
    logs.set_allocation_id(id);
    logs.add_lines()->set_sequence(1);
    wire::PostLogsResponse none;
    EXPECT_EQ(agent.stub().PostLogs(&context, logs, &none).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
    logs.set_allocation_id("1.1.1");
    logs.set_agent_id(id);
    CallContext again("agent");
    EXPECT_EQ(agent.stub().PostLogs(&again, logs, &none).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  longest.Exited(std::string(256, '1'), 0);
  EXPECT_EQ(longest.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(MasterIntegrationTest, ReplacesInvalidUtf8InLogLines) {
  FakeAgent agent(master_, "a1", 1);
  const std::string allocation = Run(agent);
  agent.Log(allocation, 1, std::string("bad \xff and \0", 11));
  agent.Log(allocation, 2, "next");
  const auto lines = *master_.store().ListLogs({.task = model::TaskId("1.1"), .sources = {""}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].line.text, std::string("bad \xEF\xBF\xBD and \0", 13));
  EXPECT_EQ(lines[1].line.text, "next");
}

TEST_F(MasterIntegrationTest, AgentGetsTheContext) {
  auto request = Request();
  auto* file = request.add_model_definition();
  file->set_path("data.bin");
  file->set_type(48);
  std::string content(3 << 20, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761u >> 7);
  file->set_content(content);
  FakeAgent agent(master_, "a1", 1);
  EXPECT_TRUE(agent.Next().has_registered());
  api::CreateExperimentResponse response;
  ASSERT_TRUE(Create(request, &response).ok());
  const std::string hash = agent.Next().start().task().context_hash();
  CallContext context("agent");
  wire::GetContextRequest ask;
  ask.set_hash(hash);
  const auto stream = agent.stub().GetContext(&context, ask);
  wire::GetContextResponse chunk;
  std::string tgz;
  while (stream->Read(&chunk)) tgz += chunk.chunk();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(auth::Sha256Hex(tgz), hash);
}

TEST_F(MasterIntegrationTest, TellsAnAgentOfAnotherVersionWhatToInstall) {
  FakeAgent before(master_, "before", 1, "agent", "one", "1.1.7");
  EXPECT_TRUE(before.Next().has_registered());
  for (const char* version : {"1.3.0", "1.0.0", ""}) {
    FakeAgent other(master_, "other", 1, "agent", "one", version);
    EXPECT_THAT(other.Next().shutdown().reason(),
                ::testing::HasSubstr("install resolute-agent 1.2.0"));
    EXPECT_FALSE(other.End().ok());
  }
}

TEST_F(MasterIntegrationTest, DisconnectsAgents_WhenTheMasterLosesTheLease) {
  auto agent = std::make_unique<FakeAgent>(master_, "a1", 1);
  EXPECT_TRUE(agent->Next().has_registered());
  master_.hub().SetLeading(false);
  EXPECT_EQ(agent->End().error_code(), grpc::StatusCode::UNAVAILABLE);
  FakeAgent early(master_, "a1", 1);
  EXPECT_EQ(early.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  master_.hub().SetLeading(true);
  FakeAgent again(master_, "a1", 1);
  EXPECT_TRUE(again.Next().has_registered());
}

TEST(ReconnectTimeoutTest, AgentLosesItsTasks_AfterTheReconnectTimeout) {
  TestMaster master(store::MakeFakeDatabase(), absl::ZeroDuration());
  const auto experiments = api::ExperimentService::NewStub(master.channel());
  auto agent = std::make_unique<FakeAgent>(master, "a1", 1);
  EXPECT_TRUE(agent->Next().has_registered());
  CallContext context("user");
  api::CreateExperimentRequest request;
  request.set_config(std::string(kConfig));
  request.set_activate(true);
  api::CreateExperimentResponse response;
  ASSERT_TRUE(experiments->CreateExperiment(&context, request, &response).ok());
  const std::string allocation = agent->Next().start().task().allocation_id();
  agent.reset();
  // The next attempt waits for an agent, which connects with another ID.
  FakeAgent second(master, "a2", 1);
  EXPECT_TRUE(second.Next().has_registered());
  const std::string next = second.Next().start().task().allocation_id();
  EXPECT_NE(next, "");
  EXPECT_NE(next, allocation);
}

TEST(RestartTest, KeepsAgentsUntilTheReconnectTimeout_AfterARestart) {
  const std::shared_ptr<store::FakeDatabase> database = store::MakeFakeDatabase();
  const auto list = [](TestMaster& master) {
    const auto agents = api::AgentService::NewStub(master.channel());
    CallContext context("user");
    api::GetAgentsResponse response;
    const grpc::Status status = agents->GetAgents(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  };
  {
    TestMaster master(database);
    FakeAgent agent(master, "a1", 2);
    ASSERT_TRUE(agent.Next().has_registered());
  }
  {
    TestMaster master(database);
    const api::GetAgentsResponse known = list(master);
    ASSERT_EQ(known.agents_size(), 1);
    EXPECT_FALSE(known.agents(0).connected());
    EXPECT_EQ(known.agents(0).slots_size(), 2);
  }
  TestMaster impatient(database, absl::ZeroDuration());
  while (list(impatient).agents_size() > 0) {
  }
}

}  // namespace
}  // namespace det::tests
