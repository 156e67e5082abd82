// Tests of the strategy pipeline: how nets are divided, and that stages on ranks equal the whole
// net on one rank.
#include "trial_api/cpp/torch/pipeline.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/controller.h"
#include "trial_api/cpp/torch/random_source.h"
#include "trial_api/cpp/torch/testing/fake_context.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::FakeContext;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunRanks;
using Unit = Length::Unit;

constexpr char kPipeline[] = R"("strategy": "pipeline", "pipeline_micro_batches": 3)";

struct Training {
  int ranks = 1;
  std::string optimizations = kPipeline;
  int64_t steps = 50;
  std::string directory = "";
  std::string latest = "";  // a checkpoint in that directory
  bool dropout = false;
  // number of steps after which the last rank receives a preemption request
  int64_t preempt_at = -1;
  int64_t overflow_at = -1;  // the batch whose loss is infinite
};

torch::nn::Sequential MakeNet(bool dropout) {
  torch::manual_seed(5);
  torch::nn::Sequential net(torch::nn::Linear(3, 16), torch::nn::Tanh(), torch::nn::Linear(16, 16),
                            torch::nn::ReLU(torch::nn::ReLUOptions().inplace(true)),
                            torch::nn::Linear(16, 8), torch::nn::Tanh(), torch::nn::Linear(8, 1));
  if (dropout) net->push_back(torch::nn::Dropout(0.2));
  return net;
}

TensorDataset Curve(int64_t records) {
  const torch::Tensor x = torch::arange(records * 3, torch::kFloat32).view({records, 3}).sin();
  return TensorDataset({x, x.pow(2).sum(1, /*keepdim=*/true).tanh()});
}

class CurveTrial : public Trial {
 public:
  CurveTrial(TrialContext& context, const Training& run)
      : context_(context),
        run_(run),
        whole_(MakeNet(run.dropout)),
        net_(context.wrap_model(whole_)),
        adam_(context.wrap_optimizer(torch::optim::Adam(net_->parameters(), 0.01))) {
    if (run.overflow_at >= 0) context.scale_losses({.initial = 8.0});
  }

  DataLoader build_training_data_loader() override { return {Curve(60), {.shuffle = true}}; }
  DataLoader build_validation_data_loader() override { return Curve(24); }

  BatchMetrics train_batch(const Batch& batch, int64_t, int64_t) override {
    EXPECT_EQ(batch.size(), context_.per_slot_batch_size());
    torch::Tensor loss = torch::mse_loss(net_->forward(batch.data()), batch.target());
    if (context_.steps_completed() == run_.overflow_at) {
      loss = loss * std::numeric_limits<float>::infinity();
    }
    context_.backward(loss);
    context_.step_optimizer(adam_, {.norm = 0.1});
    return {{"loss", loss}};
  }
  BatchMetrics evaluate_batch(const Batch& batch) override {
    return {{"error", torch::mse_loss(net_->forward(batch.data()), batch.target())}};
  }

  std::string Weights() const {
    std::string text;
    for (const torch::Tensor& parameter : whole_->parameters()) {
      const torch::Tensor flat = parameter.detach().flatten();
      for (int64_t i = 0; i < flat.numel(); ++i) {
        char number[40];
        std::snprintf(number, sizeof number, "%a ", flat[i].item<double>());
        text += number;
      }
    }
    return text;
  }
  size_t states() const { return adam_->state().size(); }

 private:
  TrialContext& context_;
  const Training run_;
  torch::nn::Sequential whole_;
  torch::nn::Sequential net_;
  std::shared_ptr<torch::optim::Adam> adam_;
};

struct Outcome {
  std::string weights;  // the same on all ranks
  std::vector<int> states;
  std::string steps;
  double error = 0;
  double scale = 0;
};

