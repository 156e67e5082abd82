// The overview in a whole master: what each user sees, and when.
#include <functional>
#include <memory>
#include <string>

#include "det/api/v1/command.grpc.pb.h"
#include "det/api/v1/overview.grpc.pb.h"
#include "det/api/v1/project.grpc.pb.h"
#include "det/api/v1/workspace.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/tests/testing/fake_agent.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

class OverviewTest : public MasterIntegrationTest {
 protected:
  using Reader = grpc::ClientReader<api::GetOverviewResponse>;

  std::unique_ptr<Reader> Follow(CallContext& context) {
    api::GetOverviewRequest request;
    request.set_follow(true);
    return overviews_->GetOverview(&context, request);
  }
  // Reads until a response matches; earlier responses show earlier states.
  static api::GetOverviewResponse ReadUntil(
      Reader& reader, const std::function<bool(const api::GetOverviewResponse&)>& fits) {
    api::GetOverviewResponse response;
    while (reader.Read(&response)) {
      if (fits(response)) return response;
    }
    ADD_FAILURE() << "the stream ended: " << reader.Finish().error_message();
    return response;
  }

  void MakeProject(const std::string& workspace, const std::string& name) {
    CallContext first("user"), second("user");
    api::PostWorkspaceRequest outer;
    outer.set_name(workspace);
    api::PostWorkspaceResponse made;
    const auto workspaces = api::WorkspaceService::NewStub(master_.channel());
    ASSERT_TRUE(workspaces->PostWorkspace(&first, outer, &made).ok());
    api::PostProjectRequest inner;
    inner.set_workspace_id(made.workspace().id());
    inner.set_name(name);
    api::PostProjectResponse ignored;
    const auto projects = api::ProjectService::NewStub(master_.channel());
    ASSERT_TRUE(projects->PostProject(&second, inner, &ignored).ok());
  }

  std::unique_ptr<api::OverviewService::Stub> overviews_ =
      api::OverviewService::NewStub(master_.channel());
};

TEST_F(OverviewTest, SendsOneOverview_WithoutFollow) {
  CallContext context("user");
  const auto reader = overviews_->GetOverview(&context, {});
  api::GetOverviewResponse response;
  EXPECT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.slots(), 0);
  EXPECT_EQ(response.pools_size(), 1);
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(OverviewTest, SendsEachChangeToAllStreams) {
  CallContext mine("user"), theirs("user");
  const auto a = Follow(mine), b = Follow(theirs);
  const auto empty = [](const auto& now) { return now.running_size() + now.ended_size() == 0; };
  ReadUntil(*a, empty);
  ReadUntil(*b, empty);
  const int id = Create();
  for (Reader* each : {a.get(), b.get()}) {
    const auto now = ReadUntil(*each, [](const auto& now) { return now.jobs_waiting() == 1; });
    ASSERT_EQ(now.running_size(), 1);
    EXPECT_EQ(now.running(0).id(), id);
    EXPECT_EQ(now.running(0).state(), api::Experiment::STATE_QUEUED);
  }
  mine.TryCancel();
  ASSERT_TRUE(Kill(id).ok());
  const auto now = ReadUntil(*b, [](const auto& now) { return now.ended_size() == 1; });
  EXPECT_EQ(now.running_size(), 0);
  EXPECT_EQ(now.jobs_waiting(), 0);
  theirs.TryCancel();
}

TEST_F(OverviewTest, CountsSlotsOfConnectedAgents) {
  CallContext context("user");
  const auto reader = Follow(context);
  FakeAgent agent(master_, "agent-1", 2);
  Run(agent);
  const auto now = ReadUntil(*reader, [](const auto& now) { return now.jobs_running() == 1; });
  EXPECT_EQ(now.agents(), 1);
  EXPECT_GT(now.slots_in_use(), 0);
  EXPECT_EQ(now.pools(0).slots_used(), now.slots_in_use());
  context.TryCancel();
}

TEST_F(OverviewTest, CountsTasksAsJobs) {
  CallContext context("user"), launch("user");
  const auto reader = Follow(context);
  api::LaunchCommandRequest request;
  request.add_words("true");
  api::LaunchCommandResponse launched;
  const auto commands = api::CommandService::NewStub(master_.channel());
  const grpc::Status status = commands->LaunchCommand(&launch, request, &launched);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ReadUntil(*reader, [](const auto& now) { return now.jobs_waiting() == 1; });
  FakeAgent agent(master_, "agent-1", 2);
  ASSERT_TRUE(agent.Next().has_registered());
  ASSERT_TRUE(agent.Next().has_start());
  const auto now = ReadUntil(*reader, [](const auto& now) { return now.jobs_running() == 1; });
  EXPECT_EQ(now.jobs_waiting(), 0);
  EXPECT_EQ(now.running_size(), 0);
  context.TryCancel();
}

TEST_F(OverviewTest, HidesExperimentsOfOtherWorkspaces) {
  MakeProject("elsewhere", "secret");
  api::CreateExperimentResponse created;
  const std::string config = kConfig + std::string("workspace: elsewhere\nproject: secret\n");
  ASSERT_TRUE(Create(Request(config), &created).ok());
  const auto eve = master_.store().users().AddUser({.username = "eve"}, model::Role::kViewer);
  ASSERT_TRUE(eve.ok()) << eve.status();
  master_.AddSession("eve", store::SessionRecord::Kind::kUser, eve->id);
  CallContext all("user"), some("eve");
  const auto seen = Follow(all), hidden = Follow(some);
  ReadUntil(*seen, [](const auto& now) { return now.running_size() == 1; });
  const auto now = ReadUntil(*hidden, [](const auto& now) { return now.jobs_waiting() == 1; });
  EXPECT_EQ(now.running_size(), 0);
  all.TryCancel();
  some.TryCancel();
}

}  // namespace
}  // namespace det::tests
