// Tests of the strategies, from the configuration to the checkpoint.
#include "trial_api/cpp/torch/strategy.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/all_reduce.h"
#include "trial_api/cpp/torch/controller.h"
#include "trial_api/cpp/torch/optimizer_state.h"
#include "trial_api/cpp/torch/random_source.h"
#include "trial_api/cpp/torch/testing/fake_context.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::FakeContext;
using testing::RunRanks;
using Unit = Length::Unit;

constexpr int64_t kRecords = 60;  // five batches of twelve

struct Training {
  std::string optimizations = "";  // fields of the section
  int ranks = 1;
  int per_node = 0;
  int64_t steps = 50;
  std::string directory = "";
  std::string latest = "";  // a checkpoint in that directory
  int64_t save_every = 0;
  bool adam = true;
  // number of steps after which the last rank receives a preemption request
  int64_t preempt_at = -1;
  int64_t overflow_at = -1;  // the batch in which the last rank's loss is infinite
  int64_t batch = 12;        // records
  int64_t records = kRecords;
  double norm = 5.0;  // maximum norm of gradients
};

TensorDataset Curve(int64_t records) {
  const torch::Tensor x = torch::arange(records * 3, torch::kFloat32).view({records, 3}).sin();
  return TensorDataset({x, (x.pow(2).sum(1, /*keepdim=*/true) - x.slice(1, 0, 1)).tanh()});
}

// Fits a curve with two layers; a third one is not used.
class CurveTrial : public Trial {
 public:
  CurveTrial(TrialContext& context, const Training& run)
      : context_(context), run_(run), net_(nullptr), unused_(nullptr) {
    torch::manual_seed(5);  // The same for any number of ranks.
    net_ = context.wrap_model(
        torch::nn::Sequential(torch::nn::Linear(3, 8), torch::nn::Tanh(), torch::nn::Linear(8, 1)));
    unused_ = context.wrap_model(torch::nn::Linear(2, 1));
    std::vector<torch::Tensor> parameters = net_->parameters();
    for (const torch::Tensor& parameter : unused_->parameters()) parameters.push_back(parameter);
    if (run.adam) {
      optimizer_ = context.wrap_optimizer(torch::optim::Adam(parameters, 0.01));
    } else {
      optimizer_ = context.wrap_optimizer(torch::optim::SGD(parameters, 0.05));
    }
    if (run.overflow_at >= 0) context.scale_losses({.initial = 8.0});
  }

  DataLoader build_training_data_loader() override {
    return {Curve(run_.records), {.shuffle = true}};
  }
  DataLoader build_validation_data_loader() override { return Curve(24); }

  BatchMetrics train_batch(const Batch& batch, int64_t, int64_t) override {
    const Ranks& ranks = context_.ranks();
    if (on_batch) on_batch(context_.steps_completed());
    torch::Tensor loss = torch::mse_loss(net_->forward(batch.data()), batch.target());
    if (context_.steps_completed() == run_.overflow_at && ranks.rank == ranks.size - 1) {
      loss = loss * std::numeric_limits<float>::infinity();
    }
    context_.backward(loss);
    context_.step_optimizer(optimizer_, {.norm = run_.norm});
    return {{"loss", loss}};
  }
  BatchMetrics evaluate_batch(const Batch& batch) override {
    return {{"error", torch::mse_loss(net_->forward(batch.data()), batch.target())}};
  }

  // Compares all bits.
  std::string Weights() const {
    std::string text;
    for (const torch::Tensor& parameter : net_->parameters()) {
      const torch::Tensor flat = parameter.detach().flatten();
      for (int64_t i = 0; i < flat.numel(); ++i) {
        char number[40];
        std::snprintf(number, sizeof number, "%a ", flat[i].item<double>());
        text += number;
      }
    }
    return text;
  }
  // Returns the number of parameters whose state this rank keeps.
  size_t states() const { return optimizer_->state().size(); }

  std::function<void(int64_t steps_before)> on_batch;

 private:
  TrialContext& context_;
  const Training run_;
  torch::nn::Sequential net_;
  torch::nn::Linear unused_;
  std::shared_ptr<torch::optim::Optimizer> optimizer_;
};

struct Outcome {
  std::string weights;
  std::vector<size_t> states;  // by rank
  std::string trace;           // of the chief
  std::string steps;
  double error = 0;  // of the last validation
  double scale = 0;  // of losses
};

