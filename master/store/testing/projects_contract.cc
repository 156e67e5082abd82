// Projects and the experiments in them: a part of the contract suite in store_contract.h.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kCompleted = model::ExperimentState::kCompleted;

ProjectRecord ProjectNamed(const std::string& name, int32_t workspace = kUncategorized) {
  ProjectRecord record;
  record.workspace = workspace;
  record.name = name;
  record.owner = model::UserId(1);
  return record;
}

int32_t AddWorkspace(Store& store, const std::string& name) {
  WorkspaceRecord record;
  record.name = name;
  record.owner = model::UserId(1);
  return store.workspaces().AddWorkspace(record)->id;
}

std::vector<std::string> GetNames(const absl::StatusOr<ProjectPage>& page) {
  std::vector<std::string> names;
  if (!page.ok()) return {std::string(page.status().message())};
  for (const ProjectRecord& project : page->projects) names.push_back(project.name);
  return names;
}

cluster::PutExperiment In(int id, const ProjectRecord& project,
                          model::ExperimentState state = model::ExperimentState::kActive) {
  experiment::Experiment e = MakeExperiment(id);
  e.workspace = project.workspace;
  e.project = project.id;
  e.state = state;
  return {e};
}

TEST_P(StoreContractTest, StoresAndChangesProject) {
  Projects& projects = store_->projects();
  const int32_t vision = AddWorkspace(*store_, "vision");
  ProjectRecord requested = ProjectNamed("cats", vision);
  requested.description = "small ones";
  const auto made = projects.AddProject(requested);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->workspace_name, "vision");
  EXPECT_EQ(made->key, "CAT");
  EXPECT_TRUE(absl::IsAlreadyExists(projects.AddProject(requested).status()));
  EXPECT_EQ(projects.AddProject(ProjectNamed("cats"))->key, "CAT2") << "of another workspace";
  requested.name = "dogs";
  requested.key = "CAT";
  EXPECT_TRUE(absl::IsAlreadyExists(projects.AddProject(requested).status()));
  EXPECT_TRUE(absl::IsNotFound(projects.AddProject(ProjectNamed("x", 99)).status()));

  ProjectPatch patch{.name = "lions", .description = "large ones", .key = "LEO"};
  patch.notes = std::vector<ProjectNote>{{"to do", "feed them"}};
  ASSERT_TRUE(projects.ChangeProject(made->id, patch).ok());
  const auto read = backend_->Open()->projects().GetProjectByKey("LEO");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->id, made->id);
  EXPECT_EQ(read->name, "lions");
  EXPECT_EQ(read->description, "large ones");
  EXPECT_THAT(*projects.AddNote(made->id, {"done", "fed"}),
              ElementsAre(ProjectNote{"to do", "feed them"}, ProjectNote{"done", "fed"}));
  EXPECT_EQ(projects.GetProject(made->id)->notes.size(), 2u);
  EXPECT_TRUE(absl::IsAlreadyExists(projects.ChangeProject(made->id, {.key = "UNCAT"}).status()));
  EXPECT_TRUE(absl::IsNotFound(projects.GetProjectByKey("CAT").status()));
  EXPECT_TRUE(absl::IsNotFound(projects.ChangeProject(99, {}).status()));
  EXPECT_TRUE(absl::IsNotFound(projects.AddNote(99, {}).status()));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(projects.ChangeProject(kUncategorized, {.name = "x"}).status()));
  EXPECT_TRUE(projects.ChangeProject(kUncategorized, {.description = "x"}).ok());
}

TEST_P(StoreContractTest, MovesProject_UnlessNameIsTaken) {
  Projects& projects = store_->projects();
  const int32_t vision = AddWorkspace(*store_, "vision");
  const int32_t speech = AddWorkspace(*store_, "speech");
  const auto cats = projects.AddProject(ProjectNamed("cats", vision));
  const auto other = projects.AddProject(ProjectNamed("cats", speech));
  ASSERT_TRUE(cats.ok() && other.ok());
  EXPECT_TRUE(
      absl::IsAlreadyExists(projects.ChangeProject(cats->id, {.workspace = speech}).status()));
  EXPECT_TRUE(projects.DeleteProject(other->id).ok());
  EXPECT_EQ(projects.ChangeProject(cats->id, {.workspace = speech})->workspace_name, "speech");
  EXPECT_TRUE(absl::IsNotFound(projects.ChangeProject(cats->id, {.workspace = 99}).status()));
  ASSERT_TRUE(store_->workspaces().ChangeWorkspace(vision, {.archived = true}).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(projects.ChangeProject(cats->id, {.workspace = vision}).status()));
}