std::string RunRank(Communicator& communicator, const Training& run) {
  SeedTorch(7, communicator.ranks().rank);
  FakeContext::Options options;
  options.config = R"({"optimizations": {)" + run.optimizations + "}}";
  options.hparams = R"({"global_batch_size": 10})";
  options.directory = run.directory;
  if (!run.latest.empty()) options.latest = run.latest;
  options.training.max_length = Length{Unit::kBatches, run.steps};
  options.training.validation_period = Length{Unit::kEpochs, 1};
  options.training.checkpoint_period = Length{Unit::kBatches, 7};
  options.training.checkpoint_policy = TrainingConfig::CheckpointPolicy::kNone;
  FakeContext core(communicator, options);
  core.preempt = run.preempt_at == 0;
  TrialContext context(core);
  CurveTrial trial(context, run);
  Controller(context, trial).Run();
  context.Synchronize();
  std::ostringstream text;
  text.precision(17);
  text << trial.Weights() << "\n" << trial.states() << " " << context.steps_completed() << " ";
  text << (core.validation_reports.empty() ? 0.0
                                           : core.validation_reports.back().second.at("error"))
       << " " << context.loss_scale();
  return text.str();
}

Outcome TrainOn(Training run) {
  const base::TempDir own = *base::TempDir::Create();
  if (run.directory.empty()) run.directory = own.path();
  Outcome outcome;
  for (const std::string& text : RunRanks(
           run.ranks, [&](Communicator& communicator) { return RunRank(communicator, run); })) {
    EXPECT_THAT(text, Not(HasSubstr("error:")));
    std::istringstream lines(text);
    std::string weights;
    int states = 0;
    std::getline(lines, weights);
    lines >> states >> outcome.steps >> outcome.error >> outcome.scale;
    if (!outcome.states.empty()) {
      EXPECT_EQ(weights, outcome.weights);
    }
    outcome.weights = weights;
    outcome.states.push_back(states);
  }
  return outcome;
}

// The norm of the difference relative to the norm of `expected`.
double Distance(const std::string& one, const std::string& expected) {
  std::istringstream a(one), b(expected);
  double difference = 0;
  double length = 0;
  for (std::string x, y; a >> x && b >> y;) {
    const double is = std::strtod(x.c_str(), nullptr);
    const double was = std::strtod(y.c_str(), nullptr);
    difference += (is - was) * (is - was);
    length += was * was;
  }
  return length == 0 ? 1 : std::sqrt(difference / length);
}

std::string Refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class PipelineTest : public ::testing::Test {
 protected:
  const base::TempDir folder_ = *base::TempDir::Create();
  const std::string& directory_ = folder_.path();
};

TEST_F(PipelineTest, StagesOnRanksEqualWholeNet) {
  const Outcome one = TrainOn({});
  for (const int ranks : {2, 3, 4}) {
    const Outcome several = TrainOn({.ranks = ranks});
    EXPECT_LT(Distance(several.weights, one.weights), 1e-4) << ranks;
    EXPECT_NEAR(several.error, one.error, 1e-4 * one.error) << ranks;
    EXPECT_EQ(several.steps, "50");
  }
}

TEST_F(PipelineTest, EachRankKeepsStateOfItsStage) {
  EXPECT_EQ(TrainOn({.steps = 2}).states, (std::vector<int>{8}));
  EXPECT_EQ(TrainOn({.ranks = 4, .steps = 2}).states, (std::vector<int>{2, 2, 2, 2}));
}

TEST_F(PipelineTest, AggregatedBatchesEqualLargerBatch) {
  const std::string two = R"(, "aggregation_frequency": 2)";
  const Outcome one = TrainOn({.optimizations = kPipeline + two, .steps = 20});
  const Outcome several = TrainOn({.ranks = 3, .optimizations = kPipeline + two, .steps = 20});
  EXPECT_LT(Distance(several.weights, one.weights), 1e-4);
}

