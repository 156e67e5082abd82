#include "trial_api/cpp/torch/random_source.h"

#include <thread>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/nn/functional.h>
#include <torch/nn/modules/linear.h>

namespace det::trial {
namespace {

// The ways in which a net and its training draw random numbers.
std::vector<torch::Tensor> Draw() {
  const torch::Tensor ones = torch::ones({4, 5});
  torch::nn::Linear linear(5, 3);
  return {linear->weight.detach(),
          torch::dropout(ones, 0.5, /*train=*/true),
          torch::nn::functional::alpha_dropout(ones),
          torch::rand({3}),
          torch::randn_like(ones),
          torch::randint(100, {6}),
          torch::randperm(9),
          torch::multinomial(ones[0], 2),
          torch::empty({3}).normal_(),
          torch::bernoulli(ones * 0.5)};
}

bool Equal(const std::vector<torch::Tensor>& one, const std::vector<torch::Tensor>& other) {
  for (size_t i = 0; i < one.size(); ++i) {
    if (!torch::equal(one[i], other[i])) return false;
  }
  return one.size() == other.size();
}

TEST(RandomSourceTest, ThreadDrawsSameNumbersAsProcess) {
  SeedTorch(7, 1);
  const std::vector<torch::Tensor> alone = Draw();
  std::vector<std::vector<torch::Tensor>> drawn(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < drawn.size(); ++i) {
    threads.emplace_back([&drawn, i] {
      const OwnRandomSource own;
      SeedTorch(7, i < 2 ? 1 : 2);
      for (int again = 0; again < 50; ++again) Draw();
      SeedTorch(7, i < 2 ? 1 : 2);
      drawn[i] = Draw();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Equal(drawn[0], alone));
  EXPECT_TRUE(Equal(drawn[1], alone));
  EXPECT_TRUE(Equal(drawn[2], drawn[3]));
  EXPECT_FALSE(Equal(drawn[2], alone));
}

TEST(RandomSourceTest, DoesNotChangeGeneratorOfProcess) {
  SeedTorch(7, 0);
  const std::vector<torch::Tensor> expected = Draw();
  SeedTorch(7, 0);
  {
    const OwnRandomSource own;
    SeedTorch(9, 0);
    Draw();
  }
  EXPECT_TRUE(Equal(Draw(), expected));
}

TEST(RandomSourceTest, UsesGivenGenerator) {
  const auto draw = [] {
    return torch::rand({3}, at::make_generator<at::CPUGeneratorImpl>(/*seed=*/5));
  };
  const torch::Tensor expected = draw();
  const OwnRandomSource own;
  EXPECT_TRUE(torch::equal(draw(), expected));
}

TEST(RandomSourceTest, SavesAndRestoresState) {
  const OwnRandomSource own;
  const torch::Tensor state = RandomSource().get_state();
  const std::vector<torch::Tensor> expected = Draw();
  RandomSource().set_state(state);
  EXPECT_TRUE(Equal(Draw(), expected));
}

TEST(RandomSourceTest, SupportsGradients) {
  const OwnRandomSource own;
  const torch::Tensor weight = torch::ones({8}, torch::requires_grad());
  const torch::Tensor kept = torch::dropout(weight, 0.5, /*train=*/true);
  kept.sum().backward();
  EXPECT_TRUE(torch::equal(weight.grad(), kept.detach()));
}

}  // namespace
}  // namespace det::trial