TEST_P(StoreContractTest, CountsContentsOfProjects) {
  const auto cats = store_->projects().AddProject(ProjectNamed("cats"));
  ASSERT_TRUE(cats.ok());
  Commit({In(1, *cats), In(2, *cats, kCompleted), In(3, *cats, model::ExperimentState::kDeleted),
          cluster::PutTrial{MakeTrial(1, 1)}, cluster::PutTrial{MakeTrial(2, 1)},
          cluster::PutTrial{MakeTrial(3, 2)}, cluster::PutExperiment{MakeExperiment(4)}});
  const auto read = store_->projects().GetProject(cats->id);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->num_experiments, 2);
  EXPECT_EQ(read->num_active_experiments, 1);
  EXPECT_EQ(read->num_runs, 3);
  const auto settings = store_->projects().GetProjectSettings(cats->id);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->name, "cats");
  EXPECT_EQ(settings->num_experiments, 0);
  EXPECT_TRUE(absl::IsNotFound(store_->projects().GetProjectSettings(99).status()));
  const auto workspace = store_->workspaces().GetWorkspaceSettings(kUncategorized);
  ASSERT_TRUE(workspace.ok()) << workspace.status();
  EXPECT_EQ(workspace->name, "Uncategorized");
  EXPECT_EQ(workspace->num_experiments, 0);
  EXPECT_TRUE(absl::IsNotFound(store_->workspaces().GetWorkspaceSettings(99).status()));
  EXPECT_EQ(read->last_experiment_started_at, MakeExperiment(2).created_at);
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->projects().DeleteProject(cats->id)));
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->projects().DeleteProject(kUncategorized)));
}

TEST_P(StoreContractTest, ListsProjectsByFilterSortAndWindow) {
  Projects& projects = store_->projects();
  const int32_t vision = AddWorkspace(*store_, "vision");
  ProjectRecord b = ProjectNamed("b-cats", vision);
  b.description = "1";
  ProjectRecord a = ProjectNamed("a-Cats", vision);
  a.description = "2";
  const auto added_b = projects.AddProject(b);
  const auto added_a = projects.AddProject(a);
  ASSERT_TRUE(added_a.ok() && added_b.ok());
  Commit({In(1, *added_b), In(2, *added_a)});
  EXPECT_EQ(projects.ListProjects({})->total, 3);
  ProjectQuery query{.workspace = vision};
  EXPECT_THAT(GetNames(projects.ListProjects(query)), ElementsAre("b-cats", "a-Cats"));
  query.sort = ProjectQuery::Sort::kName;
  EXPECT_THAT(GetNames(projects.ListProjects(query)), ElementsAre("a-Cats", "b-cats"));
  query.sort = ProjectQuery::Sort::kDescription;
  EXPECT_THAT(GetNames(projects.ListProjects(query)), ElementsAre("b-cats", "a-Cats"));
  query.sort = ProjectQuery::Sort::kLastExperimentStart;
  query.descending = true;
  EXPECT_THAT(GetNames(projects.ListProjects(query)), ElementsAre("a-Cats", "b-cats"));
  query.window.limit = 1;
  EXPECT_THAT(GetNames(projects.ListProjects(query)), ElementsAre("a-Cats"));
  EXPECT_EQ(projects.ListProjects(query)->total, 2);
  EXPECT_THAT(GetNames(projects.ListProjects({.name = "CATS", .exact_name = "b-cats"})),
              ElementsAre("b-cats"));
  ProjectQuery visible;
  visible.visible = std::vector<int32_t>{vision};
  EXPECT_EQ(projects.ListProjects(visible)->total, 2);
  ASSERT_TRUE(projects.ChangeProject(added_a->id, {.archived = true}).ok());
  EXPECT_THAT(GetNames(projects.ListProjects({.archived = true})), ElementsAre("a-Cats"));
}

