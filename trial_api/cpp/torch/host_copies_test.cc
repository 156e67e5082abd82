#include "trial_api/cpp/torch/host_copies.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using torch::serialize::OutputArchive;

OutputArchive MakeArchive(const std::vector<torch::Tensor>& tensors) {
  OutputArchive archive;
  for (size_t i = 0; i < tensors.size(); ++i) archive.write(std::to_string(i), tensors[i]);
  return archive;
}

std::vector<torch::Tensor> GetCopies(HostCopies& copies, const std::vector<torch::Tensor>& tensors,
                                     int threads = 1) {
  OutputArchive archive = MakeArchive(tensors);
  copies.Replace(archive);
  copies.Fill(threads);
  std::vector<torch::Tensor> found;
  for (auto& [name, tensor] : GetTensors(archive)) found.push_back(tensor);
  return found;
}

// Tensors larger and smaller than one piece, and with other layouts.
std::vector<torch::Tensor> Several() {
  const torch::Tensor square = torch::rand({50, 50});
  torch::Tensor weight = torch::rand({3'000'000});
  weight.set_requires_grad(true);
  return {weight,           square.t(),
          torch::rand({7}), torch::zeros({0}),
          torch::tensor(3), torch::rand({4}, torch::kFloat64),
          torch::arange(9)};
}

TEST(HostCopiesTest, CopiesTensors) {
  for (const int threads : {1, 2, 4}) {
    const std::vector<torch::Tensor> tensors = Several();
    std::vector<torch::Tensor> then;
    for (const torch::Tensor& tensor : tensors) then.push_back(tensor.detach().clone());
    HostCopies copies;
    copies.Restart();
    const std::vector<torch::Tensor> taken = GetCopies(copies, tensors, threads);
    torch::NoGradGuard no_grad;
    for (torch::Tensor tensor : tensors) tensor.zero_();
    ASSERT_EQ(taken.size(), then.size());
    for (size_t i = 0; i < then.size(); ++i) {
      EXPECT_TRUE(torch::equal(taken[i], then[i])) << i;
      EXPECT_EQ(taken[i].scalar_type(), then[i].scalar_type()) << i;
      EXPECT_EQ(taken[i].requires_grad(), tensors[i].requires_grad()) << i;
    }
  }
}

TEST(HostCopiesTest, ReusesMemory_ForAnyOrderOfTensors) {
  HostCopies copies;
  std::vector<torch::Tensor> tensors = Several();
  copies.Restart();
  GetCopies(copies, tensors);
  EXPECT_EQ(copies.made(), 7);
  std::swap(tensors.front(), tensors.back());
  tensors.push_back(torch::rand({11}));
  copies.Restart();
  GetCopies(copies, tensors);
  EXPECT_EQ(copies.made(), 1);
}

TEST(HostCopiesTest, UsesMemoryForOneTensorPerRound) {
  HostCopies copies;
  const torch::Tensor ones = torch::ones({5});
  const torch::Tensor twos = torch::ones({5}) * 2;
  for (int round = 0; round < 2; ++round) {
    copies.Restart();
    const auto taken = GetCopies(copies, {ones, twos});
    EXPECT_TRUE(torch::equal(taken[0], ones));
    EXPECT_TRUE(torch::equal(taken[1], twos));
  }
}

TEST(HostCopiesTest, AllocatesNothing_WhenMemoryWasReserved) {
  HostCopies copies;
  const std::vector<torch::Tensor> tensors = Several();
  std::vector<OutputArchive> archives;
  archives.push_back(MakeArchive(tensors));
  copies.Reserve(archives);
  copies.Restart();
  const auto taken = GetCopies(copies, tensors, 2);
  EXPECT_EQ(copies.made(), 0);
  EXPECT_TRUE(torch::equal(taken[0], tensors[0]));
}

// Training may end before the memory is used.
TEST(HostCopiesTest, ReservedMemoryMayRemainUnused) {
  HostCopies copies;
  std::vector<OutputArchive> archives;
  archives.push_back(MakeArchive(Several()));
  copies.Reserve(archives);
}

}  // namespace
}  // namespace det::trial
