// The commands that archive, delete and thin out, against a master that answers by a script.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

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

// Somebody at a terminal, who has typed `line`, is this process' standard input while it lives.
class Typed {
 public:
  explicit Typed(const std::string& line)
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
  ~Typed() { ::dup2(before_.get(), STDIN_FILENO); }

 private:
  const base::Fd terminal_, before_;
};

// Nobody, whoever runs the test.
class Nobody {
 public:
  Nobody() : before_(::dup(STDIN_FILENO)) {
    const base::Fd none(::open("/dev/null", O_RDONLY));
    ::dup2(none.get(), STDIN_FILENO);
  }
  ~Nobody() { ::dup2(before_.get(), STDIN_FILENO); }

 private:
  const base::Fd before_;
};

TEST(ExperimentDeleteTest, SaysWhatGoesAndDoesNothingWhenNobodyAnswers) {
  const Nobody nobody;
  const Said said = Det("experiment delete 7", {kExperiment});
  EXPECT_THAT(std::string(said.code.status().message()),
              HasSubstr("Delete experiment 7 (digits) with 2 trials, 3 checkpoints (2.0 KiB), "
                        "logs and metrics? Cannot ask for confirmation without a terminal; "
                        "confirm with --yes"));
  EXPECT_THAT(said.requests, ElementsAre("GET /api/v1/experiments/7"));
}

TEST(ExperimentDeleteTest, AsksWhoeverIsThere) {
  {
    const Typed no("n");
    const Said said = Det("experiment delete 7", {kExperiment});
    EXPECT_EQ(said.code.status().message(), "canceled; nothing was changed");
    EXPECT_THAT(said.err, HasSubstr("[y/N]"));
    EXPECT_EQ(said.requests.size(), 1u);
  }
  const Typed yes("y");
  const Said said = Det("experiment delete 7", {kExperiment, "{}"});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  EXPECT_THAT(said.requests,
              ElementsAre("GET /api/v1/experiments/7", StartsWith("DELETE /api/v1/experiments/7")));
  EXPECT_EQ(said.out, "deleting experiment 7\n");
}

TEST(ExperimentDeleteTest, SaysWhoNeedsWhatStays) {
  const Said said = Det("experiment delete 7 --yes", {kExperiment, kKept});
  EXPECT_EQ(said.code.value_or(-1), kExitOk);
  EXPECT_EQ(said.out, "deleting experiment 7\n");
  EXPECT_EQ(said.err, "checkpoint c1 was kept: experiment 9 uses it\n");
  const Said json = Det("experiment delete 7 --yes --json", {kExperiment, kKept});
  EXPECT_THAT(json.out, HasSubstr("\"holder\": \"experiment 9\""));
  EXPECT_EQ(json.err, "");
}

TEST(ExperimentDeleteTest, ARefusalIsTheMasters) {
  const Said said = Det("experiment delete 7 --yes", {kExperiment, Refusal()});
  EXPECT_THAT(std::string(said.code.status().message()), HasSubstr("kill it first"));
  EXPECT_EQ(said.out, "");
}

TEST(ExperimentArchiveTest, AsksForOneThing) {
  const Said archive = Det("experiment archive 7", {"{}"});
  EXPECT_THAT(archive.requests, ElementsAre(StartsWith("POST /api/v1/experiments/7/archive")));
  EXPECT_EQ(archive.out, "archived experiment 7\n");
  const Said unarchive = Det("experiment unarchive 7", {"{}"});
  EXPECT_THAT(unarchive.requests, ElementsAre(StartsWith("POST /api/v1/experiments/7/unarchive")));
  EXPECT_EQ(unarchive.out, "unarchived experiment 7\n");
  const Said refused = Det("experiment archive 7", {Refusal()});
  EXPECT_THAT(std::string(refused.code.status().message()), HasSubstr("kill it first"));
}

TEST(CheckpointDeleteTest, TakesSeveralAtOnceHoweverTheyAreNamed) {
  const Said said = Det("checkpoint delete a,b c --yes", {"{}"});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  EXPECT_THAT(said.requests,
              ElementsAre(R"(DELETE /api/v1/checkpoints {"checkpointUuids":["a","b","c"]})"));
  EXPECT_EQ(said.out, "deleting 3 checkpoints\n");
}

TEST(CheckpointDeleteTest, OneThatStaysIsAnError) {
  const Said said = Det("checkpoint delete a,c1 --yes", {kKept});
  EXPECT_EQ(said.code.value_or(-1), kExitError);
  EXPECT_EQ(said.out, "deleting 1 checkpoint\n");
  EXPECT_EQ(said.err, "checkpoint c1 was kept: experiment 9 uses it\n");
}

TEST(CheckpointDeleteTest, AsksBeforeItAsksTheMaster) {
  const Nobody nobody;
  const Said said = Det("checkpoint delete a,b", {});
  EXPECT_THAT(std::string(said.code.status().message()),
              HasSubstr("Delete the files of 2 checkpoints?"));
  EXPECT_THAT(said.requests, IsEmpty());
  EXPECT_THAT(std::string(Det("checkpoint delete ,", {}).code.status().message()),
              HasSubstr("needs the UUID of a CHECKPOINT"));
}

TEST(GcPolicyTest, SendsOnlyWhatIsGivenZeroToo) {
  const Said said = Det("experiment set gc-policy 7 --save-trial-best 0 --yes", {"{}"});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  ASSERT_EQ(said.requests.size(), 1u);
  EXPECT_THAT(said.requests[0], StartsWith("PATCH /api/v1/experiments/7 "));
  EXPECT_THAT(said.requests[0], HasSubstr(R"("checkpointStorage":{"saveTrialBest":0})"));
  EXPECT_EQ(said.out, "set gc-policy of experiment 7\n");
}

TEST(GcPolicyTest, ShowsWhatWouldGoAndChangesNothingWhenNobodyAnswers) {
  const Nobody nobody;
  const Said said = Det("experiment set gc-policy 7 --save-experiment-best 2", {kPreview});
  EXPECT_THAT(std::string(said.code.status().message()),
              HasSubstr("Delete 1 checkpoint of experiment 7 and keep 2?"));
  EXPECT_THAT(said.err, HasSubstr("c1"));
  EXPECT_THAT(said.requests,
              ElementsAre("GET /api/v1/experiments/7/preview_gc?saveExperimentBest=2"));
}

TEST(GcPolicyTest, AsksAlsoWhenNothingWouldGo) {
  const Typed yes("yes");
  const Said said =
      Det("experiment set gc-policy 7 --save-trial-latest 3", {R"({"kept":5})", "{}"});
  ASSERT_TRUE(said.code.ok()) << said.code.status();
  EXPECT_THAT(
      said.err,
      HasSubstr("no checkpoint of experiment 7 would be deleted; 5 checkpoints would be kept"));
  EXPECT_EQ(said.requests.size(), 2u);
}

TEST(GcPolicyTest, ANumberThatIsNoneIsSaidBeforeItAsksAnybody) {
  const Said said = Det("experiment set gc-policy 7 --save-trial-best few --yes", {});
  EXPECT_THAT(std::string(said.code.status().message()),
              HasSubstr("save-trial-best: expected an integer"));
  EXPECT_THAT(said.requests, IsEmpty());
}

}  // namespace
}  // namespace det::cli
