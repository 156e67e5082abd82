#include "trial_api/cpp/torch/trial_context.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/testing/fake_context.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::FakeContext;
using testing::RunRanks;

// Counts the all-reduces of floats: gradients, and requests to stop.
class CountingCommunicator : public Communicator {
 public:
  CountingCommunicator(Communicator& inner, int& count) : inner_(&inner), count_(count) {}
  CountingCommunicator(std::unique_ptr<Communicator> inner, int& count)
      : owned_(std::move(inner)), inner_(owned_.get()), count_(count) {}

  const Ranks& ranks() const override { return inner_->ranks(); }
  void AllReduceSum(void* data, size_t count, DType dtype) override {
    if (dtype == DType::kFloat32) ++count_;
    inner_->AllReduceSum(data, count, dtype);
  }
  void ReduceSum(void* data, size_t count, DType dtype, int root) override {
    inner_->ReduceSum(data, count, dtype, root);
  }
  void Broadcast(void* data, size_t bytes, int root) override {
    inner_->Broadcast(data, bytes, root);
  }
  std::vector<std::string> AllGather(const std::string& mine) override {
    return inner_->AllGather(mine);
  }
  void AllGatherBlocks(const void* mine, size_t bytes, void* all) override {
    inner_->AllGatherBlocks(mine, bytes, all);
  }
  void Barrier() override { inner_->Barrier(); }
  std::unique_ptr<Communicator> Duplicate(const std::string& name) override {
    return std::make_unique<CountingCommunicator>(inner_->Duplicate(name), count_);
  }
  std::unique_ptr<Communicator> Split(const std::string& name,
                                      const std::vector<int>& members) override {
    return std::make_unique<CountingCommunicator>(inner_->Split(name, members), count_);
  }

 private:
  std::unique_ptr<Communicator> owned_;
  Communicator* inner_;
  int& count_;
};

std::string Config(int64_t frequency, bool average) {
  return R"({"optimizations": {"aggregation_frequency": )" + std::to_string(frequency) +
         R"(, "average_aggregated_gradients": )" + (average ? "true}}" : "false}}");
}

struct Run {
  std::string config = "{}";
  int64_t global_batch = 8;
  int64_t batches = 6;
  double rate = 0.01;
  Clip clip;
};

// Fits a line with gradient descent, on the same records in the same order for any batches and
// ranks. Returns the weights, followed by the number of all-reduces.
std::vector<double> Train(Communicator& communicator, const Run& run) {
  int reduced = 0;
  CountingCommunicator counting(communicator, reduced);
  FakeContext::Options options;
  options.config = run.config;
  options.hparams = R"({"global_batch_size": )" + std::to_string(run.global_batch) + "}";
  FakeContext core(counting, options);
  TrialContext context(core);
  torch::manual_seed(5);
  auto line = context.wrap_model(torch::nn::Linear(3, 1));
  auto sgd = context.wrap_optimizer(torch::optim::SGD(line->parameters(), run.rate));
  const int64_t part = context.per_slot_batch_size();
  for (int64_t step = 0; step < run.batches; ++step) {
    const int64_t first = step * run.global_batch + part * context.ranks().rank;
    const torch::Tensor x =
        torch::arange(first * 3, (first + part) * 3, torch::kFloat32).view({part, 3}).sin();
    const torch::Tensor y = 10 * x.sum(1, /*keepdim=*/true);
    context.SetSteps(step, run.batches);
    context.backward(torch::mse_loss(line(x), y));
    context.step_optimizer(sgd, run.clip);
    context.SetSteps(step + 1, run.batches);
    context.AgreeToStop();
  }
  std::vector<double> results;
  for (const torch::Tensor& parameter : line->parameters()) {
    for (int64_t i = 0; i < parameter.numel(); ++i) {
      results.push_back(parameter.flatten()[i].item<double>());
    }
  }
  results.push_back(reduced);
  return results;
}

std::vector<double> TrainOn(int size, const Run& run) {
  const std::vector<std::string> texts = RunRanks(size, [&](Communicator& communicator) {
    std::ostringstream text;
    text.precision(17);
    for (const double number : Train(communicator, run)) text << number << " ";
    return text.str();
  });
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]) << "ranks differ";
  std::istringstream text(texts[0]);
  std::vector<double> numbers;
  for (double number = 0; text >> number;) numbers.push_back(number);
  EXPECT_EQ(numbers.size(), 5U) << texts[0];
  return numbers;
}

