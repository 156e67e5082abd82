// Tests of the amount of data that the ranks exchange in a step.
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/torch/testing/counting_communicator.h"
#include "trial_api/cpp/torch/testing/fake_context.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include "trial_api/cpp/torch/trial_context.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::CountingCommunicator;
using testing::FakeContext;
using testing::RunRanks;
using testing::Traffic;

constexpr int kLayers = 24;
constexpr int64_t kWidth = 512;
constexpr size_t kWeights = kLayers * kWidth * kWidth * sizeof(float);  // bytes of one layer: 1 MB

// In units of all weights.
struct Sent {
  double gradients_for_all = 0;
  double gradients_for_one = 0;
  double weights = 0;
  double sent = 0;
};

// The traffic of rank 0 in one step after the first.
Sent OneStep(int ranks, const std::string& optimizations) {
  const std::string text =
      RunRanks(ranks, [&](Communicator& inner) -> std::string {
        CountingCommunicator communicator(inner);
        FakeContext::Options options;
        options.hparams = R"({"global_batch_size": 12})";
        options.config =
            R"({"optimizations": {"tensor_fusion_threshold": 1)" + optimizations + "}}";
        FakeContext core(communicator, options);
        TrialContext context(core);
        torch::nn::Sequential net;
        for (int i = 0; i < kLayers; ++i) {
          net->push_back(torch::nn::Linear(torch::nn::LinearOptions(kWidth, kWidth).bias(false)));
        }
        net = context.wrap_model(net);
        const auto sgd = context.wrap_optimizer(torch::optim::SGD(net->parameters(), 0.01));
        const Traffic& traffic = communicator.traffic();
        std::vector<size_t> before;
        for (int step = 0; step < 2; ++step) {
          before = {traffic.summed_for_all, traffic.summed_for_one, traffic.broadcast,
                    traffic.sent()};
          context.backward(net->forward(torch::ones({1, kWidth})).mean());
          context.step_optimizer(sgd);
          context.AgreeToStop();
        }
        const std::vector<size_t> after = {traffic.summed_for_all, traffic.summed_for_one,
                                           traffic.broadcast, traffic.sent()};
        std::ostringstream parts;
        for (size_t i = 0; i < after.size(); ++i) {
          parts << static_cast<double>(after[i] - before[i]) / kWeights << " ";
        }
        return parts.str();
      }).front();
  EXPECT_EQ(text.find("error"), std::string::npos) << text;
  Sent measured;
  std::istringstream(text) >> measured.gradients_for_all >> measured.gradients_for_one >>
      measured.weights >> measured.sent;
  return measured;
}

TEST(TrafficTest, AllReduceSendsEachGradientToAll) {
  const Sent measured = OneStep(2, "");
  EXPECT_NEAR(measured.gradients_for_all, 1, 1e-3);
  EXPECT_EQ(measured.gradients_for_one, 0);
  EXPECT_EQ(measured.weights, 0);
}

TEST(TrafficTest, Float16HalvesTraffic) {
  EXPECT_NEAR(OneStep(2, R"(, "gradient_compression": "bfloat16")").gradients_for_all, 0.5, 1e-3);
}

// Except for the last bucket, which contains the request to stop.
TEST(TrafficTest, ShardedOptimizerSendsGradientsToOwnersAndWeightsToAll) {
  for (const int ranks : {2, 3}) {
    const Sent plain = OneStep(ranks, "");
    const Sent measured = OneStep(ranks, R"(, "shard_optimizer": true)");
    EXPECT_NEAR(measured.gradients_for_all, 1.0 / kLayers, 1e-3) << ranks;
    EXPECT_NEAR(measured.gradients_for_all + measured.gradients_for_one, 1, 1e-3) << ranks;
    EXPECT_NEAR(measured.weights, 1, 1e-3) << ranks;
    const double gradient_communicator = measured.sent - measured.weights;
    EXPECT_LT(gradient_communicator, 0.55 * plain.sent) << ranks;
  }
}

}  // namespace
}  // namespace det::trial