std::string RunRank(Communicator& communicator, const Training& run) {
  SeedTorch(7, communicator.ranks().rank);
  FakeContext::Options options;
  options.config = R"({"optimizations": {)" + run.optimizations + "}}";
  options.hparams = R"({"global_batch_size": )" + std::to_string(run.batch) + "}";
  options.directory = run.directory;
  if (!run.latest.empty()) options.latest = run.latest;
  options.training.max_length = Length{Unit::kBatches, run.steps};
  options.training.validation_period = Length{Unit::kEpochs, 1};
  options.training.checkpoint_period = Length{Unit::kBatches, run.save_every};
  options.training.checkpoint_policy = TrainingConfig::CheckpointPolicy::kNone;
  options.training.searcher_metric = "error";
  FakeContext core(communicator, options);
  TrialContext context(core);
  CurveTrial trial(context, run);
  const Ranks& ranks = communicator.ranks();
  trial.on_batch = [&](int64_t steps_before) {
    core.preempt =
        run.preempt_at >= 0 && steps_before + 1 >= run.preempt_at && ranks.rank == ranks.size - 1;
  };
  const Controller::End end = Controller(context, trial).Run();
  context.Synchronize();
  std::ostringstream text;
  text.precision(17);
  text << trial.Weights() << "\n" << trial.states() << "\n";
  text << context.steps_completed() << (end == Controller::End::kFinished ? "" : " preempted")
       << "\n";
  const auto& reports = core.validation_reports;
  const bool validated = !reports.empty();
  text << (validated ? reports.back().second.at("error") : 0.0) << "\n";
  text << context.loss_scale() << "\n";
  for (const std::string& line : core.trace) text << line << "; ";
  return text.str();
}

Outcome TrainOn(Training run) {
  const base::TempDir own = *base::TempDir::Create();
  if (run.directory.empty()) run.directory = own.path();
  Outcome outcome;
  for (const std::string& text : RunRanks(
           run.ranks, [&](Communicator& communicator) { return RunRank(communicator, run); },
           run.per_node)) {
    std::istringstream lines(text);
    std::string weights;
    std::string states;
    std::string steps;
    std::string error;
    std::string scale;
    std::string trace;
    std::getline(lines, weights);
    std::getline(lines, states);
    std::getline(lines, steps);
    std::getline(lines, error);
    std::getline(lines, scale);
    std::getline(lines, trace);
    if (outcome.states.empty()) {
      outcome = {weights, {}, trace, steps, std::atof(error.c_str()), std::atof(scale.c_str())};
    }
    EXPECT_NE(weights.substr(0, 6), "error:") << weights;
    EXPECT_EQ(weights, outcome.weights) << "ranks differ: " << run.optimizations;
    EXPECT_EQ(steps, outcome.steps) << "ranks differ: " << run.optimizations;
    EXPECT_EQ(std::atof(scale.c_str()), outcome.scale) << "ranks differ: " << run.optimizations;
    outcome.states.push_back(static_cast<size_t>(std::atoi(states.c_str())));
  }
  return outcome;
}

std::vector<double> Numbers(const std::string& weights) {
  std::istringstream text(weights);
  std::vector<double> numbers;
  for (std::string word; text >> word;) numbers.push_back(std::strtod(word.c_str(), nullptr));
  return numbers;
}

// The norm of the difference relative to the norm of `expected`.
double Distance(const std::string& one, const std::string& expected) {
  const std::vector<double> a = Numbers(one), b = Numbers(expected);
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  double difference = 0;
  double length = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    length += b[i] * b[i];
  }
  return std::sqrt(difference / length);
}

constexpr char kAllReduce[] = "";
constexpr char kSharded[] = R"("shard_optimizer": true)";
constexpr char kServer[] = R"("strategy": "parameter_server")";
constexpr char kLocal[] = R"("strategy": "local_sgd", "local_sgd_steps": 4)";
constexpr char kAsync[] = R"("strategy": "async", "local_sgd_steps": 4)";
constexpr char kHierarchical[] = R"("hierarchical_allreduce": true)";
constexpr char kBytes[] = R"("gradient_compression": "int8")";
constexpr char kHalves[] = R"("gradient_compression": "float16")";
constexpr char kShardedBytes[] = R"("shard_optimizer": true, "gradient_compression": "int8")";

class StrategyTest : public ::testing::Test {
 protected:
  const base::TempDir folder_ = *base::TempDir::Create();
  const std::string& directory_ = folder_.path();
};

