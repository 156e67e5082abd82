// Commands that archive and delete, against a scripted master.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fd.h"
#include "cli/command.h"
#include "cli/testing/fake_server.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kExperiment[] =
    R"({"experiment":{"id":7,"name":"digits","state":"STATE_COMPLETED","numTrials":2,
    "checkpointCount":3,"checkpointSize":"2048"}})";
constexpr char kKept[] = R"({"kept":[{"uuid":"c1","holder":"experiment 9"}]})";
constexpr char kPreview[] =
    R"({"checkpoints":[{"uuid":"c1","state":"STATE_COMPLETED","size":"10",
    "training":{"trialId":4}}],"kept":2})";

const char* Refusal() {
  static const std::string& text = *new std::string(
      Answer("400 Bad Request", R"({"code":9,"message":"experiment 7 is ACTIVE; kill it first"})"));
  return text.c_str();
}

// While it exists, stdin is a terminal on which a user has typed `line`.
class TerminalInput {
 public:
  explicit TerminalInput(const std::string& line)
      : terminal_(::posix_openpt(O_RDWR | O_NOCTTY)), before_(::dup(STDIN_FILENO)) {
    EXPECT_EQ(::grantpt(terminal_.get()), 0);
    EXPECT_EQ(::unlockpt(terminal_.get()), 0);
    const base::Fd seen(::open(::ptsname(terminal_.get()), O_RDWR | O_NOCTTY));
    EXPECT_EQ(::dup2(seen.get(), STDIN_FILENO), STDIN_FILENO);
    const std::string text = line + "\n";
    EXPECT_EQ(::write(terminal_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    std::cin.clear();
  }
  ~TerminalInput() { ::dup2(before_.get(), STDIN_FILENO); }

 private:
  const base::Fd terminal_, before_;
};

// While it exists, stdin is /dev/null.
class NoStdin {
 public:
  NoStdin() : before_(::dup(STDIN_FILENO)) {
    const base::Fd none(::open("/dev/null", O_RDONLY));
    ::dup2(none.get(), STDIN_FILENO);
  }
  ~NoStdin() { ::dup2(before_.get(), STDIN_FILENO); }

 private:
  const base::Fd before_;
};

TEST(ExperimentDeleteTest, DeletesNothing_WithoutConfirmation) {
  const NoStdin no_stdin;
  const DetResult result = RunDet("experiment delete 7", {kExperiment});
  EXPECT_THAT(std::string(result.code.status().message()),
              HasSubstr("Delete experiment 7 (digits) with 2 trials, 3 checkpoints (2.0 KiB), "
                        "logs and metrics? Cannot ask for confirmation without a terminal; "
                        "confirm with --yes"));
  EXPECT_THAT(result.requests, ElementsAre("GET /api/v1/experiments/7"));
}

TEST(ExperimentDeleteTest, ConfirmsOnTerminal) {
  {
    const TerminalInput no("n");
    const DetResult result = RunDet("experiment delete 7", {kExperiment});
    EXPECT_EQ(result.code.status().message(), "canceled; nothing was changed");
    EXPECT_THAT(result.err, HasSubstr("[y/N]"));
    EXPECT_EQ(result.requests.size(), 1u);
  }
  const TerminalInput yes("y");
  const DetResult result = RunDet("experiment delete 7", {kExperiment, "{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests,
              ElementsAre("GET /api/v1/experiments/7", StartsWith("DELETE /api/v1/experiments/7")));
  EXPECT_EQ(result.out, "deleting experiment 7\n");
}

TEST(ExperimentDeleteTest, NamesUsersOfKeptCheckpoints) {
  const DetResult result = RunDet("experiment delete 7 --yes", {kExperiment, kKept});
  EXPECT_EQ(result.code.value_or(-1), kExitOk);
  EXPECT_EQ(result.out, "deleting experiment 7\n");
  EXPECT_EQ(result.err, "checkpoint c1 was kept: experiment 9 uses it\n");
  const DetResult json = RunDet("experiment delete 7 --yes --json", {kExperiment, kKept});
  EXPECT_THAT(json.out, HasSubstr("\"holder\": \"experiment 9\""));
  EXPECT_EQ(json.err, "");
}

TEST(ExperimentDeleteTest, ReturnsErrorOfMaster) {
  const DetResult result = RunDet("experiment delete 7 --yes", {kExperiment, Refusal()});
  EXPECT_THAT(std::string(result.code.status().message()), HasSubstr("kill it first"));
  EXPECT_EQ(result.out, "");
}

TEST(TensorboardFilesTest, DeletesFilesOfOneExperiment) {
  const DetResult result = RunDet("experiment delete-tb-files 7", {"{}"});
  EXPECT_EQ(result.code.value_or(-1), kExitOk);
  EXPECT_THAT(result.requests,
              ElementsAre(StartsWith("DELETE /api/v1/experiments/7/tensorboard-files")));
  EXPECT_EQ(result.out, "deleted the TensorBoard files of experiment 7\n");
  const DetResult refused = RunDet("experiment delete-tb-files 7", {Refusal()});
  EXPECT_THAT(std::string(refused.code.status().message()), HasSubstr("kill it first"));
}

TEST(ExperimentArchiveTest, SendsOneRequest) {
  const DetResult archive = RunDet("experiment archive 7", {"{}"});
  EXPECT_THAT(archive.requests, ElementsAre(StartsWith("POST /api/v1/experiments/7/archive")));
  EXPECT_EQ(archive.out, "archived experiment 7\n");
  const DetResult unarchive = RunDet("experiment unarchive 7", {"{}"});
  EXPECT_THAT(unarchive.requests, ElementsAre(StartsWith("POST /api/v1/experiments/7/unarchive")));
  EXPECT_EQ(unarchive.out, "unarchived experiment 7\n");
  const DetResult refused = RunDet("experiment archive 7", {Refusal()});
  EXPECT_THAT(std::string(refused.code.status().message()), HasSubstr("kill it first"));
}

TEST(CheckpointDeleteTest, AcceptsSeveralCheckpoints) {
  const DetResult result = RunDet("checkpoint delete a,b c --yes", {"{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests,
              ElementsAre(R"(DELETE /api/v1/checkpoints {"checkpointUuids":["a","b","c"]})"));
  EXPECT_EQ(result.out, "deleting 3 checkpoints\n");
}

// The master deletes none if one is in use.
TEST(CheckpointDeleteTest, ReturnsErrorOfMaster) {
  const DetResult result = RunDet("checkpoint delete a,c1 --yes", {Refusal()});
  EXPECT_THAT(std::string(result.code.status().message()), HasSubstr("kill it first"));
  EXPECT_EQ(result.out, "");
}

TEST(CheckpointDeleteTest, ConfirmsBeforeCallingMaster) {
  const NoStdin no_stdin;
  const DetResult result = RunDet("checkpoint delete a,b", {});
  EXPECT_THAT(std::string(result.code.status().message()),
              HasSubstr("Delete the files of 2 checkpoints?"));
  EXPECT_THAT(result.requests, IsEmpty());
  for (const char* command : {"delete", "describe"}) {
    const DetResult empty = RunDet(absl::StrCat("checkpoint ", command, " ,"), {});
    EXPECT_THAT(std::string(empty.code.status().message()),
                HasSubstr("needs the UUID of a CHECKPOINT"));
  }
}

TEST(GcPolicyTest, SendsOnlyGivenFields) {
  const DetResult result = RunDet("experiment set gc-policy 7 --save-trial-best 0 --yes", {"{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  ASSERT_EQ(result.requests.size(), 1u);
  EXPECT_THAT(result.requests[0], StartsWith("PATCH /api/v1/experiments/7 "));
  EXPECT_THAT(result.requests[0], HasSubstr(R"("checkpointStorage":{"saveTrialBest":0})"));
  EXPECT_EQ(result.out, "set gc-policy of experiment 7\n");
}

TEST(GcPolicyTest, ShowsPreviewAndChangesNothing_WithoutConfirmation) {
  const NoStdin no_stdin;
  const DetResult result =
      RunDet("experiment set gc-policy 7 --save-experiment-best 2", {kPreview});
  EXPECT_THAT(std::string(result.code.status().message()),
              HasSubstr("Delete 1 checkpoint of experiment 7 and keep 2?"));
  EXPECT_THAT(result.err, HasSubstr("c1"));
  EXPECT_THAT(result.requests,
              ElementsAre("GET /api/v1/experiments/7/preview_gc?saveExperimentBest=2"));
}

TEST(GcPolicyTest, Confirms_WhenNothingWouldBeDeleted) {
  const TerminalInput yes("yes");
  const DetResult result =
      RunDet("experiment set gc-policy 7 --save-trial-latest 3", {R"({"kept":5})", "{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(
      result.err,
      HasSubstr("no checkpoint of experiment 7 would be deleted; 5 checkpoints would be kept"));
  EXPECT_EQ(result.requests.size(), 2u);
}

TEST(GcPolicyTest, RejectsInvalidNumberBeforeCallingMaster) {
  const DetResult result = RunDet("experiment set gc-policy 7 --save-trial-best few --yes", {});
  EXPECT_THAT(std::string(result.code.status().message()),
              HasSubstr("save-trial-best: expected an integer"));
  EXPECT_THAT(result.requests, IsEmpty());
}

}  // namespace
}  // namespace det::cli
