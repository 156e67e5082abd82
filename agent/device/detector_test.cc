#include "agent/device/detector.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::agent {
namespace {

constexpr char kFakeNvml[] = "agent/device/libfake_nvml.so";

TEST(DetectorTest, CreatesArtificialSlots) {
  const auto devices = DetectDevices({.artificial_slots = 3, .nvml_library = kFakeNvml});
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 3u);
  EXPECT_EQ((*devices)[2].id, 2);
  EXPECT_EQ((*devices)[2].type, DeviceType::kCpu);
  EXPECT_NE((*devices)[1].uuid, (*devices)[2].uuid);
  EXPECT_TRUE(DetectDevices({.artificial_slots = 0})->empty());
  EXPECT_TRUE(absl::IsInvalidArgument(DetectDevices({.artificial_slots = -1}).status()));
}

TEST(DetectorTest, CreatesArtificialSlotsWithNameAndIslands) {
  const auto devices = DetectDevices(
      {.artificial_slots = 5, .artificial_device = "NVIDIA H200", .artificial_islands = 2});
  ASSERT_TRUE(devices.ok());
  std::vector<int> islands;
  for (const Device& device : *devices) {
    EXPECT_EQ(device.brand, "NVIDIA H200");
    islands.push_back(device.island);
  }
  EXPECT_EQ(islands, (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_TRUE(absl::IsInvalidArgument(
      DetectDevices({.artificial_slots = 1, .artificial_islands = 0}).status()));
}

TEST(DetectorTest, DetectsGpusLinksAndMigInstancesWithNvml) {
  const auto devices = DetectDevices({.nvml_library = kFakeNvml});
  ASSERT_TRUE(devices.ok());
  const std::vector<Device> expected = {
      {0, DeviceType::kCuda, "Fake GPU", "GPU-zero", 0},
      // 1 does not respond, NVLink connects 0 and 2, 3 is in MIG mode.
      {2, DeviceType::kCuda, "Fake GPU", "GPU-two", 0},
      {400, DeviceType::kCuda, "Fake GPU MIG 1g.10gb", "MIG-a", 1},
      {402, DeviceType::kCuda, "Fake GPU MIG 1g.10gb", "MIG-c", 2},
      {4, DeviceType::kCuda, "Fake GPU", "GPU-four", 3}};
  EXPECT_EQ(*devices, expected);
}

TEST(DetectorTest, DetectsGpus_WhenNvmlIsOld) {
  const std::vector<Device> devices = DetectNvidiaGpus("agent/device/libfake_old_nvml.so");
  const std::vector<Device> expected = {{0, DeviceType::kCuda, "Fake GPU", "GPU-zero", 0},
                                        {2, DeviceType::kCuda, "Fake GPU", "GPU-two", 1},
                                        {3, DeviceType::kCuda, "Fake GPU", "GPU-three", 2},
                                        {4, DeviceType::kCuda, "Fake GPU", "GPU-four", 3}};
  EXPECT_EQ(devices, expected);
}

class SysTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::string full = dir_.path() + "/" + path;
    ASSERT_TRUE(base::MakeDirs(full.substr(0, full.rfind('/'))).ok());
    ASSERT_TRUE(base::WriteFileAtomically(full, text).ok());
  }
  void WriteNode(int node, const std::string& properties) {
    Write("class/kfd/kfd/topology/nodes/" + std::to_string(node) + "/properties", properties);
  }
  base::TempDir dir_ = *base::TempDir::Create();
};

TEST_F(SysTest, DetectsAmdGpus) {
  WriteNode(0, "cpu_cores_count 64\nsimd_count 0\n");
  WriteNode(1, "simd_count 1216\nunique_id 4660\ndrm_render_minor 128\n");
  WriteNode(2, "simd_count 1216\nunique_id 0\ngfx_target_version 90402\n");
  WriteNode(10, "simd_count 304\nunique_id 43981\ngfx_target_version 90010\n");
  Write("class/drm/renderD128/device/product_name", "AMD Instinct MI300X\n");
  Write("class/kfd/kfd/topology/nodes/2/io_links/0/properties", "type 2\nnode_to 0\n");
  Write("class/kfd/kfd/topology/nodes/2/io_links/1/properties", "type 11\nnode_to 1\n");
  const auto devices = DetectDevices({.nvml_library = "no-such-library.so", .sys = dir_.path()});
  ASSERT_TRUE(devices.ok());
  const std::vector<Device> expected = {
      {0, DeviceType::kRocm, "AMD Instinct MI300X", "GPU-0000000000001234", 0},
      {1, DeviceType::kRocm, "AMD GPU gfx942", "1", 0},
      {2, DeviceType::kRocm, "AMD GPU gfx90a", "GPU-000000000000abcd", 1}};
  EXPECT_EQ(*devices, expected);
}

TEST_F(SysTest, IslandsOfAmdGpusAreConnectedByXgmi) {
  const auto link = [&](int from, int number, int to, int type) {
    Write(absl::StrCat("class/kfd/kfd/topology/nodes/", from, "/io_links/", number, "/properties"),
          absl::StrCat("type ", type, "\nnode_to ", to, "\n"));
  };
  for (int node = 1; node <= 6; ++node) {
    WriteNode(node,
              absl::StrCat("simd_count 304\nhive_id ", node == 2 || node == 6 ? 77 : 0, "\n"));
  }
  // 1 and 3 are linked only through 4; 2 and 6 share a hive; 5 is connected to 6 by PCI Express.
  link(4, 0, 1, 11);
  link(3, 0, 4, 11);
  link(5, 0, 6, 2);
  std::vector<int> islands;
  for (const Device& device : DetectAmdGpus(dir_.path())) islands.push_back(device.island);
  EXPECT_EQ(islands, (std::vector<int>{0, 1, 0, 0, 2, 1}));
}

