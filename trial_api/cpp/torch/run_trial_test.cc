// Tests how a trial's process ends and what it reports, depending on the exception of its Trial.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/subprocess.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/fake_master.h"

namespace det::trial {
namespace {

using Reports = std::vector<std::string>;

class RunTrialTest : public testing::Test {
 protected:
  // Runs a Trial that fails `where` and `how`; on the cluster unless there are `arguments`. Returns
  // its exit code, or the negative signal that ended it.
  int Run(const std::string& where, const std::string& how, Reports arguments = {}) {
    const std::string hparams =
        R"({"global_batch_size": 2, "where": ")" + where + R"(", "how": ")" + how + R"("})";
    const std::string config = R"({"searcher": {"metric": "loss", "max_length": {"batches": )" +
                               std::to_string(batches_) + R"(}},
        "checkpoint_policy": "none", "min_checkpoint_period": {"batches": )" +
                               std::to_string(checkpoint_period_) + "},";
    Write("/info/trial.json", R"({"experiment_id": 1, "trial_id": 1, "trial_run_id": 0,
        "trial_seed": 1, "latest_checkpoint": )" +
                                  latest_ + R"(, "steps_completed": )" + std::to_string(steps_) +
                                  R"(,
        "hparams": )" + hparams + R"(, "config": )" +
                                  config + R"("hyperparameters": {}},
        "checkpoint_dir": ")" + dir_.path() +
                                  "/store\"}");
    Write("/config.yaml", config + "\"hyperparameters\": " + hparams + "}");
    base::SpawnOptions options;
    options.argv = {std::string(std::getenv("TEST_SRCDIR")) +
                    "/resolute/trial_api/cpp/torch/testing/failing_trial"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.env.emplace();
    if (arguments.empty()) {
      options.env->push_back("DET_RUN_DIR=" + dir_.path());
      for (const auto& [name, value] : master_.Environment()) {
        options.env->push_back(name + "=" + value);
      }
    }
    options.cwd = dir_.path();
    // Redirection appends.
    (void)std::remove((dir_.path() + "/err").c_str());
    options.out = base::Redirect::File(dir_.path() + "/out");
    options.err = base::Redirect::File(dir_.path() + "/err");
    const base::ProcessExit exit = *base::WaitForExit(base::Spawn(options)->pid);
    output_ = *base::ReadFile(dir_.path() + "/err");
    return exit.signal == 0 ? exit.code : -exit.signal;
  }

  // Returns the early exits that the master received.
  Reports EarlyExits() const {
    Reports exits;
    for (const std::string& report : master_.Reports()) {
      if (report.rfind("early_exit", 0) == 0) exits.push_back(report);
    }
    return exits;
  }

  // Returns the UUIDs and steps of the checkpoints that the master received.
  std::vector<std::pair<std::string, int>> Checkpoints() const {
    std::vector<std::pair<std::string, int>> checkpoints;
    for (const std::string& report : master_.Reports()) {
      std::istringstream words(report);
      std::string kind;
      std::string uuid;
      int steps = 0;
      if (words >> kind >> uuid >> steps && kind == "checkpoint") {
        checkpoints.emplace_back(uuid, steps);
      }
    }
    return checkpoints;
  }

  int batches_ = 1;
  int checkpoint_period_ = 1'000;
  std::string latest_ = "null";
  int steps_ = 0;
  core::FakeMaster master_;
  const base::TempDir dir_ = *base::TempDir::Create("det-run-trial");
  std::string output_;

 private:
  void Write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(base::MakeDirs(dir_.path() + "/info").ok());
    ASSERT_TRUE(base::WriteFileAtomically(dir_.path() + name, text).ok());
  }
};

TEST_F(RunTrialTest, Succeeds) {
  EXPECT_EQ(Run("nowhere", ""), 0) << output_;
  EXPECT_EQ(EarlyExits(), Reports());
}

TEST_F(RunTrialTest, EndsAtOnceWithMastersMessage_WhenRunIsOver) {
  master_.RejectReports("allocation 1.1.0 has ended");
  EXPECT_EQ(Run("nowhere", ""), 1);
  EXPECT_NE(output_.find("ERROR: ReportMetrics for allocation 1.1.0 was rejected: allocation 1.1.0 "
                         "has ended; ending this process\n"),
            std::string::npos)
      << output_;
  EXPECT_EQ(EarlyExits(), Reports());
}

