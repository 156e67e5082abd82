// Streamed records: a part of the contract suite in store_contract.h.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Seqs = std::map<int32_t, int64_t>;

ProjectRecord ProjectNamed(const std::string& name, int32_t workspace) {
  ProjectRecord record;
  record.workspace = workspace;
  record.name = name;
  record.key = name;
  record.owner = model::UserId(1);
  return record;
}

ModelRecord ModelNamed(const std::string& name, int32_t workspace) {
  ModelRecord record;
  record.name = name;
  record.workspace = workspace;
  record.owner = model::UserId(1);
  record.created_at = TimeAt(1);
  return record;
}

// Experiment 1, which has ended, with trial 1 and the checkpoint "a".
std::vector<cluster::Change> MakeCheckpointChanges() {
  experiment::Experiment e = MakeExperiment(1);
  e.state = model::ExperimentState::kCompleted;
  e.ended_at = TimeAt(100);
  std::vector<cluster::Change> changes;
  changes.emplace_back(cluster::PutExperiment{e});
  changes.emplace_back(cluster::PutTrial{MakeTrial(1, 1)});
  changes.emplace_back(cluster::AddCheckpoint{MakeCheckpoint("a", 1, 1)});
  return changes;
}

ModelVersionRecord MakeVersion(const ModelRecord& model) {
  ModelVersionRecord version;
  version.model = model.id;
  version.checkpoint = model::CheckpointId("a");
  version.owner = model::UserId(1);
  version.created_at = TimeAt(2);
  return version;
}

TEST_P(StoreContractTest, NumbersChangesOfProjects) {
  StreamedRecords& records = store_->streamed_records();
  const int32_t vision = store_->workspaces().AddWorkspace({.name = "vision"})->id;
  const StreamedQuery query{.kind = StreamedKind::kProject, .workspaces = {vision}};
  int64_t last = *records.GetLastChange();
  const auto expect_change = [&](const char* what) {
    const int64_t now = *records.GetLastChange();
    EXPECT_GT(now, last) << what;
    last = now;
  };
  const int32_t id = store_->projects().AddProject(ProjectNamed("dogs", vision))->id;
  expect_change("adding");
  const Seqs added = *records.ListSeqs(query);
  EXPECT_THAT(added, ::testing::Contains(Pair(id, last)));
  EXPECT_EQ(*records.GetLastChange(), last) << "reading";

  ASSERT_TRUE(store_->projects().ChangeProject(id, {.description = "many"}).ok());
  expect_change("changing");
  EXPECT_THAT(*records.ListSeqs(query), ::testing::Contains(Pair(id, last)));
  const std::vector<StreamedProject> read = *records.ReadProjects({id, 999});
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].project.name, "dogs");
  EXPECT_EQ(read[0].project.description, "many");
  EXPECT_EQ(read[0].project.workspace, vision);
  EXPECT_EQ(read[0].seq, last);

  ASSERT_TRUE(store_->projects().AddNote(id, {"n", "text"}).ok());
  expect_change("adding a note");
  ASSERT_TRUE(store_->projects().ChangeProject(id, {.workspace = kUncategorized}).ok());
  expect_change("moving");
  EXPECT_FALSE(records.ListSeqs(query)->contains(id));
  ASSERT_TRUE(store_->projects().DeleteProject(id).ok());
  expect_change("deleting");
  EXPECT_THAT(*records.ReadProjects({id}), IsEmpty());
}

TEST_P(StoreContractTest, ListsStreamedRecordsThatMatchAnyList) {
  StreamedRecords& records = store_->streamed_records();
  const int32_t vision = store_->workspaces().AddWorkspace({.name = "vision"})->id;
  const int32_t dogs = store_->projects().AddProject(ProjectNamed("dogs", vision))->id;
  const auto list = [&](StreamedQuery query) { return *records.ListSeqs(query); };
  EXPECT_THAT(list({}), IsEmpty()) << "without lists";
  EXPECT_THAT(list({.ids = {kUncategorized, 99}}), ElementsAre(Key(kUncategorized)));
  EXPECT_THAT(list({.ids = {kUncategorized, dogs}, .visible = {{vision}}}), ElementsAre(Key(dogs)));
  EXPECT_THAT(list({.ids = {dogs}, .visible = {std::vector<int32_t>()}}), IsEmpty());
  const Seqs both = list({.ids = {kUncategorized}, .workspaces = {vision}});
  EXPECT_TRUE(both.contains(kUncategorized) && both.contains(dogs));
}

TEST_P(StoreContractTest, NumbersChangesOfModelsAndVersions) {
  Commit(MakeCheckpointChanges());
  StreamedRecords& records = store_->streamed_records();
  const int32_t vision = store_->workspaces().AddWorkspace({.name = "vision"})->id;
  const ModelRecord model = *store_->models().AddModel(ModelNamed("bert", kUncategorized));
  const ModelVersionRecord version = *store_->models().AddVersion(MakeVersion(model));
  const StreamedQuery models{.kind = StreamedKind::kModel, .owners = {model::UserId(1)}};
  const StreamedQuery versions{.kind = StreamedKind::kVersion, .models = {model.id}};
  const int64_t added = records.ListSeqs(versions)->at(version.id);
  EXPECT_THAT(*records.ListSeqs(models), UnorderedElementsAre(Key(model.id)));
  EXPECT_EQ(records.ReadVersions({version.id})->at(0).workspace, kUncategorized);
  EXPECT_EQ(records.ReadVersions({version.id})->at(0).version.checkpoint, model::CheckpointId("a"));

  ASSERT_TRUE(store_->models().ChangeModel(model.id, {.description = "large"}).ok());
  EXPECT_EQ(records.ListSeqs(versions)->at(version.id), added) << "only the model has changed";
  EXPECT_EQ(records.ReadModels({model.id})->at(0).model.description, "large");
  ASSERT_TRUE(store_->models().ChangeModel(model.id, {.workspace = vision}).ok());
  EXPECT_GT(records.ListSeqs(versions)->at(version.id), added) << "the model was moved";
  EXPECT_EQ(records.ReadVersions({version.id})->at(0).workspace, vision);
  EXPECT_THAT(*records.ListSeqs({.kind = StreamedKind::kVersion, .workspaces = {vision}}),
              ElementsAre(Key(version.id)));

  const int64_t before = *records.GetLastChange();
  ASSERT_TRUE(store_->models().DeleteModel(model.id).ok());
  EXPECT_GT(*records.GetLastChange(), before);
  EXPECT_THAT(*records.ListSeqs(models), IsEmpty());
  EXPECT_THAT(*records.ListSeqs(versions), IsEmpty()) << "deleted with their model";
}

}  // namespace
}  // namespace det::store
