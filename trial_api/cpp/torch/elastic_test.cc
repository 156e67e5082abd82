// A training that continues with another number of ranks loses nothing of the state that only one
// rank had.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/torch/controller.h"
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

TensorDataset Records() {
  const torch::Tensor x = torch::arange(60 * 3, torch::kFloat32).view({60, 3}).sin();
  return TensorDataset({x, x.pow(2).sum(1, /*keepdim=*/true).tanh()});
}

// The sum of squares and their number, which are not means over records.
class Squares : public MetricReducer {
 public:
  void update(const torch::Tensor& x) {
    sum_ += x.detach().pow(2).sum().item<double>();
    count_ += static_cast<double>(x.numel());
  }
  void reset() override { sum_ = count_ = 0; }
  torch::Tensor per_rank() override { return torch::tensor({sum_, count_}, torch::kFloat64); }
  std::map<std::string, double> across_ranks(const std::vector<torch::Tensor>& parts) override {
    torch::Tensor all = torch::zeros({2}, torch::kFloat64);
    for (const torch::Tensor& part : parts) all += part;
    return {{"squares", all[0].item<double>()}, {"count", all[1].item<double>()}};
  }

 private:
  double sum_ = 0;
  double count_ = 0;
};

struct Training {
  std::string optimizations = "";
  int ranks = 1;
  int64_t steps = 8;
  std::string directory = "";
  std::string latest = "";
  // The gradients do not depend on the weights, so that only the rounding errors matter.
  bool linear = false;
  // The loss contains the squares of the weights, too, whose gradients every rank has, even of
  // other stages.
  bool penalty = false;
};

class NetTrial : public Trial {
 public:
  NetTrial(TrialContext& context, bool linear, bool penalty)
      : context_(context), linear_(linear), penalty_(penalty), net_(nullptr) {
    torch::manual_seed(5);  // The same for any number of ranks.
    net_ =
        torch::nn::Sequential(torch::nn::Linear(3, 5), torch::nn::Tanh(), torch::nn::Linear(5, 5),
                              torch::nn::Tanh(), torch::nn::Linear(5, 5), torch::nn::Linear(5, 1));
    if (linear) net_ = torch::nn::Sequential(torch::nn::Linear(3, 1));
    whole_ = net_->parameters();
    net_ = context.wrap_model(net_);
    sgd_ = context.wrap_optimizer(torch::optim::SGD(
        net_->parameters(), torch::optim::SGDOptions(0.1).momentum(linear ? 0 : 0.5)));
    squares_ = context.wrap_reducer(std::make_shared<Squares>(), {.validation = false});
  }

  DataLoader build_training_data_loader() override { return {Records(), {.shuffle = true}}; }
  DataLoader build_validation_data_loader() override { return Records(); }

  BatchMetrics train_batch(const Batch& batch, int64_t, int64_t) override {
    squares_->update(batch.target());
    const torch::Tensor out = net_->forward(batch.data());
    torch::Tensor loss =
        linear_ ? out.mul(batch.target()).mean() : torch::mse_loss(out, batch.target());
    for (const torch::Tensor& weights : penalty_ ? whole_ : std::vector<torch::Tensor>()) {
      loss = loss + 0.01 * weights.pow(2).sum();
    }
    context_.backward(loss);
    context_.step_optimizer(sgd_);
    return {{"loss", loss}};
  }
  BatchMetrics evaluate_batch(const Batch& batch) override {
    return {{"error", torch::mse_loss(net_->forward(batch.data()), batch.target())}};
  }

  std::vector<double> Weights() const {
    std::vector<double> weights;
    for (const torch::Tensor& parameter : whole_) {
      const torch::Tensor flat = parameter.detach().to(torch::kFloat64).flatten();
      weights.insert(weights.end(), flat.data_ptr<double>(),
                     flat.data_ptr<double>() + flat.numel());
    }
    return weights;
  }

 private:
  TrialContext& context_;
  const bool linear_;
  const bool penalty_;
  torch::nn::Sequential net_;
  std::vector<torch::Tensor> whole_;
  std::shared_ptr<torch::optim::SGD> sgd_;
  std::shared_ptr<Squares> squares_;
};

std::string RunRank(Communicator& communicator, const Training& run) {
  SeedTorch(7, communicator.ranks().rank);
  FakeContext::Options options;
  options.config = R"({"optimizations": {)" + run.optimizations + "}}";
  options.hparams = R"({"global_batch_size": 12})";
  options.directory = run.directory;
  if (!run.latest.empty()) options.latest = run.latest;
  options.training.max_length = Length{Unit::kBatches, run.steps};
  options.training.checkpoint_period = Length{Unit::kBatches, 2};
  options.training.checkpoint_policy = TrainingConfig::CheckpointPolicy::kNone;
  options.training.validation_period = Length{Unit::kBatches, 100};
  options.training.reporting_period = 8;
  options.training.searcher_metric = "error";
  FakeContext core(communicator, options);
  TrialContext context(core);
  NetTrial trial(context, run.linear, run.penalty);
  Controller(context, trial).Run();
  context.Synchronize();
  std::ostringstream text;
  text.precision(17);
  for (const double weight : trial.Weights()) text << weight << " ";
  const auto& [steps, metrics] = core.training_reports.back();
  text << steps << " ";
  for (const auto& [name, value] : metrics) text << value << " ";
  return text.str();
}