void ExpectSameWeights(const std::vector<double>& one, const std::vector<double>& other) {
  for (size_t i = 0; i + 1 < one.size(); ++i) {
    EXPECT_NEAR(one[i], other[i], 1e-4 * std::abs(other[i])) << "weight " << i;
  }
}

TEST(TrialContextTest, AggregatedBatchesEqualLargerBatch) {
  const std::vector<double> larger = TrainOn(1, {.global_batch = 12, .batches = 4});
  for (const int size : {1, 2}) {
    SCOPED_TRACE(std::to_string(size) + " ranks");
    const std::vector<double> aggregated =
        TrainOn(size, {.config = Config(3, true), .global_batch = 4, .batches = 12});
    ExpectSameWeights(aggregated, larger);
    EXPECT_EQ(aggregated.back(), size == 1 ? 0 : 4) << "all-reduces";
  }
}

TEST(TrialContextTest, AddsGradients_WhenNotAveraged) {
  const std::vector<double> larger = TrainOn(1, {.global_batch = 12, .batches = 4, .rate = 0.03});
  for (const int size : {1, 2}) {
    SCOPED_TRACE(std::to_string(size) + " ranks");
    ExpectSameWeights(
        TrainOn(size, {.config = Config(3, false), .global_batch = 4, .batches = 12, .rate = 0.01}),
        larger);
  }
}

TEST(TrialContextTest, WeightsDoNotChangeWithoutStep) {
  const std::vector<double> before = TrainOn(2, {.config = Config(4, true), .batches = 0});
  EXPECT_EQ(TrainOn(2, {.config = Config(4, true), .batches = 3}), before);
  EXPECT_NE(TrainOn(2, {.config = Config(4, true), .batches = 4}), before);
}

TEST(TrialContextTest, RanksStopWithNextStep) {
  const auto results = RunRanks(2, [](Communicator& communicator) {
    FakeContext::Options options;
    options.config = Config(4, true);
    FakeContext core(communicator, options);
    TrialContext context(core);
    auto line = context.wrap_model(torch::nn::Linear(3, 1));
    std::string answers;
    for (int64_t step = 0; step < 8; ++step) {
      core.preempt = step >= 1 && context.ranks().rank == 1;
      context.SetSteps(step, 8);
      context.backward(line(torch::ones({2, 3})).sum());
      context.SetSteps(step + 1, 8);
      answers += context.AgreeToStop() ? "stop " : "go ";
    }
    return answers;
  });
  EXPECT_EQ(results, std::vector<std::string>(2, "go go go stop go go go stop "));
}

// The average over the ranks is clipped, so the result does not depend on their number.
TEST(TrialContextTest, ClipsTheAverageOfAllRanks) {
  for (const Clip& clip :
       {Clip{.norm = 0.5}, Clip{.value = 0.2}, Clip{.norm = 0.3, .value = 0.2}}) {
    const std::vector<double> alone = TrainOn(1, {.batches = 3, .rate = 1.0, .clip = clip});
    ExpectSameWeights(TrainOn(2, {.batches = 3, .rate = 1.0, .clip = clip}), alone);
    ExpectSameWeights(TrainOn(4, {.batches = 3, .rate = 1.0, .clip = clip}), alone);
  }
}

TEST(TrialContextTest, ClipsToLimits) {
  const std::vector<double> before = TrainOn(1, {.batches = 0});
  const auto step = [&](const Clip& clip) {
    std::vector<double> change = TrainOn(1, {.batches = 1, .rate = 1.0, .clip = clip});
    for (size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
    return change;
  };
  const auto norm = [](const std::vector<double>& change) {
    double squares = 0.0;
    for (const double number : change) squares += number * number;
    return std::sqrt(squares);
  };
  ASSERT_GT(norm(step({})), 1.0);
  EXPECT_NEAR(norm(step({.norm = 0.5})), 0.5, 1e-4);
  double largest = 0.0;
  for (const double number : step({.value = 0.2})) largest = std::max(largest, std::abs(number));
  EXPECT_NEAR(largest, 0.2, 1e-4);
  EXPECT_EQ(step({.norm = 1e9, .value = 1e9}), step({}));
}

TEST(TrialContextTest, RejectsInvalidLimits) {
  for (const Clip& clip : {Clip{.norm = 0.0}, Clip{.value = -1.0}, Clip{.norm = std::nan("")}}) {
    const auto results = RunRanks(1, [&](Communicator& communicator) {
      Train(communicator, {.clip = clip});
      return std::string("accepted");
    });
    EXPECT_NE(results[0].find("must be above 0"), std::string::npos) << results[0];
  }
}

}  // namespace
}  // namespace det::trial
