// Routes outside of /api/v1 that existing clients use, in a whole master: archives of checkpoints
// and contexts, retention preview, slot holders.
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "det/api/v1/checkpoint.grpc.pb.h"
#include "det/api/v1/raw.grpc.pb.h"
#include "det/api/v1/task_runtime.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

using google::api::HttpBody;
using google::protobuf::Struct;
using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kOlder[] = "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";
constexpr char kNewer[] = "1b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60";

class UnversionedRoutesTest : public MasterIntegrationTest {
 protected:
  using Stub = api::RawService::Stub;

  // Runs a trial that saves both checkpoints, each with a file of seven bytes.
  std::string Train(FakeAgent& agent) {
    EXPECT_TRUE(agent.Next().has_registered());
    api::CreateExperimentRequest request =
        Request(std::string(kConfig) +
                "checkpoint_storage: {type: shared_fs, host_path: " + folder_.path() + "}\n");
    api::File* file = request.add_model_definition();
    file->set_path("model.py");
    file->set_content("code");
    file->set_type(48);
    api::CreateExperimentResponse made;
    EXPECT_TRUE(Create(request, &made).ok());
    experiment_ = made.experiment().id();
    const wire::MasterMessage start = agent.Next();
    const std::string allocation = start.start().task().allocation_id();
    token_ = start.start().task().session_token();
    agent.Started(allocation);
    agent.AwaitAck();
    Save(allocation, kOlder, 1);
    Save(allocation, kNewer, 2);
    return allocation;
  }
  void Save(const std::string& allocation, const std::string& uuid, int steps,
            const std::vector<std::string>& files = {"model.pt"}) {
    const std::string place = folder_.path() + "/" + uuid;
    EXPECT_TRUE(base::MakeDirs(place).ok());
    for (const std::string& file : files) {
      EXPECT_TRUE(base::WriteFileAtomically(place + "/" + file, "weights", 0644).ok());
    }
    CallContext context(token_);
    trial::ReportCheckpointRequest request;
    request.set_allocation_id(allocation);
    request.set_trial_id(Get(experiment_).trial_ids(0));
    request.set_uuid(uuid);
    request.set_steps_completed(steps);
    for (const std::string& file : files) (*request.mutable_resources())[file] = 7;
    trial::ReportCheckpointResponse none;
    const grpc::Status status = runtime_->ReportCheckpoint(&context, request, &none);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  template <class Request>
  grpc::Status Download(std::unique_ptr<grpc::ClientReader<HttpBody>> (Stub::*method)(
                            grpc::ClientContext*, const Request&),
                        const Request& request, const std::string& accept = "") {
    CallContext context("user");
    if (!accept.empty()) context.AddMetadata("x-accept", accept);
    const auto stream = (raw_.get()->*method)(&context, request);
    file_.clear();
    for (HttpBody part; stream->Read(&part);) {
      type_ = part.content_type();
      file_ += part.data();
    }
    return stream->Finish();
  }
  grpc::Status Archive(const std::string& uuid, const std::string& accept = "") {
    api::DownloadCheckpointRequest request;
    request.set_checkpoint_uuid(uuid);
    return Download(&Stub::DownloadCheckpoint, request, accept);
  }

  grpc::Status RemoveFiles(const std::vector<std::string>& uuids,
                           const std::vector<std::string>& globs) {
    CallContext context("user");
    api::CheckpointsRemoveFilesRequest request;
    request.mutable_checkpoint_uuids()->Add(uuids.begin(), uuids.end());
    request.mutable_checkpoint_globs()->Add(globs.begin(), globs.end());
    return checkpoints_->CheckpointsRemoveFiles(&context, request, &removed_);
  }
  // Polls until garbage collection has removed the files.
  api::Checkpoint AwaitFiles(const std::string& uuid, int files) {
    api::GetCheckpointResponse response;
    do {
      CallContext context("user");
      api::GetCheckpointRequest request;
      request.set_checkpoint_uuid(uuid);
      EXPECT_TRUE(checkpoints_->GetCheckpoint(&context, request, &response).ok());
      std::this_thread::yield();
    } while (response.checkpoint().resources_size() != files);
    return response.checkpoint();
  }
  bool Exists(const std::string& path) const {
    return std::filesystem::exists(folder_.path() + "/" + path);
  }

  const base::TempDir folder_ = *base::TempDir::Create();
  int experiment_ = 0;
  std::string file_, type_;  // body and content type of the last download
  api::CheckpointsRemoveFilesResponse removed_;
  std::unique_ptr<Stub> raw_ = api::RawService::NewStub(master_.channel());
  std::unique_ptr<api::CheckpointService::Stub> checkpoints_ =
      api::CheckpointService::NewStub(master_.channel());
};

TEST_F(UnversionedRoutesTest, RemovesCheckpointFilesByPattern) {
  FakeAgent agent(master_, "node", 1);
  const std::string allocation = Train(agent);
  Save(allocation, kOlder, 1, {"model.pt", "opt.pt"});
  ASSERT_TRUE(RemoveFiles({kOlder, kNewer}, {"opt*"}).ok());
  EXPECT_THAT(removed_.unmatched(), testing::ElementsAre(kNewer));
  const api::Checkpoint older = AwaitFiles(kOlder, 1);
  EXPECT_EQ(older.state(), api::Checkpoint::STATE_PARTIALLY_DELETED);
  EXPECT_EQ(older.size(), 7);
  EXPECT_TRUE(older.resources().contains("model.pt"));
  EXPECT_TRUE(Exists(std::string(kOlder) + "/model.pt"));
  EXPECT_FALSE(Exists(std::string(kOlder) + "/opt.pt"));
  ASSERT_TRUE(Archive(kOlder, "application/zip").ok());
  EXPECT_THAT(file_, AllOf(HasSubstr("model.pt"), Not(HasSubstr("opt.pt"))));
  // No trial can start from it.
  api::CreateExperimentResponse made;
  const grpc::Status refused =
      Create(Request("name: warm\nentrypoint: \"true\"\nsearcher: {name: single, metric: loss, "
                     "max_length: {batches: 1}, source_checkpoint_uuid: " +
                     std::string(kOlder) + "}\n"),
             &made);
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("is PARTIALLY_DELETED"));
  // The latest checkpoint of a running trial is protected.
  const grpc::Status in_use = RemoveFiles({kNewer}, {"*.pt"});
  EXPECT_EQ(in_use.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(in_use.error_message(), HasSubstr("by trial 1"));
  EXPECT_TRUE(Exists(std::string(kNewer) + "/model.pt"));
  EXPECT_EQ(RemoveFiles({kOlder}, {"../*"}).error_code(), StatusCode::INVALID_ARGUMENT);
  // Removing the last file deletes the checkpoint.
  ASSERT_TRUE(RemoveFiles({kOlder}, {"**/model.*"}).ok());
  EXPECT_EQ(AwaitFiles(kOlder, 0).state(), api::Checkpoint::STATE_DELETED);
  EXPECT_FALSE(Exists(kOlder));
  agent.Exited(allocation, 0);
}

TEST_F(UnversionedRoutesTest, AcceptsUuidInUpperCaseAndRejectsOtherWords) {
  FakeAgent agent(master_, "node", 1);
  const std::string allocation = Train(agent);
  const auto get = [&](const std::string& uuid) {
    CallContext context("user");
    api::GetCheckpointRequest request;
    request.set_checkpoint_uuid(uuid);
    api::GetCheckpointResponse response;
    const auto code = checkpoints_->GetCheckpoint(&context, request, &response).error_code();
    EXPECT_EQ(response.checkpoint().uuid(), code == StatusCode::OK ? kOlder : "");
    return code;
  };
  EXPECT_EQ(get(absl::AsciiStrToUpper(kOlder)), StatusCode::OK);
  EXPECT_EQ(get("abc"), StatusCode::NOT_FOUND);
  EXPECT_EQ(get("00000000-0000-0000-0000-000000000009"), StatusCode::NOT_FOUND);
  agent.Exited(allocation, 0);
}

TEST_F(UnversionedRoutesTest, RemovesMissingFilesFromCheckpoint_WithoutPatterns) {
  FakeAgent agent(master_, "node", 1);
  const std::string allocation = Train(agent);
  Save(allocation, kOlder, 1, {"model.pt", "opt.pt"});
  ASSERT_TRUE(RemoveFiles({kOlder}, {}).ok());
  EXPECT_EQ(AwaitFiles(kOlder, 2).state(), api::Checkpoint::STATE_COMPLETED);
  EXPECT_TRUE(Exists(std::string(kOlder) + "/opt.pt")) << "nothing is deleted";
  std::filesystem::remove(folder_.path() + "/" + kOlder + "/opt.pt");
  ASSERT_TRUE(RemoveFiles({kOlder}, {}).ok());
  const api::Checkpoint older = AwaitFiles(kOlder, 1);
  EXPECT_EQ(older.state(), api::Checkpoint::STATE_PARTIALLY_DELETED);
  EXPECT_EQ(older.size(), 7);
  EXPECT_TRUE(Exists(std::string(kOlder) + "/model.pt"));
  agent.Exited(allocation, 0);
}

TEST_F(UnversionedRoutesTest, TaskReportsRemovedCheckpointFiles) {
  FakeAgent agent(master_, "node", 1);
  const std::string allocation = Train(agent);
  Save(allocation, kOlder, 1, {"model.pt", "opt.pt"});
  const auto patch = [&](const std::string& file) {
    CallContext context(token_);
    api::PatchCheckpointsRequest request;
    api::PatchCheckpoint* one = request.add_checkpoints();
    one->set_uuid(kOlder);
    (*one->mutable_resources()->mutable_resources())[file] = 7;
    api::PatchCheckpointsResponse none;
    return api::TaskRuntimeService::NewStub(master_.channel())
        ->PatchCheckpoints(&context, request, &none)
        .error_code();
  };
  EXPECT_EQ(patch("other.pt"), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(patch("model.pt"), StatusCode::OK);
  EXPECT_EQ(AwaitFiles(kOlder, 1).state(), api::Checkpoint::STATE_PARTIALLY_DELETED);
  EXPECT_TRUE(Exists(std::string(kOlder) + "/model.pt"));
  EXPECT_EQ(patch("model.pt"), StatusCode::OK) << "repeated";
  agent.Exited(allocation, 0);
}

TEST_F(UnversionedRoutesTest, SendsACheckpointInTheAcceptedFormat) {
  FakeAgent agent(master_, "node", 1);
  Train(agent);
  ASSERT_TRUE(Archive(kNewer).ok());
  EXPECT_EQ(type_, "application/gzip");
  EXPECT_TRUE(file_.starts_with("\x1f\x8b"));
  ASSERT_TRUE(Archive(kNewer, "application/zip").ok());
  EXPECT_EQ(type_, "application/zip");
  EXPECT_THAT(file_, HasSubstr("model.pt"));
  EXPECT_EQ(Archive(kNewer, "image/png").error_code(), StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(Archive(kNewer, "text/html, */*;q=0.8").ok());
  EXPECT_EQ(type_, "application/gzip");
}

TEST_F(UnversionedRoutesTest, RejectsAnUnreadableCheckpoint) {
  FakeAgent agent(master_, "node", 1);
  Train(agent);
  std::filesystem::remove_all(folder_.path() + "/" + kNewer);
  const grpc::Status away = Archive(kNewer);
  EXPECT_EQ(away.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(away.error_message(), HasSubstr("the master cannot read"));
  ASSERT_TRUE(base::MakeDirs(folder_.path() + "/" + kNewer).ok());
  ASSERT_TRUE(
      base::WriteFileAtomically(folder_.path() + "/" + kNewer + "/model.pt", "short", 0644).ok());
  EXPECT_EQ(Archive(kNewer).error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(Archive("2b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60").error_code(), StatusCode::NOT_FOUND);
}

TEST_F(UnversionedRoutesTest, SendsAContextWholeOrByFile) {
  FakeAgent agent(master_, "node", 1);
  Train(agent);
  api::DownloadModelDefRequest request;
  request.set_experiment_id(experiment_);
  ASSERT_TRUE(Download(&Stub::DownloadModelDef, request).ok());
  EXPECT_TRUE(file_.starts_with("\x1f\x8b"));
  api::DownloadModelDefFileRequest one;
  one.set_experiment_id(experiment_);
  one.set_path("model.py");
  ASSERT_TRUE(Download(&Stub::DownloadModelDefFile, one).ok());
  EXPECT_EQ(file_, "code");
  one.set_path("../model.py");
  EXPECT_EQ(Download(&Stub::DownloadModelDefFile, one).error_code(), StatusCode::INVALID_ARGUMENT);
  request.set_experiment_id(Create());
  EXPECT_EQ(Download(&Stub::DownloadModelDef, request).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(UnversionedRoutesTest, ListsExperimentsWhoseCheckpointsAreBeingRemoved) {
  FakeAgent agent(master_, "node", 1);
  const std::string allocation = Train(agent);
  // The files cannot be removed while their folder is away.
  std::filesystem::rename(folder_.path(), folder_.path() + ".away");
  ASSERT_TRUE(RemoveFiles({kOlder}, {"*.pt"}).ok());
  const std::string name = absl::StrCat("gc-", experiment_);
  const auto list = [&] {
    CallContext context("user");
    Struct tasks;
    EXPECT_TRUE(raw_->GetTaskSummaries(&context, {}, &tasks).ok());
    return tasks;
  };
  EXPECT_EQ(list().fields().at(name).struct_value().fields().at("name").string_value(),
            absl::StrCat("Checkpoint GC (Experiment ", experiment_, ")"));
  std::filesystem::rename(folder_.path() + ".away", folder_.path());
  agent.Exited(allocation, 0);
}

TEST_F(UnversionedRoutesTest, ReturnsTheCaller) {
  CallContext context("user");
  Struct user;
  ASSERT_TRUE(raw_->GetRawMe(&context, {}, &user).ok());
  EXPECT_EQ(user.fields().at("username").string_value(), "admin");
  EXPECT_TRUE(user.fields().at("active").bool_value());
  EXPECT_TRUE(user.fields().at("agent_uid").has_null_value());
}

TEST_F(UnversionedRoutesTest, ListsSlotHoldersAndPreviewsRetention) {
  FakeAgent agent(master_, "node", 1);
  const std::string allocation = Train(agent);
  {
    CallContext context("user");
    Struct tasks;
    ASSERT_TRUE(raw_->GetTaskSummaries(&context, {}, &tasks).ok());
    const auto& summary = tasks.fields().at(allocation).struct_value().fields();
    EXPECT_EQ(summary.at("slots_needed").number_value(), 1);
    EXPECT_EQ(summary.at("name").string_value(), "Trial 1 (Experiment 1)");
    EXPECT_EQ(summary.at("scheduler_type").string_value(), "priority");
    const auto& resources = summary.at("resources").list_value().values(0).struct_value().fields();
    EXPECT_EQ(resources.at("resources_id").string_value(), "node");
    EXPECT_EQ(resources.at("resources_type").string_value(), "docker-container");
    const auto& devices = resources.at("agent_devices").struct_value().fields().at("node");
    EXPECT_EQ(devices.list_value().values_size(), 1);
  }
  CallContext context("user");
  api::PreviewRetentionRequest request;
  request.set_id(experiment_);
  request.set_save_trial_latest(1);
  request.set_save_trial_best(0);
  Struct preview;
  ASSERT_TRUE(raw_->PreviewGc(&context, request, &preview).ok());
  EXPECT_EQ(preview.fields().at("metric_name").string_value(), "loss");
  const auto& deleted = preview.fields().at("checkpoints").list_value();
  ASSERT_EQ(deleted.values_size(), 1);
  const auto& older = deleted.values(0).struct_value().fields();
  EXPECT_EQ(older.at("UUID").string_value(), kOlder);
  EXPECT_EQ(older.at("TrialID").number_value(), Get(experiment_).trial_ids(0));
  EXPECT_EQ(older.at("StepsCompleted").number_value(), 1);
  EXPECT_FALSE(older.contains("step")) << "clients expect a validation there";
  EXPECT_EQ(older.at("Resources").struct_value().fields().at("model.pt").number_value(), 7);
}

}  // namespace
}  // namespace det::tests
