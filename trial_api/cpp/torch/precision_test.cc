// Tests of mixed precision and loss scaling.
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/controller.h"
#include "trial_api/cpp/torch/loss_scale.h"
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

struct Precision {
  std::optional<torch::ScalarType> type = {};
  std::optional<LossScaling> scaling = {};
};

// Fits a line; with `overflow_at`, the last rank's loss of that batch is infinite.
class LineTrial : public Trial {
 public:
  LineTrial(TrialContext& context, const Precision& precision, int64_t overflow_at = -1)
      : context_(context),
        overflow_at_(overflow_at),
        line_(context.wrap_model(torch::nn::Linear(3, 1))),
        adam_(context.wrap_optimizer(torch::optim::Adam(line_->parameters(), 0.05))) {
    if (precision.type) context.use_mixed_precision(*precision.type);
    if (precision.scaling) context.scale_losses(*precision.scaling);
  }

  DataLoader build_training_data_loader() override { return Records(48); }
  DataLoader build_validation_data_loader() override { return Records(8); }

  BatchMetrics train_batch(const Batch& batch, int64_t, int64_t) override {
    scales.push_back(context_.loss_scale());
    const torch::Tensor out = line_(batch.data());
    computed_in = out.scalar_type();
    torch::Tensor loss = torch::mse_loss(out.to(torch::kFloat32), batch.target());
    const bool overflows = context_.steps_completed() == overflow_at_ &&
                           context_.ranks().rank == context_.ranks().size - 1;
    if (overflows) loss = loss * std::numeric_limits<float>::infinity();
    context_.backward(loss);
    context_.step_optimizer(adam_, {.norm = 10.0});
    weights.push_back(line_->weight.detach().clone());
    return {{"loss", loss}};
  }
  BatchMetrics evaluate_batch(const Batch& batch) override {
    validated_in = line_(batch.data()).scalar_type();
    return {{"error", torch::mse_loss(line_(batch.data()).to(torch::kFloat32), batch.target())}};
  }

  std::vector<double> scales;          // at the start of each batch
  std::vector<torch::Tensor> weights;  // at the end of each batch
  torch::ScalarType computed_in = torch::kFloat32;
  torch::ScalarType validated_in = torch::kFloat32;

 private:
  static DataLoader Records(int64_t records) {
    const torch::Tensor x = torch::arange(records * 3, torch::kFloat32).view({records, 3}).sin();
    return TensorDataset({x, x.matmul(torch::tensor({1.0F, -2.0F, 0.5F})).unsqueeze(1)});
  }

  TrialContext& context_;
  const int64_t overflow_at_;
  torch::nn::Linear line_;
  std::shared_ptr<torch::optim::Adam> adam_;
};

class PrecisionTest : public ::testing::Test {
 protected:
  FakeContext::Options Options(int64_t batches) const {
    FakeContext::Options options;
    options.directory = directory_;
    options.training.max_length = {Unit::kBatches, batches};
    options.training.validation_period = {Unit::kEpochs, 1};
    options.training.reporting_period = 100;
    options.training.searcher_metric = "error";
    return options;
  }

  const base::TempDir folder_ = *base::TempDir::Create();
  const std::string& directory_ = folder_.path();
};