TEST_F(StrategyTest, SeveralRanksEqualOneRank) {
  const Outcome one = TrainOn({});
  for (const char* optimizations :
       {kAllReduce, kSharded, kServer, R"("hierarchical_allreduce": true)",
        R"("hierarchical_allreduce": true, "shard_optimizer": true)",
        R"("tensor_fusion_threshold": 1)"}) {
    for (const int ranks : {2, 4}) {
      const Outcome several =
          TrainOn({.optimizations = optimizations, .ranks = ranks, .per_node = ranks / 2});
      EXPECT_LT(Distance(several.weights, one.weights), 1e-4) << ranks << optimizations;
      EXPECT_EQ(several.error > 0, true) << optimizations;
    }
  }
}

TEST_F(StrategyTest, SeveralRanksEqualOneRank_WithAggregationAndClipping) {
  const Outcome one = TrainOn({.batch = 24, .records = 72, .norm = 0.05});
  EXPECT_GT(Distance(TrainOn({.batch = 24, .records = 72}).weights, one.weights), 1e-3);
  const std::string two = R"("aggregation_frequency": 2)";
  for (const std::string& optimizations : {two, two + ", " + kSharded, two + ", " + kServer,
                                           two + R"(, "hierarchical_allreduce": true)",
                                           two + R"(, "hierarchical_allreduce": true, )" + kSharded,
                                           two + R"(, "tensor_fusion_threshold": 1)"}) {
    for (const int ranks : {1, 2, 4}) {
      const Outcome several = TrainOn({.optimizations = optimizations,
                                       .ranks = ranks,
                                       .per_node = ranks / 2,
                                       .steps = 100,
                                       .batch = 12,
                                       .records = 72,
                                       .norm = 0.05});
      EXPECT_LT(Distance(several.weights, one.weights), 1e-4) << ranks << optimizations;
    }
  }
}

// Averaging the weights after each step of plain SGD equals averaging the gradients.
TEST_F(StrategyTest, LocalSgdEqualsOneRank_WhenPeriodIsOne) {
  const auto train = [](const std::string& optimizations, int ranks) {
    return TrainOn({.optimizations = optimizations, .ranks = ranks, .adam = false}).weights;
  };
  const std::string one = train("", 1);
  EXPECT_LT(Distance(train(R"("strategy": "local_sgd", "local_sgd_steps": 1)", 3), one), 1e-4);
  EXPECT_GT(Distance(train(R"("strategy": "local_sgd", "local_sgd_steps": 8)", 3), one), 1e-6);
}

TEST_F(StrategyTest, OtherStrategiesLearn) {
  const double untrained = TrainOn({.steps = 1}).error;
  const Outcome one = TrainOn({.steps = 200});
  ASSERT_LT(one.error, untrained / 4);
  for (const char* optimizations :
       {kLocal, kAsync, kBytes, kHalves, R"("gradient_compression": "bfloat16")",
        R"("mixed_precision": "O1")"}) {
    const Outcome several = TrainOn({.optimizations = optimizations, .ranks = 3, .steps = 200});
    EXPECT_LT(several.error, untrained / 3) << optimizations;
    EXPECT_NE(several.weights, one.weights) << optimizations;
  }
}

TEST_F(StrategyTest, ResumedRunEqualsUninterruptedRun) {
  int number = 0;
  // Seven batches end within a step of two, and between two averages.
  const std::string two = R"("aggregation_frequency": 2)";
  for (const std::string& optimizations :
       {std::string(kAllReduce), std::string(kSharded), std::string(kServer), std::string(kLocal),
        std::string(kAsync), std::string(kBytes), std::string(kShardedBytes), std::string(kHalves),
        std::string(kHierarchical), two, two + ", " + kSharded, two + ", " + kServer,
        two + ", " + kLocal, two + ", " + kAsync, two + ", " + kBytes}) {
    const std::string directory = directory_ + "/" + std::to_string(number++);
    const Training whole = {.optimizations = optimizations,
                            .ranks = 4,
                            .per_node = 2,
                            .steps = 20,
                            .directory = directory,
                            .save_every = 7};
    const Outcome uninterrupted = TrainOn(whole);
    Training resumed = whole;
    resumed.latest = "steps-7";
    EXPECT_EQ(TrainOn(resumed).weights, uninterrupted.weights) << optimizations;
  }
}

