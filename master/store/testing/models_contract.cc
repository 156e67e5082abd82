// The model registry: a part of the contract suite in store_contract.h.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using model::CheckpointId;
using model::CheckpointState;
using model::ExperimentId;
using model::Value;

ModelRecord ModelNamed(const std::string& name, int32_t workspace = kUncategorized) {
  ModelRecord record;
  record.name = name;
  record.workspace = workspace;
  record.owner = model::UserId(1);
  record.created_at = TimeAt(1);
  return record;
}

ModelVersionRecord MakeVersion(const ModelRecord& model, const char* checkpoint) {
  ModelVersionRecord record;
  record.model = model.id;
  record.checkpoint = CheckpointId(checkpoint);
  record.owner = model::UserId(1);
  record.created_at = TimeAt(2);
  return record;
}

std::vector<std::string> GetNames(const absl::StatusOr<ModelPage>& page) {
  std::vector<std::string> names;
  if (!page.ok()) return {std::string(page.status().message())};
  for (const ModelRecord& model : page->models) names.push_back(model.name);
  return names;
}

std::vector<int> ExtractNumbers(const absl::StatusOr<ModelVersionPage>& page) {
  std::vector<int> numbers;
  if (!page.ok()) return {-1};
  for (const ModelVersionRecord& version : page->versions) numbers.push_back(version.version);
  return numbers;
}

// Experiment 1, which has ended, with trial 1 and the checkpoints a, b, c.
std::vector<cluster::Change> Trained() {
  experiment::Experiment e = MakeExperiment(1);
  e.state = model::ExperimentState::kCompleted;
  e.ended_at = TimeAt(100);
  std::vector<cluster::Change> changes;
  changes.emplace_back(cluster::PutExperiment{e});
  changes.emplace_back(cluster::PutTrial{MakeTrial(1, 1)});
  int steps = 0;
  for (const char* id : {"a", "b", "c"}) {
    changes.emplace_back(cluster::AddCheckpoint{MakeCheckpoint(id, 1, ++steps)});
  }
  return changes;
}

CheckpointState GetState(Store& store, const char* id) {
  return store.GetCheckpoint(CheckpointId(id))->checkpoint.state;
}

TEST_P(StoreContractTest, StoresAndChangesModel) {
  const UserRecord ann = *store_->users().AddUser({.username = "ann"});
  Models& models = store_->models();
  ModelRecord requested = ModelNamed("bert");
  requested.description = "it's \"quoted\"";
  requested.notes = "# Notes\n";
  requested.metadata = Value::Object{{"layers", 12}, {"lr", 0.5}};
  requested.labels = {"nlp", "base"};
  requested.owner = ann.id;
  const auto made = models.AddModel(requested);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(absl::IsAlreadyExists(models.AddModel(ModelNamed("bert")).status()));

  const auto read = backend_->Open()->models().GetModel("bert");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->id, made->id);
  EXPECT_EQ(read->description, requested.description);
  EXPECT_EQ(read->notes, requested.notes);
  EXPECT_EQ(read->metadata, requested.metadata);
  EXPECT_THAT(read->labels, ElementsAre("nlp", "base"));
  EXPECT_EQ(read->owner_name, "ann");
  EXPECT_EQ(read->workspace, kUncategorized);
  EXPECT_EQ(read->created_at, TimeAt(1));
  EXPECT_EQ(read->updated_at, TimeAt(1));
  EXPECT_EQ(read->num_versions, 0);
  EXPECT_FALSE(read->archived);
  EXPECT_EQ(models.GetModel(absl::StrCat(made->id))->name, "bert");
  EXPECT_TRUE(absl::IsNotFound(models.GetModel("gpt").status()));
  EXPECT_TRUE(absl::IsNotFound(models.GetModel("99").status()));

  ASSERT_TRUE(models.AddModel(ModelNamed("gpt")).ok());
  const auto changed = models.ChangeModel(made->id, {.name = "bert-2",
                                                     .notes = "",
                                                     .metadata = Value(Value::Object{}),
                                                     .labels = std::vector<std::string>{},
                                                     .at = TimeAt(7)});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->name, "bert-2");
  EXPECT_EQ(changed->description, requested.description);
  EXPECT_EQ(changed->notes, "");
  EXPECT_EQ(changed->metadata, Value(Value::Object{}));
  EXPECT_THAT(changed->labels, IsEmpty());
  EXPECT_EQ(changed->created_at, TimeAt(1));
  EXPECT_EQ(changed->updated_at, TimeAt(7));
  EXPECT_TRUE(absl::IsAlreadyExists(
      models.ChangeModel(made->id, {.name = "gpt", .at = TimeAt(8)}).status()));
  EXPECT_TRUE(absl::IsNotFound(models.ChangeModel(99, {.at = TimeAt(8)}).status()));
  EXPECT_TRUE(models.DeleteModel(made->id).ok());
  EXPECT_TRUE(absl::IsNotFound(models.DeleteModel(made->id)));
  EXPECT_TRUE(absl::IsNotFound(models.GetModel("bert-2").status()));
}