// Includes random numbers within a stage.
TEST_F(PipelineTest, ResumedRunEqualsUninterruptedRun) {
  for (const bool dropout : {false, true}) {
    const Training whole = {.ranks = 3, .steps = 20, .directory = directory_, .dropout = dropout};
    const Outcome uninterrupted = TrainOn(whole);
    Training resumed = whole;
    resumed.latest = "steps-7";
    EXPECT_EQ(TrainOn(resumed).weights, uninterrupted.weights) << dropout;
  }
}

TEST_F(PipelineTest, ResumesWithAnyOtherStrategy) {
  const Outcome one = TrainOn({.steps = 20});
  struct Case {
    const char* first;
    int first_ranks;
    const char* second;
    int second_ranks;
  };
  for (const Case& c :
       {Case{kPipeline, 3, "", 1}, Case{"", 1, kPipeline, 3}, Case{kPipeline, 2, kPipeline, 4},
        Case{R"("shard_optimizer": true)", 2, kPipeline, 2},
        Case{kPipeline, 2, R"("shard_optimizer": true)", 2}}) {
    const base::TempDir folder = *base::TempDir::Create();
    TrainOn(
        {.ranks = c.first_ranks, .optimizations = c.first, .steps = 7, .directory = folder.path()});
    const Outcome second = TrainOn({.ranks = c.second_ranks,
                                    .optimizations = c.second,
                                    .steps = 20,
                                    .directory = folder.path(),
                                    .latest = "steps-7"});
    EXPECT_LT(Distance(second.weights, one.weights), 1e-4) << c.first << " " << c.second;
  }
}

TEST_F(PipelineTest, AllRanksStopAndSkipStepTogether) {
  EXPECT_EQ(TrainOn({.ranks = 3, .preempt_at = 0}).steps, "1");
  const Outcome overflowed = TrainOn({.ranks = 3, .steps = 9, .overflow_at = 4});
  EXPECT_EQ(overflowed.scale, 4.0);
  EXPECT_THAT(overflowed.weights, Not(HasSubstr("nan")));
}

TEST_F(PipelineTest, MinimizesLargestStage) {
  using torch::nn::Linear;
  torch::nn::Sequential net(Linear(10, 10), torch::nn::Tanh(), Linear(10, 10), Linear(10, 20),
                            torch::nn::Tanh());
  const auto cut = PartitionIntoStages(*net, 2);
  EXPECT_EQ(cut[0].begin, 0U);
  EXPECT_EQ(cut[0].end, cut[1].begin);
  EXPECT_EQ(cut[1].end, 5U);
  EXPECT_EQ(cut[1].begin, 3U);
  EXPECT_EQ(PartitionIntoStages(*net, 3).size(), 3U);
  EXPECT_THAT(
      Refusal([&] { PartitionIntoStages(*net, 4); }),
      HasSubstr("only 3 modules of the Sequential have parameters that train; use fewer slots"));
}

TEST_F(PipelineTest, RejectsParameterSharedByStages) {
  const torch::nn::Linear shared(4, 4);
  torch::nn::Sequential net(shared, torch::nn::Linear(4, 4), shared);
  EXPECT_THAT(Refusal([&] { PartitionIntoStages(*net, 2); }), HasSubstr("is shared by modules"));
}

TEST_F(PipelineTest, RejectsModelThatCannotBeDivided) {
  const auto results = RunRanks(2, [](Communicator& communicator) {
    FakeContext::Options options;
    options.config = std::string(R"({"optimizations": {)") + kPipeline + "}}";
    FakeContext core(communicator, options);
    TrialContext context(core);
    torch::nn::Linear frozen(2, 2);
    for (torch::Tensor parameter : frozen->parameters()) parameter.set_requires_grad(false);
    context.wrap_model(frozen);  // Not divided: every rank has the whole module.
    return Refusal([&] { context.wrap_model(torch::nn::Linear(2, 2)); });
  });
  for (const std::string& observed : results) {
    EXPECT_THAT(observed, HasSubstr("use a Sequential or another strategy"));
  }
}

}  // namespace
}  // namespace det::trial
