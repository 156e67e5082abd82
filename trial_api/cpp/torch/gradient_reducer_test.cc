#include "trial_api/cpp/torch/gradient_reducer.h"

#include <sstream>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::RunRanks;

// Two layers and one that takes no part.
struct Net {
  Net() {
    torch::manual_seed(3);
    for (const int64_t rows : {5, 3, 2}) {
      weights.push_back(torch::randn({rows, 4}, torch::requires_grad()));
      named.emplace_back("w" + std::to_string(rows), weights.back());
    }
  }
  torch::Tensor Loss(double x) const {
    return (weights[0] * x).pow(2).sum() + (weights[1] * weights[0].slice(0, 0, 3) * x).sum();
  }
  std::vector<torch::Tensor> weights;
  GradientReducer::NamedParameters named;
};

std::string Text(const torch::Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

TEST(GradientReducerTest, GradientsAreTheAverageForAnyBuckets) {
  for (const int64_t limit : {int64_t{1}, int64_t{60}, int64_t{1} << 20}) {
    const auto results = RunRanks(3, [limit](Communicator& communicator) -> std::string {
      const Net net;
      GradientReducer reducer(communicator, net.named, {limit, limit});
      const Net expected;
      for (int step = 0; step < 3; ++step) {
        reducer.Prepare(false);
        net.Loss(communicator.ranks().rank + step).backward();
        reducer.Finish();
        ((expected.Loss(step) + expected.Loss(1 + step) + expected.Loss(2 + step)) / 3).backward();
        for (size_t i = 0; i < 2; ++i) {
          if (!torch::allclose(net.weights[i].grad(), expected.weights[i].grad())) {
            return "step " + std::to_string(step) + Text(net.weights[i].grad()) + " instead of " +
                   Text(expected.weights[i].grad());
          }
        }
        if (net.weights[2].grad().abs().sum().item<float>() != 0) return "unused: not zero";
      }
      return "same " + std::to_string(reducer.num_buckets());
    });
    const std::string buckets = limit == 1 ? "same 3" : limit == 60 ? "same 3" : "same 1";
    for (const std::string& result : results) EXPECT_EQ(result, buckets) << limit;
  }
}

TEST(GradientReducerTest, OneRanksWishToStopReachesAll) {
  const auto results = RunRanks(2, [](Communicator& communicator) {
    const Net net;
    GradientReducer reducer(communicator, net.named);
    std::string answers;
    for (int step = 0; step < 3; ++step) {
      reducer.Prepare(communicator.ranks().rank == 1 && step == 1);
      net.Loss(1.0).backward();
      answers += reducer.Finish() ? "stop " : "go ";
    }
    return answers;
  });
  EXPECT_EQ(results, (std::vector<std::string>{"go stop go ", "go stop go "}));
}

TEST(GradientReducerTest, SurvivesWhatUsersDoToGradients) {
  const auto results = RunRanks(2, [](Communicator& communicator) -> std::string {
    const Net net;
    torch::optim::SGD optimizer(net.weights, 0.1);
    GradientReducer reducer(communicator, net.named);
    for (int step = 0; step < 3; ++step) {
      if (step == 1) optimizer.zero_grad();
      if (step == 2) {
        for (torch::Tensor weight : net.weights) weight.mutable_grad().reset();
      }
      reducer.Prepare(false);
      net.Loss(communicator.ranks().rank).backward();
      reducer.Finish();
    }
    const Net expected;
    ((expected.Loss(0) + expected.Loss(1)) / 2).backward();
    return torch::allclose(net.weights[0].grad(), expected.weights[0].grad()) ? "same" : "differs";
  });
  EXPECT_EQ(results, (std::vector<std::string>{"same", "same"}));
}

TEST(GradientReducerTest, RefusesTypesItCannotAverage) {
  const auto results = RunRanks(2, [](Communicator& communicator) {
    const torch::Tensor half = torch::zeros({2}, torch::kHalf).requires_grad_();
    GradientReducer reducer(communicator, {{"half", half}});
    return std::string("accepted");
  });
  EXPECT_NE(results[0].find("parameter half is of type Half"), std::string::npos) << results[0];
}

}  // namespace
}  // namespace det::trial