TEST_F(RunTrialTest, UsesPreviousCheckpoint_WhenDamaged) {
  batches_ = 2;
  checkpoint_period_ = 1;
  ASSERT_EQ(Run("nowhere", ""), 0) << output_;
  const auto saved = Checkpoints();
  ASSERT_EQ(saved.size(), 2u);
  const std::string newest = saved.back().first;
  std::fstream file(dir_.path() + "/store/" + newest + "/model_0.pt",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100).put('X');
  file.close();
  latest_ = '"' + newest + '"';
  steps_ = 2;
  batches_ = 3;
  ASSERT_EQ(Run("nowhere", ""), 0) << output_;
  EXPECT_NE(output_.find("WARNING: checkpoint " + newest), std::string::npos) << output_;
  EXPECT_NE(output_.find("model_0.pt is damaged"), std::string::npos) << output_;
  const auto all = Checkpoints();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[2].second, 2);  // It continued after one batch.
  const auto reports = master_.Reports();
  EXPECT_EQ(
      std::count(reports.begin(), reports.end(), "damaged " + newest + ' ' + saved.front().first),
      1);
  EXPECT_EQ(all[3].second, 3);
}

TEST_F(RunTrialTest, ReportsExceptionOfConstructor) {
  EXPECT_EQ(Run("constructor", "std"), 1);
  EXPECT_EQ(output_, "ERROR: boom\n");
  EXPECT_EQ(EarlyExits(), Reports{"early_exit FAILED rank 0 failed: boom"});
}

TEST_F(RunTrialTest, ReportsExceptionOfTrainBatch) {
  EXPECT_EQ(Run("train_batch", "std"), 1);
  EXPECT_EQ(output_, "ERROR: boom\n");
  EXPECT_EQ(EarlyExits(), Reports{"early_exit FAILED rank 0 failed: boom"});
}

TEST_F(RunTrialTest, ReportsError) {
  EXPECT_EQ(Run("train_batch", "det"), 1);
  EXPECT_EQ(output_, "ERROR: data.bin is missing; download it\n");
  EXPECT_EQ(EarlyExits(),
            Reports{"early_exit FAILED rank 0 failed: data.bin is missing; download it"});
}

TEST_F(RunTrialTest, ReportsTorchErrorWithoutBacktrace) {
  EXPECT_EQ(Run("train_batch", "torch"), 1);
  EXPECT_EQ(output_, "ERROR: shapes differ\n");
  EXPECT_EQ(EarlyExits(), Reports{"early_exit FAILED rank 0 failed: shapes differ"});
}

TEST_F(RunTrialTest, ReportsOtherExceptions) {
  const std::string message =
      "the Trial threw an object that is not a std::exception; throw det::Error instead";
  for (const char* where : {"constructor", "train_batch"}) {
    EXPECT_EQ(Run(where, "int"), 1);
    EXPECT_EQ(output_, "ERROR: " + message + "\n");
  }
  EXPECT_EQ(EarlyExits(), Reports(2, "early_exit FAILED rank 0 failed: " + message));
}

TEST_F(RunTrialTest, ReportsInvalidHyperparameters) {
  EXPECT_EQ(Run("constructor", "invalid_hp"), 0);
  EXPECT_EQ(output_, "ERROR: invalid hyperparameters: lr is too large\n");
  EXPECT_EQ(EarlyExits(), Reports{"early_exit INVALID_HP lr is too large"});
}

TEST_F(RunTrialTest, DoesNotReportPeerGone) {
  EXPECT_EQ(Run("train_batch", "peer_gone"), kPeerGoneExit);
  EXPECT_EQ(output_, "ERROR: barrier: rank 1 is gone\n");
  EXPECT_EQ(EarlyExits(), Reports());
}

TEST_F(RunTrialTest, PrintsError_OffCluster) {
  EXPECT_EQ(Run("train_batch", "std", {"--config=config.yaml"}), 1);
  EXPECT_NE(output_.find("ERROR: boom\n"), std::string::npos) << output_;
  EXPECT_EQ(Run("constructor", "invalid_hp", {"--config=config.yaml"}), 1);
  EXPECT_NE(output_.find("ERROR: lr is too large\n"), std::string::npos) << output_;
  EXPECT_EQ(Run("nowhere", "", {"--config=absent.yaml"}), 1);
  EXPECT_NE(output_.find("absent.yaml"), std::string::npos) << output_;
  EXPECT_EQ(master_.Reports(), Reports());
}

}  // namespace
}  // namespace det::trial
