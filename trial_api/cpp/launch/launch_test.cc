// Tests of the launcher program, with an SDK without torch: off the cluster, and as a task of a
// master in the test's process.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/fake_master.h"
#include "trial_api/cpp/core/outbox.h"
#include "trial_api/cpp/core/report.h"
#include "trial_api/cpp/launch/rank_environment.h"
#include "trial_api/cpp/launch/testing.h"

namespace det::launch {
namespace {

struct Result {
  int code = 0;
  std::string out;
  std::string err;
};

class LaunchTest : public testing::Test {
 protected:
  LaunchTest() {
    variables_["DET_CACHE_DIR"] = sdk_.Path("cache");
    variables_["PATH"] = std::getenv("PATH");
  }

  void WriteTrial(const std::string& body) {
    sdk_.Write("context/trial.cc",
               "#include <csignal>\n#include <string>\n#include <unistd.h>\n"
               "std::string Env(const char* n) { return getenv(n) ? getenv(n) : \"-\"; }\n"
               "struct MyTrial { int Run(int argc, char** argv) {\n" +
                   body + "\n(void)argc; (void)argv; return 0; } };\n");
  }

  Result Launch(const std::vector<std::string>& more = {}) {
    base::SpawnOptions options;
    options.argv = {
        std::string(std::getenv("TEST_SRCDIR")) + "/resolute/trial_api/cpp/launch/resolute-launch",
        "--source=trial.cc", "--class=MyTrial", "--sdk-dir=" + sdk_.Path("sdk")};
    options.argv.insert(options.argv.end(), more.begin(), more.end());
    options.env.emplace();
    for (const auto& [name, value] : variables_) options.env->push_back(name + "=" + value);
    options.cwd = sdk_.Path("context");
    options.out = base::Redirect::File(sdk_.Path("out"));
    options.err = base::Redirect::File(sdk_.Path("err"));
    std::remove(sdk_.Path("out").c_str());
    std::remove(sdk_.Path("err").c_str());
    const base::ChildProcess child = *base::Spawn(options);
    const base::ProcessExit exit = *base::WaitForExit(child.pid);
    return {exit.signal == 0 ? exit.code : -exit.signal, sdk_.Read("out"), sdk_.Read("err")};
  }

  FakeSdk sdk_;
  std::map<std::string, std::string> variables_;
};

void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(LaunchTest, PassesRanksAndArguments_WhenLocal) {
  WriteTrial(
      "printf(\"%s/%s omp=%s dir=%d argc=%d %s\\n\", Env(\"DET_RANK\").c_str(), "
      "Env(\"DET_SIZE\").c_str(), Env(\"OMP_NUM_THREADS\").c_str(), "
      "Env(\"DET_RENDEZVOUS_DIR\") != \"-\", argc, argv[1]);");
  const Result result = Launch(
      {"--local", "--slots=2", "--hparam", "a=1", "--hparam=b=x y", "--max-length", "3 epochs"});
  EXPECT_EQ(result.code, 0) << result.err;
  ExpectContains(result.out, "[rank=0] 0/2 omp=1 dir=1 argc=4 --hparam=a=1\n");
  ExpectContains(result.out, "[rank=1] 1/2 omp=1 dir=1 argc=4 --hparam=a=1\n");
}

TEST_F(LaunchTest, StopsOtherRank_WhenRankIsKilled) {
  WriteTrial("if (Env(\"DET_RANK\") == \"1\") raise(SIGKILL); pause();");
  const Result result = Launch({"--local", "--slots=2"});
  EXPECT_EQ(result.code, 128 + SIGKILL);
  ExpectContains(result.err, "rank 1 failed: killed by SIGKILL");
}

TEST_F(LaunchTest, ReturnsExitCodeOfFirstFailure) {
  WriteTrial(
      "if (Env(\"DET_RANK\") == \"0\") {"
      "  fprintf(stderr, \"ERROR: out of data\\n\");"
      "  return 7;"
      "}"
      "pause();");
  const Result result = Launch({"--local", "--slots=2"});
  EXPECT_EQ(result.code, 7);
  ExpectContains(result.err, "rank 0 failed: exit code 7: out of data");
}

TEST_F(LaunchTest, ExitsWith2_WhenUsageIsWrong) {
  EXPECT_EQ(Launch({"--what"}).code, 2);
  EXPECT_EQ(Launch({"--seed=1"}).code, 2);  // requires --local
  const Result no_slots = Launch({"--local", "--slots=0"});
  EXPECT_EQ(no_slots.code, 2);
  EXPECT_EQ(no_slots.err, "ERROR: --slots must be at least 1, not 0\n");
  const Result nowhere = Launch();
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_EQ(nowhere.err, "ERROR: not running as a task of a cluster; add --local to run here\n");
}

class LaunchOnClusterTest : public LaunchTest {
 protected:
  LaunchOnClusterTest() {
    for (const auto& [name, value] : master_.Environment()) variables_[name] = value;
  }

