#include "trial_api/cpp/torch/device.h"

#include <cstdlib>
#include <string>

#include "trial_api/cpp/core/error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::trial {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& slot_type, const Gpus& gpus, const Ranks& ranks = {}) {
  try {
    return "taken: " + SelectDevice(slot_type, gpus, ranks).str();
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(DeviceTest, UsesGpuOfLocalRank_OnGpuSlot) {
  const Ranks second = {.rank = 5, .size = 8, .local_rank = 1, .local_size = 2};
  EXPECT_EQ(SelectDevice("cuda", {true, 2}, second), torch::Device(torch::kCUDA, 1));
  EXPECT_EQ(SelectDevice("", {true, 2}, second), torch::Device(torch::kCUDA, 1));
}

TEST(DeviceTest, UsesCpu_OnCpuSlot) {
  EXPECT_EQ(SelectDevice("cpu", {true, 2}, {}), torch::Device(torch::kCPU));
  EXPECT_EQ(SelectDevice("cpu", {false, 0}, {}), torch::Device(torch::kCPU));
}

TEST(DeviceTest, UsesCpu_OffClusterWithoutGpu) {
  EXPECT_EQ(SelectDevice("", {false, 0}, {}), torch::Device(torch::kCPU));
  EXPECT_EQ(SelectDevice("", {true, 0}, {}), torch::Device(torch::kCPU));
}

TEST(DeviceTest, RejectsGpuSlot_WhenBuiltWithoutCuda) {
  for (const char* slot_type : {"cuda", "rocm", "tpu"}) {
    const std::string refusal = Refusal(slot_type, {false, 0});
    EXPECT_THAT(refusal, HasSubstr("DET_SLOT_TYPE is " + std::string(slot_type)));
    EXPECT_THAT(refusal, HasSubstr("resource pool whose slots are cores"));
  }
  EXPECT_THAT(Refusal("cuda", {false, 0}), HasSubstr("build it with --config=cuda"));
}

TEST(DeviceTest, ReportsReason_WhenGpuIsMissing) {
  EXPECT_THAT(Refusal("cuda", {true, 0}), HasSubstr("libtorch sees 0 GPUs"));
  EXPECT_THAT(Refusal("cuda", {true, 1}, {.rank = 1, .size = 2, .local_rank = 1, .local_size = 2}),
              HasSubstr("libtorch sees 1 GPU,"));
  EXPECT_THAT(Refusal("cuda", {true, 0}), HasSubstr("driver"));
  EXPECT_THAT(Refusal("rocm", {true, 2}), HasSubstr("NVIDIA"));
}

TEST(DeviceTest, ErrorNamesCpuSetting_WhenThereAreTooManyRanks) {
  EXPECT_THAT(Refusal("", {true, 1}, {.rank = 1, .size = 2, .local_rank = 1, .local_size = 2}),
              HasSubstr("DET_SLOT_TYPE=cpu"));
}

// The task's environment determines the device, in any build.
TEST(DeviceTest, ReadsTypeFromEnvironment) {
  ::setenv("DET_SLOT_TYPE", "cpu", 1);
  EXPECT_EQ(GetSlotDevice({}), torch::Device(torch::kCPU));
  ::setenv("DET_SLOT_TYPE", "tpu", 1);
  EXPECT_THROW(GetSlotDevice({}), Error);
  ::unsetenv("DET_SLOT_TYPE");
}

}  // namespace
}  // namespace det::trial
