#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/event_file.h"
#include "trial_api/cpp/core/mirrored_metrics.h"
#include "trial_api/cpp/core/printed_metrics.h"
#include "trial_api/cpp/core/tensorboard_folder.h"

namespace det::core {
namespace {

namespace fs = std::filesystem;

double Noon() { return 1700000000.25; }

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

// The same bytes as the Python implementation det.tensorboard writes.
TEST(EventFileTest, MatchesPythonImplementation) {
  const base::TempDir dir = *base::TempDir::Create();
  EventFile file(dir.path() + "/new", Noon);
  file.AddScalar("training/loss", 300, 0.5);
  file.AddText("notes", 301, "good");
  file.Flush();
  EXPECT_TRUE(absl::StrContains(file.path(), "/new/events.out.tfevents.1700000000."));
  EXPECT_EQ(absl::BytesToHexString(*base::ReadFile(file.path())),
            "1a00000000000000129bd82d0900001040fc54d94110001a0d627261696e2e4576656e743a3252ef9793"
            "2400000000000000422b804d0900001040fc54d94110ac022a160a140a0d747261696e696e672f6c6f73"
            "73150000003ff37172dd31000000000000009d8383e90900001040fc54d94110ad022a230a210a056e6f"
            "7465734a080a060a0474657874420e08071204120208014204676f6f64dd3fd793");
}

TEST(EventFileTest, HasUniqueName) {
  const base::TempDir dir = *base::TempDir::Create();
  const EventFile one(dir.path(), Noon);
  const EventFile other(dir.path(), Noon);
  EXPECT_EQ(FilesIn(dir.path()).size(), 2u);
}

TEST(EventFileTest, ThrowsError_WhenDirectoryCannotBeCreated) {
  const base::TempDir dir = *base::TempDir::Create();
  ASSERT_TRUE(base::WriteFile(dir.path() + "/file", "").ok());
  EXPECT_THROW(EventFile(dir.path() + "/file/folder", Noon), Error);
}

TEST(TensorboardTest, CreatesNoFileWithoutPoints) {
  const base::TempDir dir = *base::TempDir::Create();
  int copies = 0;
  const auto board = MakeTensorboard(
      dir.path() + "/run", [&copies](const std::string&) { ++copies; }, Noon);
  board->Finish();
  EXPECT_EQ(copies, 1);
  EXPECT_TRUE(FilesIn(dir.path()).empty());
  EXPECT_TRUE(fs::is_directory(board->Folder()));
}

TEST(TensorboardTest, FinishWaitsUntilAllFilesAreCopied) {
  const base::TempDir dir = *base::TempDir::Create();
  std::string copied;
  const auto copy = [&copied](const std::string& folder) {
    copied = *base::ReadFile(FilesIn(folder).at(0));
  };
  const auto board = MakeTensorboard(dir.path(), copy, Noon);
  for (int step = 1; step <= 100; ++step) {
    board->AddScalars("training", step, {{"loss", 1.0 / step}, {"error", 0.5}});
    if (step % 10 == 0) board->Upload();
  }
  board->Finish();
  EXPECT_EQ(copied, *base::ReadFile(FilesIn(dir.path()).at(0)));
  EXPECT_TRUE(absl::StrContains(copied, "training/loss"));
  EXPECT_TRUE(absl::StrContains(copied, "training/error"));
}

// Only the last file is copied again with each point.
TEST(TensorboardTest, StartsNewFile_WhenFileIsLarge) {
  const base::TempDir dir = *base::TempDir::Create();
  const auto board = MakeTensorboard(dir.path(), nullptr, Noon);
  for (int step = 1; step <= 4; ++step) board->AddText("text", step, std::string(1 << 16, '-'));
  EXPECT_EQ(FilesIn(dir.path()).size(), 1u);
  for (int step = 5; step <= 8; ++step) board->AddText("text", step, std::string(1 << 16, '-'));
  EXPECT_EQ(FilesIn(dir.path()).size(), 2u);
  board->Finish();
}

// Later uploads wait for the end of the period, but not Finish and the destructor.
TEST(TensorboardTest, CopiesWhatWasAdded_WhenDestroyed) {
  const base::TempDir dir = *base::TempDir::Create();
  std::vector<int64_t> sizes;
  {
    const auto board = MakeTensorboard(
        dir.path(),
        [&sizes](const std::string& folder) {
          sizes.push_back(static_cast<int64_t>(fs::file_size(FilesIn(folder).at(0))));
        },
        Noon);
    for (int step = 1; step <= 100; ++step) {
      board->AddScalar("loss", step, 0.5);
      board->Upload();
    }
  }
  EXPECT_LE(sizes.size(), 100u);
  EXPECT_EQ(sizes.back(), static_cast<int64_t>(fs::file_size(FilesIn(dir.path()).at(0))));
}

TEST(TensorboardTest, MarksStartOfResumedAttempt) {
  const base::TempDir dir = *base::TempDir::Create();
  const auto board = MakeTensorboard(dir.path(), nullptr, Noon, 300);
  board->AddScalar("loss", 301, 0.5);
  board->Finish();
  const std::string events = *base::ReadFile(FilesIn(dir.path()).at(0));
  // Step 301, and a SessionLog (field 7) with the status (field 1) START (1).
  EXPECT_TRUE(absl::StrContains(events, absl::HexStringToBytes("10ad023a020801")));
}

// Records the calls.
class RecordedTensorboard final : public Tensorboard {
 public:
  std::string Folder() override { return ""; }
  void AddScalar(const std::string& tag, int64_t step, double value) override {
    points.push_back(absl::StrCat(tag, " ", step, " ", value));
  }
  void AddText(const std::string&, int64_t, const std::string&) override {}
  void Upload() override { ++uploads; }
  void Finish() override {}

  std::vector<std::string> points;
  int uploads = 0;
};

TEST(MirroredMetricsTest, AddsReportsToTensorboard) {
  RecordedTensorboard board;
  std::ostringstream printed;
  const auto metrics =
      MakeMirroredMetrics(MakePrintedMetrics(printed, "error", /*smaller_is_better=*/true), &board);
  metrics->ReportTraining(10, {{"loss", 0.5}});
  EXPECT_TRUE(metrics->ReportValidation(10, {{"error", 0.25}, {"validation_loss", 2}}));
  EXPECT_FALSE(metrics->ReportValidation(20, {{"error", 0.75}}));
  metrics->Report("gpu", 20, {{"util", 1}});
  EXPECT_EQ(board.points, (std::vector<std::string>{
                              "Determined/loss 10 0.5", "Determined/val_error 10 0.25",
                              "Determined/validation_loss 10 2", "Determined/val_error 20 0.75"}));
  EXPECT_EQ(board.uploads, 3);
  EXPECT_TRUE(absl::StrContains(printed.str(), "gpu"));
}

TEST(TensorboardTest, WarnsOnce_WhenWritingFails) {
  const base::TempDir dir = *base::TempDir::Create();
  ASSERT_TRUE(base::WriteFile(dir.path() + "/file", "").ok());
  const auto board = MakeTensorboard(
      dir.path() + "/file", [](const std::string&) { throw Error("the storage is away"); }, Noon);
  testing::internal::CaptureStderr();
  board->AddScalar("loss", 1, 0.5);
  board->AddScalar("loss", 2, 0.5);
  board->Finish();
  board->Finish();
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 2) << output;
  EXPECT_TRUE(absl::StrContains(
      output, "WARNING: stopped writing TensorBoard files of this trial: cannot"));
  EXPECT_TRUE(absl::StrContains(output, "the storage is away"));
}

}  // namespace
}  // namespace det::core