TEST_P(StoreContractTest, RefusesChangesOfArchivedProject_ExceptNotesAndUnarchiving) {
  Projects& projects = store_->projects();
  const int32_t vision = AddWorkspace(*store_, "vision");
  const auto cats = projects.AddProject(ProjectNamed("cats"));
  ASSERT_TRUE(cats.ok());
  ASSERT_TRUE(projects.ChangeProject(cats->id, {.archived = true}).ok());
  for (const ProjectPatch& patch :
       {ProjectPatch{.name = "dogs"}, ProjectPatch{.description = "d"}, ProjectPatch{.key = "DOG"},
        ProjectPatch{.workspace = vision}}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(projects.ChangeProject(cats->id, patch).status()));
  }
  EXPECT_TRUE(projects.AddNote(cats->id, {.name = "late"}).ok());
  EXPECT_TRUE(projects.ChangeProject(cats->id, {.archived = true}).ok());
  ASSERT_TRUE(projects.ChangeProject(cats->id, {.archived = false}).ok());
  EXPECT_EQ(projects.ChangeProject(cats->id, {.name = "dogs"})->name, "dogs");
}

TEST_P(StoreContractTest, ListsLastVisitedProjects) {
  Projects& projects = store_->projects();
  const auto cats = projects.AddProject(ProjectNamed("cats"));
  const auto dogs = projects.AddProject(ProjectNamed("dogs"));
  ASSERT_TRUE(cats.ok() && dogs.ok());
  const model::UserId ann(5);
  EXPECT_TRUE(projects.RecordVisit(ann, dogs->id, TimeAt(1)).ok());
  EXPECT_TRUE(projects.RecordVisit(ann, cats->id, TimeAt(2)).ok());
  EXPECT_TRUE(projects.RecordVisit(ann, dogs->id, TimeAt(3)).ok());
  EXPECT_TRUE(absl::IsNotFound(projects.RecordVisit(ann, 99, TimeAt(1))));
  const auto visited = projects.ListLastVisited(ann, 0);
  ASSERT_TRUE(visited.ok()) << visited.status();
  ASSERT_EQ(visited->size(), 2u);
  EXPECT_EQ((*visited)[0].name, "dogs");
  EXPECT_EQ(projects.ListLastVisited(ann, 1)->size(), 1u);
  EXPECT_THAT(*projects.ListLastVisited(model::UserId(6), 0), IsEmpty());
}

TEST_P(StoreContractTest, ReturnsCurrentNamesOfProject) {
  const int32_t vision = AddWorkspace(*store_, "vision");
  const auto cats = store_->projects().AddProject(ProjectNamed("cats", vision));
  ASSERT_TRUE(cats.ok());
  Commit({In(1, *cats), cluster::PutExperiment{MakeExperiment(2)}});
  const auto read = store_->GetExperiment(model::ExperimentId(1));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->experiment.workspace, vision);
  EXPECT_EQ(read->experiment.project, cats->id);
  EXPECT_EQ(read->experiment.config->workspace, "vision");
  EXPECT_EQ(read->experiment.config->project, "cats");
  EXPECT_EQ(read->project_owner, model::UserId(1));
  ASSERT_TRUE(store_->workspaces().ChangeWorkspace(vision, {.name = "sight"}).ok());
  EXPECT_EQ(store_->projects().GetWorkspaceId(model::ExperimentId(1)).value_or(0), vision);
  EXPECT_EQ(store_->projects().GetProjectWorkspaceId(cats->id).value_or(0), vision);
  EXPECT_EQ(store_->projects().GetProjectWorkspaceId(99).status(),
            store_->projects().GetProject(99).status());
  EXPECT_EQ(store_->projects().GetWorkspaceId(model::ExperimentId(2)).value_or(0), kUncategorized);
  EXPECT_TRUE(absl::IsNotFound(store_->projects().GetWorkspaceId(model::TrialId(99)).status()));
  EXPECT_TRUE(
      absl::IsNotFound(store_->projects().GetWorkspaceId(model::CheckpointId("x")).status()));
  const cluster::Image image = Reload();
  ASSERT_EQ(image.experiments.size(), 2u);
  EXPECT_EQ(image.experiments[0].config->workspace, "sight");
  EXPECT_EQ(image.experiments[1].config->workspace, "Uncategorized");

  EXPECT_EQ(store_->ListExperiments({.project = cats->id})->total, 1);
  ExperimentQuery visible;
  visible.visible = std::vector<int32_t>{kUncategorized};
  const auto page = store_->ListExperiments(visible);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->total, 1);
  EXPECT_EQ(page->experiments[0].experiment.id.value(), 2);

  Commit({cluster::SetProject{model::ExperimentId(2), {vision, cats->id, "sight", "cats"}}});
  EXPECT_EQ(store_->ListExperiments({.project = cats->id})->total, 2);
}