// The rounding errors are part of the checkpoint: without them the result differs.
TEST_F(StrategyTest, SavesResidualsOfInt8) {
  const Training whole = {
      .optimizations = kBytes, .ranks = 2, .steps = 12, .directory = directory_, .save_every = 6};
  const Outcome uninterrupted = TrainOn(whole);
  Training resumed = whole;
  resumed.latest = "steps-6";
  std::filesystem::remove(directory_ + "/steps-6/rank_0.pt");
  EXPECT_NE(TrainOn(resumed).weights, uninterrupted.weights);
}

TEST_F(StrategyTest, ResumesWithAnyOtherStrategy) {
  const Outcome one = TrainOn({.steps = 20});
  struct Case {
    const char* first;
    int first_ranks;
    const char* second;
    int second_ranks;
  };
  const Case cases[] = {{kSharded, 3, kAllReduce, 1}, {kAllReduce, 1, kSharded, 3},
                        {kSharded, 3, kSharded, 2},   {kServer, 2, kSharded, 4},
                        {kSharded, 2, kServer, 3},    {kServer, 3, kAllReduce, 2}};
  int number = 0;
  for (const Case& c : cases) {
    const std::string directory = directory_ + "/" + std::to_string(number++);
    TrainOn({.optimizations = c.first,
             .ranks = c.first_ranks,
             .steps = 10,
             .directory = directory,
             .save_every = 10});
    const Outcome second = TrainOn({.optimizations = c.second,
                                    .ranks = c.second_ranks,
                                    .steps = 20,
                                    .directory = directory,
                                    .latest = "steps-10"});
    EXPECT_LT(Distance(second.weights, one.weights), 1e-4) << number;
    EXPECT_EQ(second.steps, "20");
  }
}

TEST_F(StrategyTest, EachRankKeepsItsPartOfState) {
  EXPECT_EQ(TrainOn({.steps = 2}).states, (std::vector<size_t>{4}));
  EXPECT_EQ(TrainOn({.ranks = 2, .steps = 2}).states, (std::vector<size_t>{6, 6}));
  // Also after loading a checkpoint.
  for (const int64_t save_every : {0, 1}) {
    const Outcome sharded = TrainOn({.optimizations = kSharded,
                                     .ranks = 2,
                                     .steps = 2,
                                     .directory = directory_,
                                     .save_every = save_every});
    EXPECT_EQ(sharded.states[0] + sharded.states[1], 6U);
    EXPECT_GT(sharded.states[0], 0U);
    EXPECT_GT(sharded.states[1], 0U);
    const Outcome server = TrainOn({.optimizations = kServer,
                                    .ranks = 2,
                                    .steps = 2,
                                    .directory = directory_,
                                    .save_every = save_every});
    EXPECT_EQ(server.states, (std::vector<size_t>{4, 0}));
  }
}

