// Projects and details of experiments.
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using ExperimentDetailsTest = Fixture;

const ProjectRef kVision{2, 5, "vision", "cats"};

double GetHours(const Cluster& cluster, const std::string& workspace) {
  for (const scheduler::Limit& limit : cluster.limits()) {
    if (limit.quota.name == workspace) return limit.slot_hours_used;
  }
  return -1;
}

TEST_F(ExperimentDetailsTest, MovesRunningExperimentWithUsage) {
  for (const char* name : {"vision", "lab"}) {
    Apply(PutQuota{{.scope = model::Quota::Scope::kWorkspace, .name = name, .slot_hours = 100}});
  }
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->workspace = "lab";
  config->project = "dogs";
  const model::ExperimentId id = Create(config);
  Start("1.1.1");
  now_ += absl::Hours(2);
  Apply(MoveExperiment{id, kVision});
  EXPECT_EQ(experiment(1).workspace, 2);
  EXPECT_EQ(experiment(1).project, 5);
  EXPECT_EQ(experiment(1).config->workspace, "vision");
  EXPECT_EQ(experiment(1).config->project, "cats");
  EXPECT_EQ(GetHours(cluster_, "lab"), 0);
  EXPECT_NEAR(GetHours(cluster_, "vision"), 2, 0.01);
  Exit("1.1.1", 0);
  EXPECT_NEAR(GetHours(cluster_, "vision"), 2, 0.01);
  Restart();
  EXPECT_NEAR(GetHours(cluster_, "vision"), 2, 0.01) << "computed from the rows";
}

TEST_F(ExperimentDetailsTest, RenamesInRunningExperiments) {
  Apply(PutQuota{{.scope = model::Quota::Scope::kWorkspace, .name = "sight", .slot_hours = 100}});
  AddAgent("a", 1);
  CreateExperiment event;
  event.config = MakeConfig();
  for (const auto& [workspace, project] : {std::pair(2, 5), std::pair(2, 6), std::pair(3, 7)}) {
    event.workspace = workspace;
    event.project = project;
    Apply(event);
  }
  Tick();
  Start("1.1.1");
  now_ += absl::Hours(2);
  const Outcome outcome = Apply(RenameWorkspaceOrProject{.workspace = 2, .name = "sight"});
  EXPECT_EQ(GetEffects<ExperimentChanged>(outcome).size(), 2u);
  Apply(RenameWorkspaceOrProject{.project = 6, .name = "dogs"});
  const auto config = [&](int id) {
    return cluster_.FindExperiment(model::ExperimentId(id))->config;
  };
  EXPECT_EQ(config(1)->workspace, "sight");
  EXPECT_NE(config(1)->project, "dogs");
  EXPECT_EQ(config(2)->workspace, "sight");
  EXPECT_EQ(config(2)->project, "dogs");
  EXPECT_NE(config(3)->workspace, "sight");
  EXPECT_NEAR(GetHours(cluster_, "sight"), 2, 0.01);
}

TEST_F(ExperimentDetailsTest, RejectsMove_WhenPoolIsNotBound) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->workspace = "lab";
  const model::ExperimentId id = Create(config);
  Apply(PutResourcePool{.pool = {.name = "default", .description = "", .workspaces = {"lab"}}});
  const absl::Status status = ExpectRejection(MoveExperiment{id, kVision});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  Apply(MoveExperiment{id, {1, 3, "lab", "other"}});
  EXPECT_EQ(experiment(1).project, 3);
}

TEST_F(ExperimentDetailsTest, MovesEndedExperimentUnlessDeleting) {
  const model::ExperimentId id = Create(MakeConfig());
  Apply(KillExperiment{id});
  ASSERT_EQ(cluster_.FindExperiment(id), nullptr);
  Apply(MoveExperiment{id, kVision});
  EXPECT_EQ(experiment(1).project, 5);
  EXPECT_EQ(experiment(1).config->workspace, "vision");
  Apply(UpdateExperimentDetails{id, {.name = "old"}});
  EXPECT_EQ(experiment(1).config->name, "old");
  Apply(DeleteExperiment{id});
  EXPECT_TRUE(absl::IsFailedPrecondition(ExpectRejection(MoveExperiment{id, kVision})));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(ExpectRejection(UpdateExperimentDetails{id, {.name = "new"}})));
}

TEST_F(ExperimentDetailsTest, ChangesDetailsWhileRunning) {
  const model::ExperimentId id = Create(MakeConfig());
  ExperimentDetails details{.name = "lion"};
  details.labels = std::vector<std::string>{"cat"};
  const Outcome outcome = Apply(UpdateExperimentDetails{id, details});
  EXPECT_THAT(outcome.changes, testing::ElementsAre(Change(SetExperimentDetails{id, details})));
  EXPECT_EQ(GetEffects<ExperimentChanged>(outcome).size(), 1u);
  EXPECT_EQ(cluster_.FindExperiment(id)->config->name, "lion");
  EXPECT_EQ(experiment(1).config->labels, std::vector<std::string>{"cat"});
}

TEST_F(ExperimentDetailsTest, CreatesExperimentInRequestedProject) {
  CreateExperiment event;
  event.config = MakeConfig();
  event.workspace = 2;
  event.project = 5;
  Apply(event);
  EXPECT_EQ(experiment(1).workspace, 2);
  EXPECT_EQ(experiment(1).project, 5);
}

}  // namespace
}  // namespace det::cluster
