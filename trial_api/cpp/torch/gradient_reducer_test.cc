#include "trial_api/cpp/torch/gradient_reducer.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::RunRanks;
using Compression = Optimizations::Compression;

// Two layers, and one that is not used.
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

TEST(GradientReducerTest, AveragesGradients_ForAnyBuckets) {
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

// Returns the largest distance of this rank's gradients from the mean of all ranks, relative to the
// largest gradient.
double WorstError(const Net& net, const Net& expected) {
  double worst = 0;
  double largest = 0;
  for (size_t i = 0; i < 2; ++i) {
    const torch::Tensor mean = expected.weights[i].grad();
    worst = std::max(worst, (net.weights[i].grad() - mean).abs().max().item<double>());
    largest = std::max(largest, mean.abs().max().item<double>());
  }
  return worst / largest;
}

TEST(GradientReducerTest, CompressedGradientsAreCloseToAverage) {
  const std::pair<Compression, double> cases[] = {
      {Compression::kFloat16, 2e-3}, {Compression::kBFloat16, 2e-2}, {Compression::kInt8, 2e-2}};
  for (const auto& [compression, tolerance] : cases) {
    for (const int64_t limit : {int64_t{1}, int64_t{1} << 20}) {
      const auto results = RunRanks(3, [&](Communicator& communicator) -> std::string {
        const Net net, expected;
        GradientReducer reducer(communicator, net.named, {limit, limit}, compression);
        const bool wishes = communicator.ranks().rank == 2;
        reducer.Prepare(wishes);
        net.Loss(communicator.ranks().rank).backward();
        if (!reducer.Finish()) return "the wish to stop was lost";
        ((expected.Loss(0) + expected.Loss(1) + expected.Loss(2)) / 3).backward();
        const double error = WorstError(net, expected);
        if (error > tolerance) return "off by " + std::to_string(error);
        return error > 0 ? "near" : "nothing was rounded";
      });
      EXPECT_EQ(results, std::vector<std::string>(3, "near")) << static_cast<int>(compression);
    }
  }
}

// The rounding errors of int8 are added later: the sum over many steps is as accurate as that of
// one.
TEST(GradientReducerTest, Int8LosesNothingOverManySteps) {
  const auto results = RunRanks(2, [](Communicator& communicator) -> std::string {
    const Net net, expected;
    GradientReducer reducer(communicator, net.named, {}, Compression::kInt8);
    torch::Tensor sum = torch::zeros_like(net.weights[1]);
    torch::Tensor one_error;
    ((expected.Loss(0.3) + expected.Loss(0.7)) / 2).backward();
    for (int step = 0; step < 40; ++step) {
      for (const torch::Tensor& weight : net.weights) {
        if (weight.grad().defined()) weight.grad().zero_();
      }
      reducer.Prepare(false);
      net.Loss(communicator.ranks().rank == 0 ? 0.3 : 0.7).backward();
      if (reducer.Finish()) return "nobody wished to stop";
      sum += net.weights[1].grad();
    }
    const double off = (sum / 40 - expected.weights[1].grad()).abs().max().item<double>();
    const double level = net.weights[0].grad().abs().max().item<double>() / 127;
    return off < 2 * level / 40 ? "none lost" : "off by " + std::to_string(off / level) + " levels";
  });
  EXPECT_EQ(results, std::vector<std::string>(2, "none lost"));
}

TEST(GradientReducerTest, ResidualsCanBeMovedToOtherBuckets) {
  const auto results = RunRanks(2, [](Communicator& communicator) -> std::string {
    const auto step = [&](GradientReducer& reducer, const Net& net) {
      reducer.Prepare(false);
      net.Loss(1.0 + communicator.ranks().rank).backward();
      reducer.Finish();
    };
    const Net net, other;
    GradientReducer first(communicator, net.named, {}, Compression::kInt8);
    for (const torch::Tensor& part : first.GetResiduals()) {
      if (part.defined()) return "something was left out of nothing";
    }
    step(first, net);
    const std::vector<torch::Tensor> left = first.GetResiduals();
    if (left[0].sizes() != net.weights[0].sizes()) return "not of the parameter's shape";
    if (left[0].abs().sum().item<double>() == 0) return "nothing was left out";
    GradientReducer second(communicator, other.named, {1, 1}, Compression::kInt8);
    second.SetResiduals(left);
    for (size_t i = 0; i < left.size(); ++i) {
      if (!torch::equal(second.GetResiduals()[i], left[i])) return "changed";
    }
    return "kept";
  });
  EXPECT_EQ(results, std::vector<std::string>(2, "kept"));
}

TEST(GradientReducerTest, Int8PreservesInfinity) {
  const auto results = RunRanks(2, [](Communicator& communicator) -> std::string {
    const Net net;
    GradientReducer reducer(communicator, net.named, {}, Compression::kInt8);
    for (const double x : {std::numeric_limits<double>::infinity(), 1.0}) {
      for (const torch::Tensor& weight : net.weights) {
        if (weight.grad().defined()) weight.grad().zero_();
      }
      reducer.Prepare(false);
      net.Loss(communicator.ranks().rank == 1 ? x : 1.0).backward();
      reducer.Finish();
      const bool finite = torch::isfinite(net.weights[0].grad()).all().item<bool>();
      if (finite != (x == 1.0)) return "finite with " + std::to_string(x);
    }
    return "recovers";
  });
  EXPECT_EQ(results, std::vector<std::string>(2, "recovers"));
}

TEST(GradientReducerTest, ReducesGradientsToOwners) {
  for (const Compression compression : {Compression::kNone, Compression::kBFloat16}) {
    for (const int64_t limit : {int64_t{1}, int64_t{1} << 20}) {
      const auto results = RunRanks(3, [&](Communicator& communicator) -> std::string {
        const Net net;
        const std::vector<int> owners = {2, 1, 2};
        GradientReducer reducer(communicator, net.named, {limit, limit}, compression, owners);
        for (int step = 0; step < 3; ++step) {
          const Net expected;
          reducer.Prepare(communicator.ranks().rank == 0 && step == 2);
          net.Loss(communicator.ranks().rank + step).backward();
          if (reducer.Finish() != (step == 2)) return "wish";
          ((expected.Loss(step) + expected.Loss(1 + step) + expected.Loss(2 + step)) / 3)
              .backward();
          for (size_t i = 0; i < 2; ++i) {
            if (owners[i] == communicator.ranks().rank &&
                !torch::allclose(net.weights[i].grad(), expected.weights[i].grad(), 0.02, 0.1)) {
              return Text(net.weights[i].grad()) + " instead of " +
                     Text(expected.weights[i].grad());
            }
            torch::Tensor weight = net.weights[i];
            weight.mutable_grad().reset();
          }
        }
        return std::to_string(reducer.num_buckets());
      });
      EXPECT_EQ(results, std::vector<std::string>(3, limit == 1 ? "3" : "2"));
    }
  }
}

TEST(GradientReducerTest, StopRequestOfOneRankReachesAll) {
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

TEST(GradientReducerTest, HandlesReplacedAndRemovedGradients) {
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

// Reports that its data is on a device, like that of GPU slots.
class OfGpus : public Communicator {
 public:
  const Ranks& ranks() const override { return ranks_; }
  bool on_device() const override { return true; }
  void AllReduceSum(void*, size_t, DType) override {}
  void ReduceSum(void*, size_t, DType, int) override {}
  void Broadcast(void*, size_t, int) override {}
  std::vector<std::string> AllGather(const std::string& mine) override { return {mine}; }
  void AllGatherBlocks(const void*, size_t, void*) override {}
  void Barrier() override {}
  std::unique_ptr<Communicator> Duplicate(const std::string&) override {
    return std::make_unique<OfGpus>();
  }
  std::unique_ptr<Communicator> Split(const std::string&, const std::vector<int>&) override {
    return std::make_unique<OfGpus>();
  }

 private:
  const Ranks ranks_;
};

TEST(GradientReducerTest, RequiresParametersInMemoryOfCommunicator) {
  OfGpus of_gpus;
  const Net net;
  try {
    GradientReducer reducer(of_gpus, net.named);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "parameter w2 is on device cpu: gradients are averaged in the memory of the "
                 "slot's GPU; use wrap_model()");
  }
}

TEST(GradientReducerTest, RejectsUnsupportedTypes) {
  const auto results = RunRanks(2, [](Communicator& communicator) {
    const torch::Tensor half = torch::zeros({2}, torch::kHalf).requires_grad_();
    GradientReducer reducer(communicator, {{"half", half}});
    return std::string("accepted");
  });
  EXPECT_NE(results[0].find("parameter half is of type Half"), std::string::npos) << results[0];
}

}  // namespace
}  // namespace det::trial
