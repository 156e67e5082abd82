// Tests of runs off the cluster: configuration, command line and context.
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"
#include "trial_api/cpp/core/context.h"
#include "trial_api/cpp/core/off_cluster_config.h"
#include "trial_api/cpp/core/printed_metrics.h"
#include "trial_api/cpp/core/training_config.h"

namespace det::core {
namespace {

template <class Function>
std::string GetError(Function function) {
  try {
    function();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

class OffClusterTest : public testing::Test {
 protected:
  OffClusterTest() : dir_(*base::TempDir::Create()) {}

  std::string Write(const std::string& yaml) {
    const std::string path = dir_.path() + "/config.yaml";
    EXPECT_TRUE(base::WriteFileAtomically(path, yaml).ok());
    return path;
  }
  std::string ReadHparams(const std::string& yaml, const std::string& overrides = "{}") {
    return ReadOffClusterConfig(Write(yaml), overrides).hparams_json;
  }

  base::TempDir dir_;
};

TEST_F(OffClusterTest, ScalarsHaveTypesOfYaml) {
  EXPECT_EQ(ReadHparams("hyperparameters: {a: 1, b: 1.5e-3, c: yes, d: true, e: '7', f: [1, x], "
                        "g: null, h: 0x}"),
            R"({"a":1,"b":0.0015,"c":"yes","d":true,"e":"7","f":[1,"x"],"g":null,"h":"0x"})");
}

TEST_F(OffClusterTest, ResolvesConstantsAndNestedHyperparameters) {
  EXPECT_EQ(ReadHparams("hyperparameters:\n  lr: {type: const, val: 0.1}\n  net: {width: 3}\n"),
            R"({"lr":0.1,"net":{"width":3}})");
  EXPECT_EQ(ReadHparams("name: x"), "{}");
}

TEST_F(OffClusterTest, RequiresValueForRange) {
  const std::string yaml =
      "hyperparameters:\n  net:\n    lr: {type: log, minval: -4, maxval: 0, base: 10}\n";
  const std::string error = GetError([&] { ReadHparams(yaml); });
  EXPECT_NE(error.find("'net.lr' is a range"), std::string::npos) << error;
  EXPECT_NE(error.find("--hparam net.lr="), std::string::npos) << error;
  EXPECT_EQ(ReadHparams(yaml, R"({"net.lr": 0.5})"), R"({"net":{"lr":0.5}})");
}

TEST_F(OffClusterTest, YamlErrorHasLineAndColumn) {
  const std::string path = Write("a: 1\nb: [1, 2\nc: 3\n");
  const std::string error = GetError([&] { ReadOffClusterConfig(path, "{}"); });
  EXPECT_EQ(error.rfind(path + ":", 0), 0u) << error;
  EXPECT_NE(GetError([] { ReadOffClusterConfig("/no/such.yaml", "{}"); }).find("/no/such.yaml"),
            std::string::npos);
}

TEST_F(OffClusterTest, ParsesTrainingConfig) {
  const TrainingConfig config = ParseTrainingConfig(R"({
      "searcher": {"metric": "accuracy", "smaller_is_better": false, "max_length": {"epochs": 3}},
      "min_validation_period": {"batches": 5}, "scheduling_unit": 7, "checkpoint_policy": "all",
      "records_per_epoch": null, "profiling": {"enabled": true}, "perform_initial_validation": true})");
  ASSERT_TRUE(config.max_length.has_value());
  EXPECT_EQ(config.max_length->unit, Length::Unit::kEpochs);
  EXPECT_EQ(config.max_length->count, 3);
  EXPECT_EQ(config.validation_period.count, 5);
  EXPECT_EQ(config.reporting_period, 7);
  EXPECT_EQ(config.checkpoint_policy, TrainingConfig::CheckpointPolicy::kAll);
  EXPECT_TRUE(config.initial_validation);
  EXPECT_TRUE(config.profiling);
  EXPECT_FALSE(ParseTrainingConfig(R"({"profiling": null})").profiling);
  EXPECT_NE(GetError([] {
              ParseTrainingConfig(R"({"profiling": {"enabled": 1}})");
            }).find("profiling.enabled is 1, not true or false"),
            std::string::npos);
  EXPECT_EQ(config.searcher_metric, "accuracy");
  EXPECT_FALSE(config.smaller_is_better);
  const TrainingConfig first = ParseTrainingConfig(
      R"({"searcher": {"metric": [{"name": "f1", "smaller_is_better": false}, {"name": "ms"}]}})");
  EXPECT_EQ(first.searcher_metric, "f1");
  EXPECT_FALSE(first.smaller_is_better);
  EXPECT_NE(GetError([] {
              ParseTrainingConfig(R"({"scheduling_unit": 0})");
            }).find("scheduling_unit is 0"),
            std::string::npos);
}

TEST_F(OffClusterTest, ParsesMaxTimeWithUnit) {
  const auto length = [](const char* searcher) {
    return ParseTrainingConfig(std::string(R"({"searcher": )") + searcher + "}").max_length;
  };
  const auto epochs = length(R"({"max_time": 3, "time_metric": "epochs", "max_length": null})");
  ASSERT_TRUE(epochs.has_value());
  EXPECT_EQ(epochs->unit, Length::Unit::kEpochs);
  EXPECT_EQ(epochs->count, 3);
  EXPECT_EQ(length(R"({"max_time": 8, "time_metric": "records"})")->unit, Length::Unit::kRecords);
  EXPECT_FALSE(length(R"({"max_time": 3, "time_metric": "hours"})").has_value());
  EXPECT_FALSE(length(R"({"time_metric": "epochs"})").has_value());
}

TEST_F(OffClusterTest, ParsesLengths) {
  EXPECT_EQ(ParseLength("3 epochs").unit, Length::Unit::kEpochs);
  EXPECT_EQ(ParseLength("1 batch").count, 1);
  EXPECT_EQ(ParseLength("100").unit, Length::Unit::kBatches);
  for (const char* wrong : {"", "epochs", "3 weeks", "-1", "3 epochs now"}) {
    EXPECT_THROW(ParseLength(wrong), Error) << wrong;
  }
}

TEST_F(OffClusterTest, ParsesArguments) {
  const std::vector<const char*> argv = {"trial",        "--config", "c.yaml",
                                         "--hparam",     "lr=0.1",   "--hparam=name=x",
                                         "--max-length", "2 epochs", "--seed=7"};
  const auto off_cluster = Context::ParseArguments(static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(off_cluster.config_path, "c.yaml");
  EXPECT_EQ(off_cluster.hparams_json, R"({"lr":0.1,"name":"x"})");
  EXPECT_EQ(off_cluster.max_length->count, 2);
  EXPECT_EQ(off_cluster.seed, 7u);
  const auto error_of = [](std::vector<const char*> words) {
    words.insert(words.begin(), "trial");
    return GetError([&] { Context::ParseArguments(static_cast<int>(words.size()), words.data()); });
  };
  EXPECT_NE(error_of({"--what"}).find("'--what'"), std::string::npos);
  EXPECT_NE(error_of({"--seed"}).find("needs a value"), std::string::npos);
  EXPECT_NE(error_of({"--hparam", "lr"}).find("NAME=VALUE"), std::string::npos);
}

TEST_F(OffClusterTest, ContextRequiresOnlyConfiguration) {
  Context::OffCluster off_cluster;
  off_cluster.config_path = Write(
      "hyperparameters: {lr: 0.1}\ndata: {path: /d}\nreproducibility: {experiment_seed: 9}\n");
  off_cluster.checkpoint_dir = dir_.path() + "/checkpoints";
  const std::unique_ptr<Context> context = Context::FromEnvironment(off_cluster);
  EXPECT_FALSE(context->on_cluster());
  EXPECT_EQ(context->trial_id(), 0);
  EXPECT_EQ(context->seed(), 9u);
  EXPECT_EQ(context->hparams().Get<double>("lr"), 0.1);
  EXPECT_EQ(context->data_json(), R"({"path":"/d"})");
  EXPECT_EQ(context->ranks().size, 1);
  EXPECT_FALSE(context->preemption().Requested());
  EXPECT_EQ(context->checkpoints().Latest(), std::nullopt);
  const std::string uuid = context->checkpoints().Save(3, R"({"note": "x"})", [](auto& dir) {
    EXPECT_TRUE(base::WriteFileAtomically(dir + "/model.pt", "abc").ok());
  });
  const std::string dir = context->checkpoints().Open(uuid);
  EXPECT_EQ(*base::ReadFile(dir + "/model.pt"), "abc");
  EXPECT_EQ(*base::ReadFile(dir + "/metadata.json"), R"({"note":"x","steps_completed":3})");
  off_cluster.seed = 1;
  off_cluster.restore = uuid;
  const std::unique_ptr<Context> second = Context::FromEnvironment(off_cluster);
  EXPECT_EQ(second->seed(), 1u);
  EXPECT_EQ(second->checkpoints().Latest(), uuid);
}

class RanksOfProcessTest : public OffClusterTest {
 protected:
  ~RanksOfProcessTest() override {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }

  // The environment of ranks 3 and 4 of five, on the second machine.
  std::string MakeRanks(int local_rank, const std::string& yaml) {
    variables_ = {{"DET_RANK", std::to_string(3 + local_rank)},
                  {"DET_SIZE", "5"},
                  {"DET_LOCAL_RANK", std::to_string(local_rank)},
                  {"DET_LOCAL_SIZE", "2"},
                  {"DET_CROSS_RANK", "1"},
                  {"DET_CROSS_SIZE", "2"}};
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
    Context::OffCluster off_cluster;
    off_cluster.config_path = Write(yaml);
    std::string text;
    for (const Ranks& ranks : Context::RanksOfProcess(off_cluster)) {
      text += std::to_string(ranks.rank) + " of " + std::to_string(ranks.size) + ", here " +
              std::to_string(ranks.local_rank) + " of " + std::to_string(ranks.local_size) + "; ";
    }
    return text;
  }

 private:
  std::map<std::string, std::string> variables_;
};

TEST_F(RanksOfProcessTest, ProcessIsOneRank) {
  EXPECT_EQ(MakeRanks(0, "{}"), "3 of 5, here 0 of 2; ");
  EXPECT_EQ(MakeRanks(1, "optimizations: {strategy: local_sgd}"), "4 of 5, here 1 of 2; ");
}

TEST_F(RanksOfProcessTest, FirstProcessOfNodeHasAllRanks_WhenInProcess) {
  const std::string yaml = "optimizations: {strategy: in_process}";
  EXPECT_EQ(MakeRanks(0, yaml), "3 of 5, here 0 of 2; 4 of 5, here 1 of 2; ");
  EXPECT_EQ(MakeRanks(1, yaml), "");
}

TEST(PrintedMetricsTest, PrintsLinesAndDeterminesBest) {
  std::ostringstream out;
  const auto metrics = MakePrintedMetrics(out, "accuracy", false);
  metrics->ReportTraining(10, {{"loss", 0.5}, {"accuracy", 0.25}});
  EXPECT_TRUE(metrics->ReportValidation(10, {{"accuracy", 0.5}}));
  EXPECT_FALSE(metrics->ReportValidation(20, {{"accuracy", 0.5}}));
  EXPECT_TRUE(metrics->ReportValidation(30, {{"accuracy", 0.75}}));
  EXPECT_THROW(metrics->Report("a.b", 1, {}), Error);
  EXPECT_EQ(out.str(),
            "training steps=10 accuracy=0.25 loss=0.5\n"
            "validation steps=10 accuracy=0.5\n"
            "validation steps=20 accuracy=0.5\n"
            "validation steps=30 accuracy=0.75\n");
}

}  // namespace
}  // namespace det::core
