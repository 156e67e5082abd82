// The model registry in a whole master: registration, authorization, and protection of registered
// checkpoints from deletion.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "det/api/v1/checkpoint.grpc.pb.h"
#include "det/api/v1/model.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFirst[] = "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
constexpr char kSecond[] = "1b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
constexpr char kThird[] = "2b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";

class ModelsTest : public MasterIntegrationTest {
 protected:
  using Stub = api::ModelService::Stub;

  template <class Method, class Request, class Response>
  grpc::Status Call(Method method, const Request& request, Response* response,
                    const std::string& token = "user") {
    CallContext context(token);
    return (models_.get()->*method)(&context, request, response);
  }
  grpc::Status Make(const std::string& name, int workspace = 1, const std::string& token = "user") {
    api::PostModelRequest request;
    request.set_name(name);
    request.set_workspace_id(workspace);
    api::PostModelResponse response;
    return Call(&Stub::PostModel, request, &response, token);
  }
  api::Model Model(const std::string& name) {
    api::GetModelRequest request;
    request.set_model_name(name);
    api::GetModelResponse response;
    const grpc::Status status = Call(&Stub::GetModel, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.model();
  }
  grpc::Status Register(const std::string& model, const std::string& checkpoint,
                        api::ModelVersion* version = nullptr, const std::string& token = "user") {
    api::PostModelVersionRequest request;
    request.set_model_name(model);
    request.set_checkpoint_uuid(checkpoint);
    api::PostModelVersionResponse response;
    grpc::Status status = Call(&Stub::PostModelVersion, request, &response, token);
    if (version != nullptr) *version = response.model_version();
    return status;
  }
  std::vector<std::string> Names(const std::string& token) {
    api::GetModelsRequest request;
    request.set_sort_by(api::GetModelsRequest::SORT_BY_NAME);
    api::GetModelsResponse response;
    EXPECT_TRUE(Call(&Stub::GetModels, request, &response, token).ok());
    std::vector<std::string> names;
    for (const api::Model& model : response.models()) names.push_back(model.name());
    EXPECT_EQ(response.pagination().total(), static_cast<int>(names.size()));
    EXPECT_EQ(response.pagination().end_index(), static_cast<int>(names.size()));
    return names;
  }
  grpc::Status DeleteExperiment(int id) {
    CallContext context("user");
    api::DeleteExperimentRequest request;
    request.set_experiment_id(id);
    api::DeleteExperimentResponse response;
    return experiments_->DeleteExperiment(&context, request, &response);
  }
  // Runs a trial that saves all three checkpoints.
  std::string Train(FakeAgent& agent, int* experiment) {
    const std::string allocation = Run(agent, experiment);
    int steps = 0;
    for (const char* uuid : {kFirst, kSecond, kThird}) {
      CallContext context(token_);
      trial::ReportCheckpointRequest request;
      request.set_allocation_id(allocation);
      request.set_trial_id(Get(*experiment).trial_ids(0));
      request.set_uuid(uuid);
      request.set_steps_completed(++steps);
      (*request.mutable_resources())["model.pt"] = 7;
      trial::ReportCheckpointResponse none;
      const grpc::Status status = runtime_->ReportCheckpoint(&context, request, &none);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
    return allocation;
  }
  model::CheckpointState GetCheckpointState(const char* uuid) {
    return master_.store().GetCheckpoint(model::CheckpointId(uuid))->checkpoint.state;
  }
  // Adds a user with this role in this workspace alone; the token is the name.
  void Add(const std::string& name, model::Role role, int32_t workspace) {
    const auto user = master_.store().users().AddUser({.username = name});
    ASSERT_TRUE(user.ok());
    ASSERT_TRUE(master_.store().access().AddRole({user->id, workspace, role}).ok());
    master_.AddSession(name, store::SessionRecord::Kind::kUser, user->id);
  }
  int AddWorkspace(const std::string& name) {
    store::WorkspaceRecord record;
    record.name = name;
    return master_.store().workspaces().AddWorkspace(record)->id;
  }

  std::unique_ptr<Stub> models_ = api::ModelService::NewStub(master_.channel());
  std::unique_ptr<api::CheckpointService::Stub> checkpoints_ =
      api::CheckpointService::NewStub(master_.channel());
};

TEST_F(ModelsTest, CreatesChangesAndDeletesAModel) {
  api::PostModelRequest request;
  request.set_name(" bert ");
  request.add_labels("nlp");
  (*request.mutable_metadata()->mutable_fields())["layers"].set_number_value(12);
  request.set_workspace_name("Uncategorized");
  api::PostModelResponse made;
  const grpc::Status status = Call(&Stub::PostModel, request, &made);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(made.model().name(), "bert");
  EXPECT_EQ(made.model().username(), "admin");
  EXPECT_EQ(made.model().workspace_id(), 1);
  EXPECT_GT(made.model().creation_time().seconds(), 0);
  EXPECT_EQ(Call(&Stub::PostModel, request, &made).error_code(), StatusCode::ALREADY_EXISTS);
  for (const char* bad : {"", "12", "a/b", "a\nb"}) {
    EXPECT_EQ(Make(bad).error_code(), StatusCode::INVALID_ARGUMENT) << bad;
  }
  EXPECT_EQ(Model(std::to_string(made.model().id())).name(), "bert");

  api::PatchModelRequest patch;
  patch.set_model_name("bert");
  patch.mutable_model()->set_notes("n");
  patch.mutable_model()->mutable_labels()->add_values()->set_string_value("base");
  api::PatchModelResponse patched;
  ASSERT_TRUE(Call(&Stub::PatchModel, patch, &patched).ok());
  EXPECT_THAT(patched.model().labels(), ElementsAre("base"));
  EXPECT_EQ(patched.model().metadata().fields().at("layers").number_value(), 12);
  api::ArchiveModelRequest archive;
  archive.set_model_name("bert");
  api::ArchiveModelResponse archived;
  ASSERT_TRUE(Call(&Stub::ArchiveModel, archive, &archived).ok());
  EXPECT_TRUE(Model("bert").archived());
  EXPECT_EQ(Call(&Stub::PatchModel, patch, &patched).error_code(), StatusCode::FAILED_PRECONDITION);
  api::UnarchiveModelRequest unarchive;
  unarchive.set_model_name("bert");
  api::UnarchiveModelResponse unarchived;
  ASSERT_TRUE(Call(&Stub::UnarchiveModel, unarchive, &unarchived).ok());
  api::DeleteModelRequest drop;
  drop.set_model_name("bert");
  api::DeleteModelResponse delete_response;
  ASSERT_TRUE(Call(&Stub::DeleteModel, drop, &delete_response).ok());
  EXPECT_EQ(Call(&Stub::DeleteModel, drop, &delete_response).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ModelsTest, VersionShowsItsCheckpoint) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Train(agent, &id);
  ASSERT_TRUE(Make("bert").ok());
  api::ModelVersion version;
  const grpc::Status status = Register("bert", kFirst, &version);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(version.version(), 1);
  EXPECT_EQ(version.model().num_versions(), 1);
  EXPECT_EQ(version.checkpoint().uuid(), kFirst);
  EXPECT_EQ(version.checkpoint().training().experiment_id(), id);
  EXPECT_EQ(version.checkpoint().storage_path(), std::string("/nowhere/") + kFirst);
  EXPECT_TRUE(version.checkpoint().training().experiment_config().fields().contains("searcher"));
  ASSERT_TRUE(Register("bert", kThird).ok());
  EXPECT_EQ(Register("bert", "none").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Register("bert", "").error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Register("gpt", kFirst).error_code(), StatusCode::NOT_FOUND);

  api::GetModelVersionsRequest list;
  list.set_model_name("bert");
  list.set_order_by(api::ORDER_BY_DESC);
  list.set_limit(1);
  api::GetModelVersionsResponse listed;
  ASSERT_TRUE(Call(&Stub::GetModelVersions, list, &listed).ok());
  ASSERT_EQ(listed.model_versions_size(), 1);
  EXPECT_EQ(listed.model_versions(0).version(), 2);
  EXPECT_EQ(listed.model().name(), "bert");
  EXPECT_EQ(listed.pagination().total(), 2);
  api::PatchModelVersionRequest patch;
  patch.set_model_name("bert");
  patch.set_model_version_num(1);
  patch.mutable_model_version()->set_comment("good");
  patch.mutable_model_version()->mutable_checkpoint()->set_uuid(kFirst);
  api::PatchModelVersionResponse patched;
  ASSERT_TRUE(Call(&Stub::PatchModelVersion, patch, &patched).ok());
  EXPECT_EQ(patched.model_version().comment(), "good");
  patch.mutable_model_version()->mutable_checkpoint()->set_uuid(kSecond);
  EXPECT_EQ(Call(&Stub::PatchModelVersion, patch, &patched).error_code(),
            StatusCode::INVALID_ARGUMENT);
  api::GetModelVersionRequest get;
  get.set_model_name("bert");
  get.set_model_version_num(3);
  api::GetModelVersionResponse got;
  EXPECT_EQ(Call(&Stub::GetModelVersion, get, &got).error_code(), StatusCode::NOT_FOUND);
  agent.Exited(allocation, 0);
}

TEST_F(ModelsTest, KeepsARegisteredCheckpointUntilItsVersionIsDeleted) {
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Train(agent, &id);
  ASSERT_TRUE(Make("bert").ok());
  ASSERT_TRUE(Register("bert", kFirst).ok());
  agent.Exited(allocation, 0);
  Await(id);
  // Retention keeps the newest of three checkpoints without a metric. Poll until it has run.
  while (GetCheckpointState(kSecond) == model::CheckpointState::kCompleted)
    std::this_thread::yield();
  EXPECT_EQ(GetCheckpointState(kFirst), model::CheckpointState::kCompleted);
  EXPECT_EQ(Register("bert", kSecond).error_code(), StatusCode::FAILED_PRECONDITION);

  CallContext removing("user");
  api::CheckpointsRemoveFilesRequest some;
  some.add_checkpoint_uuids(kFirst);
  some.add_checkpoint_globs("model*");
  api::CheckpointsRemoveFilesResponse removed;
  const grpc::Status kept = checkpoints_->CheckpointsRemoveFiles(&removing, some, &removed);
  EXPECT_EQ(kept.error_code(), StatusCode::INVALID_ARGUMENT) << "its files are kept as well";
  EXPECT_THAT(kept.error_message(), HasSubstr("version 1 of model bert"));
  EXPECT_EQ(GetCheckpointState(kFirst), model::CheckpointState::kCompleted);

  CallContext context("user");
  api::DeleteCheckpointsRequest request;
  for (const char* uuid : {kFirst, kThird}) request.add_checkpoint_uuids(uuid);
  api::DeleteCheckpointsResponse response;
  const grpc::Status in_use = checkpoints_->DeleteCheckpoints(&context, request, &response);
  EXPECT_EQ(in_use.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(in_use.error_message(),
              HasSubstr(absl::StrCat(kFirst, " by version 1 of model bert")));
  EXPECT_EQ(GetCheckpointState(kFirst), model::CheckpointState::kCompleted);
  EXPECT_EQ(GetCheckpointState(kThird), model::CheckpointState::kCompleted) << "nothing is deleted";

  const grpc::Status refused = DeleteExperiment(id);
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("version 1 of model bert"));
  EXPECT_EQ(Get(id).state(), api::Experiment::STATE_COMPLETED);
  api::DeleteModelVersionRequest drop;
  drop.set_model_name("bert");
  drop.set_model_version_num(1);
  api::DeleteModelVersionResponse delete_response;
  ASSERT_TRUE(Call(&Stub::DeleteModelVersion, drop, &delete_response).ok());
  const grpc::Status deleted = DeleteExperiment(id);
  EXPECT_TRUE(deleted.ok()) << deleted.error_message();
}

TEST_F(ModelsTest, AuthorizesModelsByWorkspace) {
  const int vision = AddWorkspace("vision");
  const int speech = AddWorkspace("speech");
  ASSERT_TRUE(Make("eyes", vision).ok());
  ASSERT_TRUE(Make("ears", speech).ok());
  Add("ann", model::Role::kEditor, vision);
  Add("bob", model::Role::kViewer, vision);
  EXPECT_THAT(Names("user"), ElementsAre("ears", "eyes"));
  EXPECT_THAT(Names("ann"), ElementsAre("eyes"));
  EXPECT_THAT(Names("bob"), ElementsAre("eyes"));
  EXPECT_EQ(Make("e", vision, "bob").error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Make("e", speech, "ann").error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(Make("e", vision, "ann").ok());
  api::PostModelRequest by_name;
  by_name.set_name("f");
  by_name.set_workspace_name("speech");
  api::PostModelResponse made;
  EXPECT_EQ(Call(&Stub::PostModel, by_name, &made, "ann").error_code(), StatusCode::NOT_FOUND);
  by_name.clear_workspace_name();
  EXPECT_EQ(Call(&Stub::PostModel, by_name, &made, "ann").error_code(), StatusCode::NOT_FOUND)
      << "ann has no role in Uncategorized";

  api::MoveModelRequest move;
  move.set_model_name("eyes");
  move.set_destination_workspace_id(speech);
  api::MoveModelResponse moved;
  EXPECT_EQ(Call(&Stub::MoveModel, move, &moved, "ann").error_code(), StatusCode::NOT_FOUND);
  ASSERT_TRUE(Call(&Stub::MoveModel, move, &moved).ok());
  EXPECT_EQ(Model("eyes").workspace_id(), speech);
  EXPECT_THAT(Names("bob"), ElementsAre("e"));
  // Users cannot register a checkpoint that they cannot see.
  FakeAgent agent(master_, "a1", 1);
  int id = 0;
  const std::string allocation = Train(agent, &id);
  EXPECT_EQ(Register("e", kFirst, nullptr, "ann").error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(Register("e", kFirst).ok());
  agent.Exited(allocation, 0);
}

TEST_F(ModelsTest, ListsLabelsOfVisibleModelsOnly) {
  const int vision = AddWorkspace("vision");
  api::PostModelRequest request;
  api::PostModelResponse made;
  request.set_name("eyes");
  request.set_workspace_id(vision);
  request.add_labels("cats");
  ASSERT_TRUE(Call(&Stub::PostModel, request, &made).ok());
  request.set_name("ears");
  request.set_workspace_id(1);
  request.set_labels(0, "dogs");
  ASSERT_TRUE(Call(&Stub::PostModel, request, &made).ok());
  Add("ann", model::Role::kViewer, vision);
  api::GetModelLabelsRequest ask;
  api::GetModelLabelsResponse labels;
  ASSERT_TRUE(Call(&Stub::GetModelLabels, ask, &labels, "ann").ok());
  EXPECT_THAT(labels.labels(), ElementsAre("cats"));
  labels.Clear();
  ask.set_workspace_id(1);
  ASSERT_TRUE(Call(&Stub::GetModelLabels, ask, &labels, "ann").ok());
  EXPECT_THAT(labels.labels(), IsEmpty());
  ASSERT_TRUE(Call(&Stub::GetModelLabels, ask, &labels).ok());
  EXPECT_THAT(labels.labels(), ElementsAre("dogs"));
}

}  // namespace
}  // namespace det::tests
