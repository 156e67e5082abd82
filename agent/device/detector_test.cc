#include "agent/device/detector.h"

#include <gtest/gtest.h>

namespace det::agent {
namespace {

constexpr char kFakeNvml[] = "agent/device/libfake_nvml.so";

TEST(Detector, ArtificialSlots) {
  const auto devices = DetectDevices({.artificial_slots = 3, .nvml_library = kFakeNvml});
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 3u);
  EXPECT_EQ((*devices)[2].id, 2);
  EXPECT_EQ((*devices)[2].type, DeviceType::kCpu);
  EXPECT_NE((*devices)[1].uuid, (*devices)[2].uuid);
  EXPECT_TRUE(DetectDevices({.artificial_slots = 0})->empty());
  EXPECT_TRUE(absl::IsInvalidArgument(DetectDevices({.artificial_slots = -1}).status()));
}

TEST(Detector, GpusThroughNvmlWithoutTheOneThatIsLost) {
  const auto devices = DetectDevices({.nvml_library = kFakeNvml});
  ASSERT_TRUE(devices.ok());
  const std::vector<Device> expected = {{0, DeviceType::kCuda, "Fake GPU", "GPU-zero"},
                                        {2, DeviceType::kCuda, "Fake GPU", "GPU-two"}};
  EXPECT_EQ(*devices, expected);
}

TEST(Detector, TheCpuIsOneSlotWhereThereIsNoGpu) {
  const auto devices = DetectDevices({.nvml_library = "no-such-library.so"});
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].type, DeviceType::kCpu);
  EXPECT_FALSE((*devices)[0].brand.empty());
}

TEST(Detector, ALibraryThatIsNotNvmlIsNone) { EXPECT_TRUE(NvidiaGpus("libc.so.6").empty()); }

}  // namespace
}  // namespace det::agent