TEST_P(StoreContractTest, RequiresOpenWorkspaceForModel) {
  WorkspaceRecord vision;
  vision.name = "vision";
  const auto w = store_->workspaces().AddWorkspace(vision);
  ASSERT_TRUE(w.ok()) << w.status();
  Models& models = store_->models();
  EXPECT_TRUE(absl::IsNotFound(models.AddModel(ModelNamed("m", 99)).status()));
  const auto made = models.AddModel(ModelNamed("m"));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(
      absl::IsNotFound(models.ChangeModel(made->id, {.workspace = 99, .at = TimeAt(2)}).status()));
  const auto moved = models.ChangeModel(made->id, {.workspace = w->id, .at = TimeAt(2)});
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->workspace, w->id);
  const absl::Status holds = store_->workspaces().DeleteWorkspace(w->id);
  EXPECT_TRUE(absl::IsFailedPrecondition(holds));
  EXPECT_THAT(std::string(holds.message()), HasSubstr("\"vision\" contains 1 model;"));
  ASSERT_TRUE(store_->workspaces().ChangeWorkspace(w->id, {.archived = true}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(models.AddModel(ModelNamed("n", w->id)).status()));
  EXPECT_TRUE(models.DeleteModel(made->id).ok());
  EXPECT_TRUE(store_->workspaces().DeleteWorkspace(w->id).ok());
}

// b-net of bob in Uncategorized, and a-Net of ann in Vision.
struct TwoModels {
  explicit TwoModels(Store& store)
      : ann(*store.users().AddUser({.username = "ann"})),
        bob(*store.users().AddUser({.username = "bob"})) {
    WorkspaceRecord record;
    record.name = "Vision";
    vision = store.workspaces().AddWorkspace(record)->id;
    ModelRecord model = ModelNamed("b-net");
    model.description = "Sees CATS";
    model.labels = {"cats", "big"};
    model.created_at = TimeAt(5);
    model.owner = bob.id;
    b = *store.models().AddModel(model);
    model = ModelNamed("a-Net", vision);
    model.description = "hears";
    model.labels = {"big"};
    model.created_at = TimeAt(6);
    model.owner = ann.id;
    a = *store.models().AddModel(model);
  }
  UserRecord ann, bob;
  int32_t vision = 0;
  ModelRecord a, b;
};

TEST_P(StoreContractTest, SortsModels) {
  const TwoModels two(*store_);
  Models& models = store_->models();
  using Sort = ModelQuery::Sort;
  const auto sorted = [&](Sort sort, bool descending = false) {
    return GetNames(models.ListModels({.sort = sort, .descending = descending}));
  };
  EXPECT_THAT(sorted(Sort::kId), ElementsAre("b-net", "a-Net"));
  EXPECT_THAT(sorted(Sort::kName), ElementsAre("a-Net", "b-net"));
  EXPECT_THAT(sorted(Sort::kDescription), ElementsAre("b-net", "a-Net"));
  EXPECT_THAT(sorted(Sort::kCreated, true), ElementsAre("a-Net", "b-net"));
  EXPECT_THAT(sorted(Sort::kUpdated), ElementsAre("b-net", "a-Net"));
  EXPECT_THAT(sorted(Sort::kWorkspace), ElementsAre("b-net", "a-Net"));
  Commit(Trained());
  ASSERT_TRUE(models.AddVersion(MakeVersion(two.b, "a")).ok());
  EXPECT_THAT(sorted(Sort::kNumVersions), ElementsAre("a-Net", "b-net"));
}