TEST_P(StoreContractTest, UsesUncategorized_WhenProjectWasDeleted) {
  const int32_t vision = AddWorkspace(*store_, "vision");
  const auto cats = store_->projects().AddProject(ProjectNamed("cats", vision));
  const auto dogs = store_->projects().AddProject(ProjectNamed("dogs", vision));
  ASSERT_TRUE(cats.ok() && dogs.ok());
  ASSERT_TRUE(store_->projects().DeleteProject(cats->id).ok());
  Commit({In(1, *cats), In(2, *dogs)});
  Commit({cluster::SetProject{model::ExperimentId(2), {vision, cats->id, "vision", "cats"}}});
  const auto project_of = [&](int id) {
    const auto read = store_->GetExperiment(model::ExperimentId(id));
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->experiment.project : 0;
  };
  EXPECT_EQ(project_of(1), kUncategorized);
  EXPECT_EQ(project_of(2), dogs->id);
  EXPECT_EQ(store_->ListExperiments({.project = kUncategorized})->total, 1);
}

TEST_P(StoreContractTest, ChangesNameDescriptionAndLabels) {
  cluster::ExperimentDetails details{.name = "lion", .description = "Large"};
  details.labels = std::vector<std::string>{"cat", "wild"};
  details.notes = "roars";
  // In one batch with the row, which is then written again from the engine's state.
  experiment::Experiment changed = MakeExperiment(1);
  cluster::Put(details, changed);
  Commit({cluster::PutExperiment{MakeExperiment(1)},
          cluster::SetExperimentDetails{model::ExperimentId(1), details},
          cluster::PutExperiment{changed}});
  experiment::Experiment other = MakeExperiment(2);
  cluster::ExperimentDetails one;
  one.labels = std::vector<std::string>{"cat"};
  cluster::Put(one, other);
  Commit({cluster::PutExperiment{other}});
  const auto read = store_->GetExperiment(model::ExperimentId(1));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->experiment, changed);
  EXPECT_EQ(read->notes, "roars");
  Commit({cluster::SetExperimentDetails{model::ExperimentId(1), {.description = "Larger"}}});
  const auto again = store_->GetExperiment(model::ExperimentId(1));
  EXPECT_EQ(again->experiment.config->name, "lion");
  EXPECT_EQ(again->experiment.config->description, "Larger");
  EXPECT_EQ(again->notes, "roars");

  EXPECT_EQ(store_->ListExperiments({.description = "LARGER"})->total, 1);
  EXPECT_EQ(store_->ListExperiments({.labels = {"cat"}})->total, 2);
  EXPECT_EQ(store_->ListExperiments({.labels = {"cat", "wild"}})->total, 1);
  EXPECT_EQ(store_->ListExperiments({.owner_ids = {model::UserId(9)}})->total, 0);
  EXPECT_THAT(*store_->projects().ListLabels(0, {}), ElementsAre("cat", "wild"));
  EXPECT_THAT(*store_->projects().ListLabels(kUncategorized, {}), ElementsAre("cat", "wild"));
  EXPECT_THAT(*store_->projects().ListLabels(99, {}), IsEmpty());
  EXPECT_THAT(*store_->projects().ListLabels(0, std::vector<int32_t>{99}), IsEmpty());
}

}  // namespace
}  // namespace det::store