// The weights after the last step, and the last report, as on every rank.
std::vector<double> Train(const Training& run) {
  std::vector<double> first;
  for (const std::string& text : RunRanks(
           run.ranks, [&](Communicator& communicator) { return RunRank(communicator, run); })) {
    EXPECT_EQ(text.find("error"), std::string::npos) << text;
    std::istringstream words(text);
    std::vector<double> numbers;
    for (double number; words >> number;) numbers.push_back(number);
    if (first.empty()) first = numbers;
    EXPECT_EQ(numbers, first) << "ranks differ: " << run.optimizations;
  }
  return first;
}

double Distance(const std::vector<double>& one, const std::vector<double>& expected) {
  if (one.size() != expected.size() || one.empty()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    const double scale = std::max(std::abs(expected[i]), 0.01);
    largest = std::max(largest, std::abs(one[i] - expected[i]) / scale);
  }
  return largest;
}

// steps-6 is within the second group of four
constexpr char kAmid[] = R"("aggregation_frequency": 4)";

class ElasticTest : public ::testing::Test {
 protected:
  const base::TempDir folder_ = *base::TempDir::Create();
  const std::string& directory_ = folder_.path();
};

TEST_F(ElasticTest, ResumesWithinAggregation_OnAnyNumberOfRanks) {
  int number = 0;
  for (const char* more : {"", R"(, "average_aggregated_gradients": false)",
                           R"(, "shard_optimizer": true)", R"(, "strategy": "parameter_server")",
                           R"(, "strategy": "local_sgd", "local_sgd_steps": 1)"}) {
    for (const int saved : {1, 3, 4}) {
      Training run = {.optimizations = std::string(kAmid) + more,
                      .ranks = saved,
                      .directory = directory_ + "/" + std::to_string(number++)};
      const std::vector<double> uninterrupted = Train(run);
      run.latest = "steps-6";
      for (const int ranks : {1, 2, 3, 4}) {
        run.ranks = ranks;
        const std::vector<double> resumed = Train(run);
        EXPECT_LT(Distance(resumed, uninterrupted), 1e-5) << saved << " to " << ranks << more;
        if (ranks == saved) {
          EXPECT_EQ(resumed, uninterrupted) << saved << more;
        }
      }
    }
  }
}

// Its ranks have different gradients, and the same records.
TEST_F(ElasticTest, ResumesFromAndToPipeline) {
  const std::string pipeline = std::string(kAmid) + R"(, "strategy": "pipeline")";
  struct Case {
    std::string before;
    int saved;
    std::string after;
    int ranks;
  };
  const Case cases[] = {{pipeline, 3, pipeline, 3}, {pipeline, 4, pipeline, 2},
                        {pipeline, 2, pipeline, 4}, {pipeline, 3, kAmid, 1},
                        {pipeline, 3, kAmid, 2},    {kAmid, 4, pipeline, 3},
                        {kAmid, 1, pipeline, 2}};
  int number = 0;
  for (const Case& c : cases) {
    Training run = {.optimizations = c.before,
                    .ranks = c.saved,
                    .directory = directory_ + "/" + std::to_string(number++)};
    const std::vector<double> uninterrupted = Train(run);
    run.latest = "steps-6";
    run.optimizations = c.after;
    run.ranks = c.ranks;
    EXPECT_LT(Distance(Train(run), uninterrupted), 1e-5) << number;
  }
}

TEST_F(ElasticTest, PipelineResumesOnlyGradientsOfItsStages) {
  Training run = {.optimizations = std::string(kAmid) + R"(, "strategy": "pipeline")",
                  .ranks = 3,
                  .directory = directory_,
                  .penalty = true};
  const std::vector<double> uninterrupted = Train(run);
  run.latest = "steps-6";
  EXPECT_EQ(Train(run), uninterrupted);
  run.ranks = 2;
  EXPECT_LT(Distance(Train(run), uninterrupted), 1e-5);
}

// The rounding errors of int8 are delayed, not lost: after a step with whole numbers all of them
// are applied.
TEST_F(ElasticTest, ResumesResidualsOfInt8) {
  const auto weights = [](const Training& run) {
    std::vector<double> numbers = Train(run);
    numbers.resize(4);  // of Linear(3, 1)
    return numbers;
  };
  const std::vector<double> plain =
      weights({.steps = 10, .directory = directory_ + "/plain", .linear = true});
  for (const int second : {1, 2, 3, 4}) {
    for (const int third : {1, 2, 4}) {
      Training run = {.optimizations = R"("gradient_compression": "int8")",
                      .ranks = 3,
                      .steps = 6,
                      .directory = directory_ + "/" + std::to_string(10 * second + third),
                      .linear = true};
      Train(run);
      run.latest = "steps-6";
      run.steps = 8;
      run.ranks = second;
      Train(run);
      run.latest = "steps-8";
      run.steps = 10;
      run.ranks = third;
      run.optimizations = "";
      EXPECT_LT(Distance(weights(run), plain), 1e-6) << second << ", " << third;
    }
  }
}

}  // namespace
}  // namespace det::trial