TEST_P(StoreContractTest, ListsModelsByFilterAndWindow) {
  const TwoModels two(*store_);
  Models& models = store_->models();
  ModelQuery page{.window = {.offset = 1, .limit = 1}, .name = "NET"};
  EXPECT_THAT(GetNames(models.ListModels(page)), ElementsAre("a-Net"));
  EXPECT_EQ(models.ListModels(page)->total, 2);
  EXPECT_THAT(GetNames(models.ListModels({.id = two.a.id})), ElementsAre("a-Net"));
  EXPECT_THAT(GetNames(models.ListModels({.description = "cats"})), ElementsAre("b-net"));
  EXPECT_THAT(GetNames(models.ListModels({.labels = {"cats", "none"}})), ElementsAre("b-net"));
  EXPECT_THAT(GetNames(models.ListModels({.labels = {"none"}})), IsEmpty());
  EXPECT_THAT(GetNames(models.ListModels({.owners = {"ann"}})), ElementsAre("a-Net"));
  EXPECT_THAT(GetNames(models.ListModels({.owner_ids = {two.bob.id}})), ElementsAre("b-net"));
  EXPECT_THAT(GetNames(models.ListModels({.workspace_names = {"Vision"}})), ElementsAre("a-Net"));
  EXPECT_THAT(GetNames(models.ListModels({.workspaces = {kUncategorized}})), ElementsAre("b-net"));
  ModelQuery visible;
  visible.visible = std::vector<int32_t>{two.vision};
  EXPECT_THAT(GetNames(models.ListModels(visible)), ElementsAre("a-Net"));
  EXPECT_THAT(*models.ListModelLabels(visible), ElementsAre("big"));
  visible.visible = std::vector<int32_t>();
  EXPECT_THAT(GetNames(models.ListModels(visible)), IsEmpty());
  EXPECT_THAT(*models.ListModelLabels({}), ElementsAre("big", "cats"));
  ASSERT_TRUE(models.ChangeModel(two.a.id, {.archived = true, .at = TimeAt(9)}).ok());
  EXPECT_THAT(GetNames(models.ListModels({.archived = false})), ElementsAre("b-net"));
}

TEST_P(StoreContractTest, NumbersVersionsWithoutReuse) {
  Commit(Trained());
  Models& models = store_->models();
  const auto bert = models.AddModel(ModelNamed("bert"));
  const auto gpt = models.AddModel(ModelNamed("gpt"));
  ASSERT_TRUE(bert.ok() && gpt.ok());
  ModelVersionRecord requested = MakeVersion(*bert, "a");
  requested.name = "first";
  requested.comment = "c";
  requested.notes = "n";
  requested.metadata = Value::Object{{"k", "v"}};
  requested.labels = {"good"};
  const auto first = models.AddVersion(requested);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->version, 1);
  EXPECT_EQ(models.AddVersion(MakeVersion(*bert, "b"))->version, 2);
  EXPECT_EQ(models.AddVersion(MakeVersion(*gpt, "a"))->version, 1);
  EXPECT_TRUE(models.DeleteVersion(bert->id, 2, TimeAt(8)).ok());
  requested.created_at = TimeAt(1);
  EXPECT_EQ(models.AddVersion(requested)->version, 3);
  EXPECT_EQ(models.GetModel("bert")->num_versions, 2);

  const auto read = models.GetVersion(bert->id, 1);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->id, first->id);
  EXPECT_EQ(read->checkpoint, CheckpointId("a"));
  EXPECT_EQ(read->name, "first");
  EXPECT_EQ(read->comment, "c");
  EXPECT_EQ(read->notes, "n");
  EXPECT_EQ(read->metadata, requested.metadata);
  EXPECT_THAT(read->labels, ElementsAre("good"));
  EXPECT_EQ(read->created_at, TimeAt(2));
  EXPECT_THAT(ExtractNumbers(models.ListVersions(bert->id, {})), ElementsAre(1, 3));
  EXPECT_THAT(ExtractNumbers(models.ListVersions(bert->id, {.by_time = true})), ElementsAre(3, 1));
  const ModelVersionQuery newest{.window = {.limit = 1}, .descending = true};
  EXPECT_THAT(ExtractNumbers(models.ListVersions(bert->id, newest)), ElementsAre(3));
  EXPECT_EQ(models.ListVersions(bert->id, newest)->total, 2);
  const auto changed = models.ChangeVersion(
      bert->id, 1, {.comment = "d", .metadata = Value(Value::Object{}), .at = TimeAt(9)});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->name, "first");
  EXPECT_EQ(changed->comment, "d");
  EXPECT_EQ(changed->metadata, Value(Value::Object{}));
  EXPECT_EQ(changed->updated_at, TimeAt(9));
  const absl::Status none = models.GetVersion(bert->id, 2).status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_THAT(std::string(none.message()), HasSubstr("version 2 of model bert not found"));
  EXPECT_TRUE(absl::IsNotFound(models.ChangeVersion(bert->id, 2, {.at = TimeAt(9)}).status()));
  EXPECT_TRUE(absl::IsNotFound(models.DeleteVersion(bert->id, 2, TimeAt(9))));
  EXPECT_TRUE(absl::IsNotFound(models.GetVersion(99, 1).status()));
}