  core::FakeMaster master_;
};

TEST_F(LaunchOnClusterTest, AssignsRanksFromRendezvous) {
  WriteTrial(
      "printf(\"%s of %s at %s\\n\", Env(\"DET_RANK\").c_str(), Env(\"DET_SIZE\").c_str(), "
      "Env(\"DET_NODE_ADDRESS\").c_str());");
  master_.SendRendezvous({{"other", "10.0.0.1", 1}, {"agent", "10.0.0.2", 2}});
  const Result result = Launch();
  EXPECT_EQ(result.code, 0) << result.err;
  ExpectContains(result.out, "[rank=1] 1 of 3 at 10.0.0.2\n");
  ExpectContains(result.out, "[rank=2] 2 of 3 at 10.0.0.2\n");
}

TEST_F(LaunchOnClusterTest, ReportsInvalidCode_WhenSourceDoesNotCompile) {
  WriteTrial("return nonsense;");
  const Result result = Launch();
  EXPECT_EQ(result.code, 1);
  ExpectContains(result.err, "error: 'nonsense' was not declared in this scope");
  const std::vector<std::string> reports = master_.Reports();
  ASSERT_EQ(reports.size(), 1u);
  ExpectContains(reports[0], "early_exit INVALID_CODE trial.cc cannot be compiled");
  ExpectContains(reports[0], "'nonsense' was not declared");
}

TEST_F(LaunchOnClusterTest, ReportsInvalidCode_WhenSourceIsMissing) {
  EXPECT_EQ(Launch({"--source=absent.cc"}).code, 2);  // given twice
  std::remove(sdk_.Path("context/trial.cc").c_str());
  EXPECT_EQ(Launch().code, 1);
  const std::vector<std::string> reports = master_.Reports();
  ASSERT_EQ(reports.size(), 1u);
  ExpectContains(reports[0], "early_exit INVALID_CODE entrypoint: file trial.cc does not exist");
}

// Simulates a rank that is killed while the master is unavailable.
void LeaveReport(const std::string& dir) {
  const auto outbox = core::Outbox::Open({.dir = dir});
  ASSERT_NE(outbox, nullptr);
  const core::MetricReport report = {
      "training", 7, {{"loss", 0.5}}, std::chrono::system_clock::now()};
  ASSERT_TRUE(outbox->Add(core::Encode(report)));
}

TEST_F(LaunchOnClusterTest, SendsUnsentReportsOfKilledRank) {
  variables_["DET_CLUSTER_ID"] = "c";
  WriteTrial("raise(SIGKILL);");
  master_.SendRendezvous({{"agent", "10.0.0.2", 1}});
  LeaveReport(sdk_.Path("cache/outbox/c-trial-1/0"));
  const Result result = Launch();
  EXPECT_EQ(result.code, 128 + SIGKILL);
  EXPECT_EQ(master_.Reports(),
            (std::vector<std::string>{"early_exit FAILED rank 0 failed: killed by SIGKILL",
                                      "metrics training 7 loss=0.5"}));
}

TEST_F(LaunchOnClusterTest, KeepsReportsForNextRun_AfterTimeout) {
  variables_["DET_CLUSTER_ID"] = "c";
  variables_["DET_MASTER_PATIENCE"] = "1";
  WriteTrial("return 3;");
  master_.SendRendezvous({{"agent", "10.0.0.2", 1}});
  master_.FailCalls(1'000'000);
  const std::string dir = sdk_.Path("cache/outbox/c-trial-1/0");
  LeaveReport(dir);
  const Result result = Launch();
  EXPECT_EQ(result.code, 3);
  ExpectContains(result.err, "the trial's next attempt on this node will send them");
  EXPECT_FALSE(core::Outbox::Open({.dir = dir})->empty());
}

TEST_F(LaunchOnClusterTest, Ends_WhenAllocationEnds) {
  WriteTrial("");
  master_.EndAllocation();
  const Result result = Launch();
  EXPECT_EQ(result.code, 1);
  ExpectContains(result.err, "no rendezvous: the allocation has ended");
}

}  // namespace
}  // namespace det::launch