TEST_F(SysTest, LimitsCpusAndMemoryToControlGroup) {
  const double cpus = GetMachineCpus(dir_.path()).value_or(0);
  const int64_t memory = GetMachineMemory(dir_.path()).value_or(0);
  EXPECT_GE(cpus, 1);
  EXPECT_GT(memory, 1 << 20);
  Write("fs/cgroup/cpu.max", "max 100000\n");
  Write("fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(GetMachineCpus(dir_.path()), cpus);
  EXPECT_EQ(GetMachineMemory(dir_.path()), memory);
  Write("fs/cgroup/cpu.max", "50000 100000\n");
  Write("fs/cgroup/memory.max", "1048576\n");
  EXPECT_EQ(GetMachineCpus(dir_.path()), 0.5);
  EXPECT_EQ(GetMachineMemory(dir_.path()), 1048576);
}

TEST_F(SysTest, DetectsTpus) {
  const auto write = [&](const std::string& address, const char* vendor, const char* device) {
    Write("bus/pci/devices/" + address + "/vendor", vendor);
    Write("bus/pci/devices/" + address + "/device", device);
  };
  write("0000:00:05.0", "0x1ae0\n", "0x0063\n");
  write("0000:00:04.0", "0x1ae0\n", "0x0063\n");
  write("0000:00:03.0", "0x1ae0\n", "0x0042\n");  // a network card
  write("0000:00:02.0", "0x10de\n", "0x0063\n");
  const auto devices = DetectDevices({.nvml_library = "no-such-library.so", .sys = dir_.path()});
  ASSERT_TRUE(devices.ok());
  const std::vector<Device> expected = {{0, DeviceType::kTpu, "Google TPU v5e", "0000:00:04.0", 0},
                                        {1, DeviceType::kTpu, "Google TPU v5e", "0000:00:05.0", 0}};
  EXPECT_EQ(*devices, expected);
}

// The UUIDs of the devices, or the error. The GPUs are those of a fake NVML library.
std::string Select(DetectorOptions options) {
  options.nvml_library = kFakeNvml;
  options.sys = "/nowhere";
  const auto devices = DetectDevices(options);
  if (!devices.ok()) return std::string(devices.status().message());
  return absl::StrJoin(*devices, ",", [](std::string* out, const Device& device) {
    absl::StrAppend(out, device.uuid);
  });
}

TEST(DetectorTest, OffersOnlyVisibleGpus) {
  EXPECT_EQ(Select({.visible_gpus = "2, GPU-four"}), "GPU-two,GPU-four");
  EXPECT_EQ(Select({.visible_gpus = "MIG-c,0"}), "GPU-zero,MIG-c");
  EXPECT_EQ(Select({.visible_gpus = "GPU-z"}), "GPU-zero");
  EXPECT_EQ(Select({.visible_gpus = "7"}),
            "--visible-gpus: no GPU 7; this machine has 0 (GPU-zero), 2 (GPU-two), 400 (MIG-a), "
            "402 (MIG-c), 4 (GPU-four)");
  EXPECT_EQ(Select({.visible_gpus = "0", .environment_gpus = "2"}), "GPU-zero");
  EXPECT_THAT(DetectDevices({.visible_gpus = "0", .nvml_library = "none.so", .sys = "/nowhere"})
                  .status()
                  .message(),
              testing::HasSubstr("this machine has none"));
}

TEST(DetectorTest, ReadsVariableOfGpusAsTheirLibrariesDo) {
  EXPECT_EQ(Select({.environment_gpus = "4,2"}), "GPU-two,GPU-four");
  EXPECT_EQ(Select({.environment_gpus = "0,-1,2"}), "GPU-zero");
  // Without a GPU, the CPU remains.
  EXPECT_EQ(Select({.environment_gpus = ""}), Select({.slot_type = "cpu"}));
  EXPECT_TRUE(
      DetectDevices({.environment_gpus = "0", .nvml_library = "none.so", .sys = "/nowhere"}).ok());
}

TEST(DetectorTest, OffersDevicesOfSlotType) {
  EXPECT_EQ(Select({.slot_type = "cuda"}), Select({}));
  EXPECT_EQ(Select({.slot_type = "gpu"}), Select({}));
  EXPECT_EQ(Select({.slot_type = "none"}), "");
  EXPECT_EQ(DetectDevices({.slot_type = "cpu", .nvml_library = kFakeNvml})->size(), 1u);
  EXPECT_THAT(Select({.slot_type = "rocm"}), testing::HasSubstr("--slot-type rocm: this machine"));
  EXPECT_THAT(Select({.slot_type = "fpga"}), testing::HasSubstr("use one of auto, cuda, gpu"));
}

TEST(DetectorTest, ListsDevices) {
  EXPECT_EQ(ListDevices({{0, DeviceType::kCuda, "Fake GPU", "GPU-zero", 0},
                         {1, DeviceType::kTpu, "Google TPU v5e", "0000:00:04.0", 0}}),
            "0\tcuda\tGPU-zero\tFake GPU\n1\ttpu\t0000:00:04.0\tGoogle TPU v5e\n");
}

TEST(DetectorTest, OffersCpuAsOneSlot_WhenThereIsNoGpu) {
  const auto devices = DetectDevices({.nvml_library = "no-such-library.so", .sys = "/nowhere"});
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].type, DeviceType::kCpu);
  EXPECT_FALSE((*devices)[0].brand.empty());
}

TEST(DetectorTest, IgnoresLibraryThatIsNotNvml) {
  EXPECT_TRUE(DetectNvidiaGpus("libc.so.6").empty());
}

}  // namespace
}  // namespace det::agent
