// Tests of the strategy in_process: the ranks of a node are threads of one process.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/subprocess.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kInProcess[] = R"("strategy": "in_process")";

class InProcessTest : public ::testing::Test {
 protected:
  struct Training {
    std::string optimizations = "";
    int slots = 1;
    int batches = 50;
    std::string restore = "";
    int fails = -1;  // rank
    double dropout = 0;
    int batch = 12;     // records
    double clip = 5.0;  // norm of gradients
  };

  // Starts one process per slot, like the launcher. Returns the exit codes in order.
  std::vector<int> Run(const Training& run) {
    folder_ = *base::TempDir::Create();
    std::ofstream(folder_.path() + "/config.yaml")
        << "hyperparameters: {global_batch_size: " << run.batch << ", clip: " << run.clip
        << ", fails: " << run.fails << ", dropout: " << run.dropout << "}\n"
        << "optimizations: {" << run.optimizations << "}\n"
        << "checkpoint_policy: none\n"
        << "min_checkpoint_period: {batches: 5}\n"
        << "searcher: {name: single, metric: error, max_length: {batches: " << run.batches
        << "}}\n";
    std::vector<pid_t> processes;
    for (int rank = 0; rank < run.slots; ++rank) {
      processes.push_back(base::Spawn(MakeOptions(run, rank))->pid);
    }
    std::vector<int> codes;
    for (const pid_t process : processes) codes.push_back(base::WaitForExit(process)->code);
    output_ = *base::ReadFile(folder_.path() + "/out");
    return codes;
  }

  // Returns the weights in the checkpoint after `batches` batches, concatenated.
  torch::Tensor Weights(int batches) const {
    torch::serialize::InputArchive archive;
    archive.load_from(store_.path() + "/" + Uuid(batches) + "/model_0.pt");
    torch::nn::Sequential net(torch::nn::Linear(3, 8), torch::nn::Tanh(), torch::nn::Linear(8, 1));
    net->load(archive);
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& parameter : net->parameters()) {
      flat.push_back(parameter.detach().flatten());
    }
    return torch::cat(flat);
  }

  std::string Uuid(int batches) const {
    const std::string before = "checkpoint steps=" + std::to_string(batches) + " ";
    const size_t line = output_.find(before);
    EXPECT_NE(line, std::string::npos) << output_;
    const std::string path =
        output_.substr(line + before.size(), output_.find('\n', line) - line - before.size());
    return path.substr(path.rfind('/') + 1);
  }

  std::string output_;
  const base::TempDir store_ = *base::TempDir::Create();

 private:
  base::SpawnOptions MakeOptions(const Training& run, int rank) const {
    base::SpawnOptions options;
    options.argv = {std::string(std::getenv("TEST_SRCDIR")) +
                        "/resolute/trial_api/cpp/torch/testing/curve_trial",
                    "--config=" + folder_.path() + "/config.yaml",
                    "--checkpoint-dir=" + store_.path(), "--seed=3"};
    if (!run.restore.empty()) options.argv.push_back("--restore=" + run.restore);
    const std::string size = std::to_string(run.slots);
    const std::string own = std::to_string(rank);
    options.env = {{"DET_RANK=" + own, "DET_LOCAL_RANK=" + own, "DET_SIZE=" + size,
                    "DET_LOCAL_SIZE=" + size, "DET_RENDEZVOUS_DIR=" + folder_.path(),
                    "OMP_NUM_THREADS=1"}};
    options.cwd = folder_.path();
    options.out = base::Redirect::File(folder_.path() + "/out");
    options.err = base::Redirect::File(folder_.path() + "/out");
    return options;
  }

  base::TempDir folder_ = *base::TempDir::Create();
};

double Distance(const torch::Tensor& one, const torch::Tensor& expected) {
  return ((one - expected).norm() / expected.norm()).item<double>();
}

TEST_F(InProcessTest, ReplicasTrainLikeOneRank) {
  EXPECT_EQ(Run({}), std::vector<int>{0});
  const torch::Tensor one = Weights(50);
  for (const int slots : {2, 3}) {
    EXPECT_EQ(Run({.optimizations = kInProcess, .slots = slots}), std::vector<int>(slots, 0));
    EXPECT_LT(Distance(Weights(50), one), 1e-4) << slots << output_;
    Run({.slots = slots});
    EXPECT_LT(Distance(Weights(50), one), 1e-4) << slots << output_;
  }
}

TEST_F(InProcessTest, ResumedRunEqualsUninterruptedRun) {
  Run({.optimizations = kInProcess, .slots = 2});
  const torch::Tensor uninterrupted = Weights(50);
  Run({.optimizations = kInProcess, .slots = 2, .restore = Uuid(20)});
  EXPECT_TRUE(torch::equal(Weights(50), uninterrupted)) << output_;
}

TEST_F(InProcessTest, AggregatedBatchesEqualLargerBatch_WhenResumedBetween) {
  EXPECT_EQ(Run({.batch = 24, .clip = 0.05}), std::vector<int>{0});
  const torch::Tensor one = Weights(50);
  const std::string two = std::string(kInProcess) + R"(, "aggregation_frequency": 2)";
  for (const int slots : {2, 3}) {
    Run({.optimizations = two, .slots = slots, .batches = 100, .clip = 0.05});
    EXPECT_LT(Distance(Weights(100), one), 1e-4) << slots << output_;
    const torch::Tensor uninterrupted = Weights(100);
    Run({.optimizations = two, .slots = slots, .batches = 100, .restore = Uuid(15), .clip = 0.05});
    EXPECT_TRUE(torch::equal(Weights(100), uninterrupted)) << output_;
  }
}

TEST_F(InProcessTest, ReplicasDrawSameNumbersAsProcesses) {
  Run({.slots = 3, .dropout = 0.3});
  const torch::Tensor in_processes = Weights(50);
  for (int again = 0; again < 2; ++again) {
    Run({.optimizations = kInProcess, .slots = 3, .dropout = 0.3});
    EXPECT_TRUE(torch::equal(Weights(50), in_processes)) << output_;
  }
  Run({.optimizations = kInProcess, .slots = 3, .restore = Uuid(20), .dropout = 0.3});
  EXPECT_TRUE(torch::equal(Weights(50), in_processes)) << output_;
}

TEST_F(InProcessTest, ResumesWithProcessesAndBack) {
  Run({});
  const torch::Tensor one = Weights(50);
  Run({.optimizations = kInProcess, .slots = 3, .batches = 20});
  Run({.slots = 2, .batches = 30, .restore = Uuid(20)});
  Run({.optimizations = kInProcess, .slots = 2, .restore = Uuid(30)});
  EXPECT_LT(Distance(Weights(50), one), 1e-4) << output_;
}

TEST_F(InProcessTest, ProcessEndsWithError_WhenReplicaFails) {
  for (const int fails : {0, 1}) {
    EXPECT_EQ(Run({.optimizations = kInProcess, .slots = 2, .fails = fails}),
              (std::vector<int>{1, 0}));
    EXPECT_THAT(output_, HasSubstr("ERROR: out of data"));
    EXPECT_THAT(output_, Not(HasSubstr("is gone")));
  }
}

}  // namespace
}  // namespace det::trial