std::string GetError(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(PrecisionTest, LearnsWithBfloat16) {
  const auto results = RunRanks(2, [&](Communicator& communicator) -> std::string {
    std::string text;
    std::vector<torch::Tensor> learned;
    for (const Precision& precision : {Precision(), Precision{.type = torch::kBFloat16}}) {
      FakeContext core(communicator, Options(100));
      SeedTorch(7, communicator.ranks().rank);
      TrialContext context(core);
      LineTrial trial(context, precision);
      Controller(context, trial).Run();
      const torch::ScalarType expected = precision.type.value_or(torch::kFloat32);
      if (trial.computed_in != expected) text += "training computes in another type; ";
      if (trial.validated_in != expected) text += "validation computes in another type; ";
      if (trial.weights.back().scalar_type() != torch::kFloat32) text += "weights changed; ";
      learned.push_back(trial.weights.back());
    }
    if (torch::equal(learned[0], learned[1])) text += "nothing was rounded; ";
    const double apart = (learned[0] - learned[1]).abs().max().item<double>();
    if (apart > 0.02) text += "weights are " + std::to_string(apart) + " apart; ";
    return text;
  });
  for (const std::string& text : results) EXPECT_EQ(text, "");
}

TEST_F(PrecisionTest, ScaledLossDoesNotChangeResult) {
  const auto results = RunRanks(2, [&](Communicator& communicator) -> std::string {
    std::vector<torch::Tensor> learned;
    for (const Precision& precision : {Precision(), Precision{.scaling = LossScaling()}}) {
      FakeContext core(communicator, Options(10));
      SeedTorch(7, communicator.ranks().rank);
      TrialContext context(core);
      LineTrial trial(context, precision);
      Controller(context, trial).Run();
      learned.push_back(trial.weights.back());
    }
    // The scale is a power of two, so the result is bitwise equal.
    return torch::equal(learned[0], learned[1]) ? "" : "other weights";
  });
  for (const std::string& text : results) EXPECT_EQ(text, "");
}

TEST_F(PrecisionTest, OverflowOnOneRankSkipsStepOnAllRanks) {
  const auto results = RunRanks(2, [&](Communicator& communicator) -> std::string {
    FakeContext core(communicator, Options(5));
    TrialContext context(core);
    LineTrial trial(context, {.scaling = LossScaling{.initial = 8.0, .growth_every = 2}}, 2);
    Controller(context, trial).Run();
    std::string text;
    for (const double scale : trial.scales) text += std::to_string(int(scale)) + " ";
    text += torch::equal(trial.weights[1], trial.weights[2]) ? "skipped " : "stepped ";
    text += torch::equal(trial.weights[2], trial.weights[3]) ? "stuck" : "changes";
    return text;
  });
  for (const std::string& text : results) EXPECT_EQ(text, "8 8 16 8 8 skipped changes");
}

TEST_F(PrecisionTest, RestoresScale_OnMoreRanks) {
  const LossScaling scaling = {.initial = 8.0, .growth_every = 3};
  RunRanks(1, [&](Communicator& communicator) -> std::string {
    FakeContext core(communicator, Options(4));
    TrialContext context(core);
    LineTrial trial(context, {.scaling = scaling});
    Controller(context, trial).Run();
    return "";
  });
  const auto results = RunRanks(2, [&](Communicator& communicator) -> std::string {
    FakeContext::Options options = Options(8);
    options.latest = "steps-4";
    FakeContext core(communicator, options);
    TrialContext context(core);
    LineTrial trial(context, {.scaling = scaling});
    Controller(context, trial).Run();
    std::string text;
    for (const double scale : trial.scales) text += std::to_string(int(scale)) + " ";
    return text;
  });
  for (const std::string& text : results) EXPECT_EQ(text, "16 16 32 32 ");
}

TEST_F(PrecisionTest, ErrorNamesInvalidOption) {
  const auto results = RunRanks(1, [&](Communicator& communicator) -> std::string {
    FakeContext core(communicator, Options(1));
    TrialContext context(core);
    std::string text = GetError([&] { context.use_mixed_precision(torch::kHalf); }) + "; ";
    text += GetError([&] { context.use_mixed_precision(torch::kFloat64); }) + "; ";
    text += GetError([&] { context.scale_losses({.backoff = 2.0}); });
    return text;
  });
  EXPECT_EQ(results[0],
            "mixed precision in Half needs a GPU; use kBFloat16 on CPU slots; "
            "mixed precision in Double: expected kBFloat16 or kHalf; "
            "LossScaling: initial must be above 0, growth above 1, growth_every at least 1, "
            "backoff between 0 and 1");
}

}  // namespace
}  // namespace det::trial
