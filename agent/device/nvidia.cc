// NVML through dlopen. The functions for count, name, UUID, links and MIG instances are declared
// here, so that neither building nor running needs NVIDIA's headers.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/device/detector.h"
#include "base/log.h"

namespace det::agent {
namespace {

using Result = int;  // nvmlReturn_t; 0 is success
using Handle = void*;
constexpr Result kSuccess = 0;
constexpr unsigned kTextSize = 96;   // NVML_DEVICE_NAME_V2_BUFFER_SIZE; a UUID fits too.
constexpr unsigned kMigEnabled = 1;  // NVML_DEVICE_MIG_ENABLE
constexpr unsigned kCapsNvlink = 2;  // NVML_P2P_CAPS_INDEX_NVLINK
constexpr unsigned kP2pOk = 0;       // NVML_P2P_STATUS_OK
// distance between the slot ids of the instances of two GPUs
constexpr unsigned kSlotsPerGpu = 100;

struct Gpu {
  unsigned index = 0;
  Handle handle = nullptr;
  Device device;
  bool mig = false;
};

class Nvml {
 public:
  explicit Nvml(const std::string& library)
      : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL), Close) {
    if (library_ == nullptr) return;
    const bool complete = Find(init_, "nvmlInit_v2") && Find(shutdown_, "nvmlShutdown") &&
                          Find(count_, "nvmlDeviceGetCount_v2") &&
                          Find(handle_, "nvmlDeviceGetHandleByIndex_v2") &&
                          Find(name_, "nvmlDeviceGetName") && Find(uuid_, "nvmlDeviceGetUUID");
    // Drivers before 2020 do not support MIG; these functions are optional.
    Find(p2p_, "nvmlDeviceGetP2PStatus");
    if (!Find(mig_mode_, "nvmlDeviceGetMigMode") ||
        !Find(mig_count_, "nvmlDeviceGetMaxMigDeviceCount") ||
        !Find(mig_handle_, "nvmlDeviceGetMigDeviceHandleByIndex")) {
      mig_mode_ = nullptr;
    }
    started_ = complete && init_() == kSuccess;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (started_) shutdown_();
  }

  bool started() const { return started_; }

  std::vector<Device> Devices() const {
    const std::vector<Gpu> gpus = Gpus();
    // The island of each GPU is identified by the first GPU that it is linked to.
    std::vector<size_t> first(gpus.size());
    for (size_t i = 0; i < gpus.size(); ++i) {
      first[i] = i;
      for (size_t j = 0; j < i; ++j) {
        if (first[j] == first[i] || !Linked(gpus[i], gpus[j])) continue;
        const auto [low, high] = std::minmax(first[i], first[j]);
        std::replace(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(i) + 1, high, low);
      }
    }
    std::vector<Device> devices;
    std::vector<int> numbers(gpus.size(), -1);
    int islands = 0;
    for (size_t i = 0; i < gpus.size(); ++i) {
      if (gpus[i].mig) {
        for (Device& instance : Instances(gpus[i])) {
          instance.island = islands++;
          devices.push_back(std::move(instance));
        }
        continue;
      }
      int& number = numbers[first[i]];
      if (number < 0) number = islands++;
      devices.push_back(gpus[i].device);
      devices.back().island = number;
    }
    return devices;
  }

 private:
  static void Close(void* library) {
    if (library != nullptr) ::dlclose(library);
  }

  template <class Function>
  bool Find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_.get(), name));
    return function != nullptr;
  }

  std::vector<Gpu> Gpus() const {
    std::vector<Gpu> gpus;
    unsigned count = 0;
    if (count_(&count) != kSuccess) return gpus;
    for (unsigned i = 0; i < count; ++i) {
      Gpu gpu{.index = i};
      // A GPU that does not respond is skipped; the others are still usable.
      if (handle_(i, &gpu.handle) != kSuccess || !Describe(gpu.handle, gpu.device)) {
        DET_LOG(WARNING) << "GPU does not respond and is ignored" << base::Field("index", i);
        continue;
      }
      gpu.device.id = static_cast<int>(i);
      unsigned mode = 0;
      unsigned pending = 0;
      gpu.mig = mig_mode_ != nullptr && mig_mode_(gpu.handle, &mode, &pending) == kSuccess &&
                mode == kMigEnabled;
      gpus.push_back(std::move(gpu));
    }
    return gpus;
  }

  // Reads name and UUID; returns false if the device does not respond.
  bool Describe(Handle handle, Device& device) const {
    std::array<char, kTextSize> name{};
    std::array<char, kTextSize> uuid{};
    if (uuid_(handle, uuid.data(), kTextSize) != kSuccess) return false;
    const bool named = name_(handle, name.data(), kTextSize) == kSuccess;
    device.type = DeviceType::kCuda;
    device.brand = named ? name.data() : "NVIDIA GPU";
    device.uuid = uuid.data();
    return true;
  }

  bool Linked(const Gpu& a, const Gpu& b) const {
    unsigned status = kP2pOk + 1;
    return p2p_ != nullptr && !a.mig && !b.mig &&
           p2p_(a.handle, b.handle, kCapsNvlink, &status) == kSuccess && status == kP2pOk;
  }

  std::vector<Device> Instances(const Gpu& gpu) const {
    std::vector<Device> instances;
    unsigned count = 0;
    if (mig_count_(gpu.handle, &count) != kSuccess) count = 0;
    for (unsigned i = 0; i < std::min(count, kSlotsPerGpu); ++i) {
      Handle handle = nullptr;
      Device device{.id = static_cast<int>((gpu.index + 1) * kSlotsPerGpu + i)};
      // Not every index has an instance.
      if (mig_handle_(gpu.handle, i, &handle) != kSuccess || !Describe(handle, device)) continue;
      // The brand is "NVIDIA H200 MIG 1g.18gb"; older drivers return only the GPU's name.
      if (!absl::StrContains(device.brand, "MIG")) absl::StrAppend(&device.brand, " MIG");
      instances.push_back(std::move(device));
    }
    if (instances.empty()) {
      DET_LOG(WARNING) << "GPU in MIG mode has no instances and is ignored"
                       << base::Field("index", gpu.index);
    }
    return instances;
  }

  std::unique_ptr<void, void (*)(void*)> library_;
  bool started_ = false;
  Result (*init_)() = nullptr;
  Result (*shutdown_)() = nullptr;
  Result (*count_)(unsigned*) = nullptr;
  Result (*handle_)(unsigned, Handle*) = nullptr;
  Result (*name_)(Handle, char*, unsigned) = nullptr;
  Result (*uuid_)(Handle, char*, unsigned) = nullptr;
  Result (*p2p_)(Handle, Handle, unsigned, unsigned*) = nullptr;
  Result (*mig_mode_)(Handle, unsigned*, unsigned*) = nullptr;
  Result (*mig_count_)(Handle, unsigned*) = nullptr;
  Result (*mig_handle_)(Handle, unsigned, Handle*) = nullptr;
};

}  // namespace

std::vector<Device> DetectNvidiaGpus(const std::string& library) {
  const Nvml nvml(library);
  if (!nvml.started()) {
    DET_LOG(DEBUG) << "no NVIDIA driver found" << base::Field("library", library);
    return {};
  }
  return nvml.Devices();
}

}  // namespace det::agent
