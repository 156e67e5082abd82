// Training on a GPU. Without a GPU, each test prints `skipped: no GPU`; with one, the test of
// several needs two. A rank is a process, and the first to use CUDA, because CUDA's state does not
// survive a fork.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/torch/controller.h"
#include "trial_api/cpp/torch/device.h"
#include "trial_api/cpp/torch/random_source.h"
#include "trial_api/cpp/torch/testing/fake_context.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::FakeContext;
using testing::RunRanks;

// Fits the sine of three numbers with a convolution, for which GPUs use separate libraries.
class SineTrial : public Trial {
 public:
  SineTrial(TrialContext& context, bool noise)
      : context_(context),
        noise_(noise),
        net_(context.wrap_model(torch::nn::Sequential(torch::nn::Conv1d(1, 16, 2),
                                                      torch::nn::Tanh(), torch::nn::Flatten(),
                                                      torch::nn::Linear(32, 1)))),
        adam_(context.wrap_optimizer(torch::optim::Adam(net_->parameters(), 0.01))) {}

  DataLoader build_training_data_loader() override { return {Records(64), {.shuffle = true}}; }
  DataLoader build_validation_data_loader() override { return Records(8); }

  BatchMetrics train_batch(const Batch& batch, int64_t, int64_t) override {
    computed_on = batch.data().device();
    torch::Tensor out = net_->forward(batch.data());
    computed_in = out.scalar_type();
    if (noise_) out = out + torch::randn_like(out);
    const torch::Tensor loss = torch::mse_loss(out.to(torch::kFloat32), batch.target());
    context_.backward(loss);
    context_.step_optimizer(adam_, {.norm = 10.0});
    return {{"loss", loss}};
  }
  BatchMetrics evaluate_batch(const Batch& batch) override {
    const torch::Tensor out = net_->forward(batch.data()).to(torch::kFloat32);
    return {{"error", torch::mse_loss(out, batch.target())}};
  }

  torch::Device computed_on = torch::kCPU;
  torch::ScalarType computed_in = torch::kFloat32;

 private:
  static TensorDataset Records(int64_t records) {
    const torch::Tensor x = torch::arange(records * 3, torch::kFloat32).view({records, 1, 3}).cos();
    return TensorDataset({x, x.sum(2).sin()});
  }

  TrialContext& context_;
  const bool noise_;
  torch::nn::Sequential net_;
  std::shared_ptr<torch::optim::Adam> adam_;
};

struct TrialSetup {
  std::string slots = "cuda";
  std::string precision = "O0";
  int64_t batches = 50;
  std::optional<std::string> latest = {};
  torch::ScalarType computes_in = torch::kFloat32;
  bool noise = false;  // use random numbers of the GPU
};

class GpuTest : public ::testing::Test {
 protected:
  // Returns the number of GPUs; prints a message if there are not enough.
  static bool Has(int gpus) {
    static const std::string seen =
        RunRanks(1, [](Communicator&) { return std::to_string(Gpus::Find().seen); })[0];
    if (std::atoi(seen.c_str()) >= gpus) return true;
    std::printf("skipped: no GPU%s\n", gpus > 1 ? " beside the first" : "");
    return false;
  }

  // Returns the error of the last validation on rank 0; a test failure if a rank used another
  // device or type.
  double Train(int ranks, const TrialSetup& setup) const {
    const std::string observed = RunRanks(
        ranks, [&](Communicator& communicator) { return TrainRank(communicator, setup); })[0];
    double error = std::nan("");
    EXPECT_EQ(std::sscanf(observed.c_str(), "%lf", &error), 1) << observed;
    return error;
  }

 private:
  std::string TrainRank(Communicator& communicator, const TrialSetup& setup) const {
    ::setenv("DET_SLOT_TYPE", setup.slots.c_str(), 1);
    FakeContext::Options options;
    options.directory = folder_.path();
    options.latest = setup.latest;
    options.config = R"({"optimizations": {"mixed_precision": ")" + setup.precision + "\"}}";
    options.training.max_length = {Length::Unit::kBatches, setup.batches};
    options.training.validation_period = {Length::Unit::kEpochs, 1};
    options.training.searcher_metric = "error";
    FakeContext core(communicator, options);
    TrialContext context(core);
    SeedTorch(7, communicator.ranks().rank, context.device());
    SineTrial trial(context, setup.noise);
    Controller(context, trial).Run();
    if (trial.computed_on != context.device() ||
        context.device().is_cuda() != (setup.slots == "cuda")) {
      return "computed on " + trial.computed_on.str();
    }
    if (trial.computed_in != setup.computes_in) return "computed in another type";
    if (!communicator.ranks().is_chief()) return "";
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", core.validation_reports.back().second.at("error"));
    return text;
  }

  const base::TempDir folder_ = *base::TempDir::Create();
};

TEST_F(GpuTest, LearnsLikeCpu) {
  if (!Has(1)) return;
  const double on_cpu = Train(1, {.slots = "cpu"});
  EXPECT_NEAR(Train(1, {}), on_cpu, 1e-3 * on_cpu);
}

TEST_F(GpuTest, LearnsWithMixedPrecision) {
  if (!Has(1)) return;
  const double whole = Train(1, {});
  EXPECT_NEAR(Train(1, {.precision = "float16", .computes_in = torch::kHalf}), whole, 0.1 * whole);
  EXPECT_NEAR(Train(1, {.precision = "O1", .computes_in = torch::kHalf}), whole, 0.1 * whole);
  EXPECT_NEAR(Train(1, {.precision = "bfloat16", .computes_in = torch::kBFloat16}), whole,
              0.1 * whole);
}

TEST_F(GpuTest, ResumesOnGpuAndOnCpu) {
  if (!Has(1)) return;
  const double whole = Train(1, {});
  Train(1, {.batches = 20});
  EXPECT_NEAR(Train(1, {.latest = "steps-20"}), whole, 1e-3 * whole);
  EXPECT_NEAR(Train(1, {.slots = "cpu", .latest = "steps-20"}), whole, 1e-3 * whole);
}

TEST_F(GpuTest, ResumesRandomNumbersOfGpu) {
  if (!Has(1)) return;
  const double whole = Train(1, {.noise = true});
  Train(1, {.batches = 20, .noise = true});
  EXPECT_NEAR(Train(1, {.latest = "steps-20", .noise = true}), whole, 1e-3 * whole);
}

TEST_F(GpuTest, TwoGpusLearnLikeOne) {
  if (!Has(2)) return;
  const double one = Train(1, {});
  EXPECT_NEAR(Train(2, {}), one, 1e-3 * one);
}

}  // namespace
}  // namespace det::trial