// The chief also writes the weights.
TEST_F(StrategyTest, RanksWriteSimilarPartsOfCheckpoint) {
  const std::vector<torch::Tensor> parameters(8, torch::zeros({100}));
  EXPECT_EQ(BalancedOwners(parameters, 2), (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(BalancedOwners(parameters, 2, 400), (std::vector<int>{1, 1, 1, 1, 0, 1, 0, 1}));

  // Returns the number of parameters whose state a rank has written.
  const auto count = [&](const std::string& file) {
    torch::serialize::InputArchive archive, state;
    archive.load_from(directory_ + "/steps-2/" + file);
    archive.read("state", state);
    return state.keys().size();
  };
  // Local steps have no state of parameters that are not used.
  const std::pair<const char*, size_t> cases[] = {{kAllReduce, 6}, {kSharded, 6}, {kLocal, 4}};
  for (const auto& [optimizations, states] : cases) {
    TrainOn({.optimizations = optimizations,
             .ranks = 3,
             .steps = 2,
             .directory = directory_,
             .save_every = 2});
    const size_t second = count("optimizer_0.rank_1.pt");
    const size_t third = count("optimizer_0.rank_2.pt");
    EXPECT_GT(second, 0U) << optimizations;
    EXPECT_GT(third, 0U) << optimizations;
    EXPECT_EQ(count("optimizer_0.pt") + second + third, states) << optimizations;
    EXPECT_FALSE(std::filesystem::exists(directory_ + "/steps-2/optimizer_0.rank_3.pt"));
    std::filesystem::remove_all(directory_ + "/steps-2");
  }
}

// With local steps, ranks exchange the request with the next average, with async when they apply
// it: here before the validation after batch 10.
TEST_F(StrategyTest, StopsAllRanksAfterSameBatch) {
  const std::pair<const char*, const char*> cases[] = {{kAllReduce, "6 preempted"},
                                                       {kSharded, "6 preempted"},
                                                       {kServer, "6 preempted"},
                                                       {kLocal, "8 preempted"},
                                                       {kAsync, "11 preempted"}};
  for (const auto& [optimizations, steps] : cases) {
    const Outcome stopped = TrainOn(
        {.optimizations = optimizations, .ranks = 3, .directory = directory_, .preempt_at = 6});
    EXPECT_EQ(stopped.steps, steps) << optimizations;
    EXPECT_NE(stopped.trace.find("acknowledge"), std::string::npos) << stopped.trace;
  }
}

// An overflow on one rank halves the scale of all, and does not change the weights.
TEST_F(StrategyTest, OverflowSkipsStepOnAllRanks) {
  for (const char* optimizations : {kAllReduce, kSharded, kServer, kBytes}) {
    const Outcome run =
        TrainOn({.optimizations = optimizations, .ranks = 2, .steps = 9, .overflow_at = 4});
    EXPECT_EQ(run.scale, 4.0) << optimizations;
    for (const double weight : Numbers(run.weights)) EXPECT_TRUE(std::isfinite(weight));
  }
}

// With local steps the scale is that of the chief; an overflow affects only its rank.
TEST_F(StrategyTest, OverflowOfLocalStepDoesNotAffectAverage) {
  for (const char* optimizations : {kLocal, kAsync}) {
    const Outcome run =
        TrainOn({.optimizations = optimizations, .ranks = 2, .steps = 9, .overflow_at = 0});
    for (const double weight : Numbers(run.weights)) EXPECT_TRUE(std::isfinite(weight));
  }
}

// A net of 2 MB, for which buckets of 1 and of 4 MB differ. The fake clock makes the second
// candidate faster.
TEST_F(StrategyTest, TunesBucketSizeDuringTraining) {
  const auto results = RunRanks(2, [](Communicator& communicator) {
    FakeContext core(communicator, {});
    TrialContext context(core);
    double now = 0;
    double pass = 2;
    AllReduce all_reduce(context, {.auto_tune_tensor_fusion = true}, [&] { return now += pass; });
    torch::manual_seed(5);
    auto net = context.wrap_model(
        torch::nn::Sequential(torch::nn::Linear(512, 512), torch::nn::Linear(512, 512)));
    const torch::Tensor x = torch::ones({1, 512}) * (1 + communicator.ranks().rank);
    const auto expected = [&] {
      return torch::autograd::grad({net->forward(torch::ones({1, 512}) * 1.5).sum()},
                                   net->parameters());
    };
    std::string buckets;
    bool right = true;
    for (int batch = 0; batch < 2 * BucketTuner::kPasses + 2; ++batch) {
      if (batch == BucketTuner::kPasses) pass = 1;
      for (torch::Tensor parameter : net->parameters()) parameter.mutable_grad().reset();
      all_reduce.Backward(net->forward(x).sum(), false);
      const std::string now_has = std::to_string(all_reduce.buckets());
      if (!buckets.ends_with(now_has)) buckets += (buckets.empty() ? "" : " then ") + now_has;
      const auto mean = expected();
      for (size_t i = 0; i < mean.size(); ++i) {
        right = right && torch::allclose(net->parameters()[i].grad(), mean[i], 1e-4, 1e-5);
      }
    }
    return buckets + (right ? "" : ", and wrong");
  });
  EXPECT_EQ(results, std::vector<std::string>(2, "4 then 2"));
}

TEST_F(StrategyTest, UsesMixedPrecisionOfConfiguration) {
  const auto results = RunRanks(1, [](Communicator& communicator) {
    std::string observed;
    for (const char* precision : {"O0", "O1", "bfloat16", "float16"}) {
      FakeContext::Options options;
      options.config =
          R"({"optimizations": {"mixed_precision": ")" + std::string(precision) + R"("}})";
      FakeContext core(communicator, options);
      try {
        TrialContext context(core);
        observed +=
            context.autocast_type() ? torch::toString(*context.autocast_type()) : "as it is";
      } catch (const Error& error) {
        observed += error.what();
      }
      observed += "\n";
    }
    return observed;
  });
  EXPECT_EQ(results[0],
            "as it is\nBFloat16\nBFloat16\nconfiguration: optimizations.mixed_precision: mixed "
            "precision in Half needs a GPU; use kBFloat16 on CPU slots\n");
}

}  // namespace
}  // namespace det::trial