TEST_P(StoreContractTest, RejectsChangesOfArchivedModel) {
  Commit(Trained());
  Models& models = store_->models();
  const auto bert = models.AddModel(ModelNamed("bert"));
  ASSERT_TRUE(bert.ok() && models.AddVersion(MakeVersion(*bert, "a")).ok());
  ASSERT_TRUE(models.ChangeModel(bert->id, {.archived = true, .at = TimeAt(3)}).ok());
  EXPECT_TRUE(models.GetModel("bert")->archived);
  EXPECT_TRUE(absl::IsFailedPrecondition(models.AddVersion(MakeVersion(*bert, "b")).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      models.ChangeModel(bert->id, {.notes = "n", .at = TimeAt(3)}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      models.ChangeVersion(bert->id, 1, {.notes = "n", .at = TimeAt(3)}).status()));
  ASSERT_TRUE(models.ChangeModel(bert->id, {.archived = false, .at = TimeAt(3)}).ok());
  EXPECT_TRUE(models.AddVersion(MakeVersion(*bert, "b")).ok());
}

TEST_P(StoreContractTest, RequiresCompletedCheckpointForVersion) {
  Commit(Trained());
  Commit({cluster::MarkDamaged{CheckpointId("a"), model::TrialId(1), "torn"},
          cluster::DropCheckpoints{{CheckpointId("b")}}});
  Models& models = store_->models();
  const auto bert = models.AddModel(ModelNamed("bert"));
  ASSERT_TRUE(bert.ok()) << bert.status();
  const absl::Status damaged = models.AddVersion(MakeVersion(*bert, "a")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(damaged));
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("checkpoint a is ERROR"));
  EXPECT_TRUE(absl::IsFailedPrecondition(models.AddVersion(MakeVersion(*bert, "b")).status()));
  EXPECT_TRUE(absl::IsNotFound(models.AddVersion(MakeVersion(*bert, "x")).status()));
  EXPECT_EQ(models.AddVersion(MakeVersion(*bert, "c"))->version, 1);
  ModelRecord none = *bert;
  none.id = 99;
  EXPECT_TRUE(absl::IsNotFound(models.AddVersion(MakeVersion(none, "c")).status()));
}

TEST_P(StoreContractTest, KeepsCheckpointsOfModelVersions) {
  Commit(Trained());
  Models& models = store_->models();
  const auto bert = models.AddModel(ModelNamed("bert"));
  ASSERT_TRUE(bert.ok()) << bert.status();
  ASSERT_TRUE(models.AddVersion(MakeVersion(*bert, "a")).ok());
  GarbageCollection& gc = store_->garbage_collection();
  EXPECT_THAT(*gc.ListHeldCheckpoints(ExperimentId(1)),
              ElementsAre(HeldCheckpoint{CheckpointId("a"), "version 1 of model bert"}));
  EXPECT_THAT(*models.ListHolders(ExperimentId(1)), ElementsAre("version 1 of model bert"));
  EXPECT_THAT(*models.ListHolders(ExperimentId(2)), IsEmpty());

  // Deletion by ID, by retention, and with the experiment.
  Commit({cluster::DropCheckpoints{{CheckpointId("a"), CheckpointId("b")}}});
  EXPECT_EQ(GetState(*store_, "a"), CheckpointState::kCompleted);
  EXPECT_EQ(GetState(*store_, "b"), CheckpointState::kDeleting);
  Commit({cluster::ApplyRetention{ExperimentId(1), {0, 1, 1}, {CheckpointId("a")}}});
  EXPECT_EQ(GetState(*store_, "a"), CheckpointState::kCompleted);
  Commit({cluster::MarkDeleting{ExperimentId(1)}});
  EXPECT_EQ(GetState(*store_, "a"), CheckpointState::kCompleted);
  EXPECT_EQ(GetState(*store_, "c"), CheckpointState::kDeleting);
  ASSERT_TRUE(
      gc.MarkCheckpointsDeleted({CheckpointId("a"), CheckpointId("b"), CheckpointId("c")}).ok());
  while (!*gc.RemoveRows(ExperimentId(1), 10)) {
  }
  EXPECT_EQ(GetState(*store_, "a"), CheckpointState::kCompleted);
  EXPECT_TRUE(absl::IsNotFound(store_->GetCheckpoint(CheckpointId("c")).status()));
  EXPECT_THAT(*gc.ListReleased(), IsEmpty());

  // The checkpoint is protected until the version is deleted, alone or with its model.
  ASSERT_TRUE(models.DeleteModel(bert->id).ok());
  EXPECT_THAT(*gc.ListHeldCheckpoints(ExperimentId(1)), IsEmpty());
  EXPECT_THAT(*gc.ListReleased(), ElementsAre(ExperimentId(1)));
}

}  // namespace
}  // namespace det::store
