// NVML through dlopen: the few functions that tell number, name and UUID, declared here by hand so
// that neither building nor running needs NVIDIA's headers.
#include <dlfcn.h>

#include <array>
#include <memory>

#include "agent/device/detector.h"
#include "base/log.h"

namespace det::agent {
namespace {

using Result = int;  // nvmlReturn_t; 0 is success
using Handle = void*;
constexpr Result kSuccess = 0;
constexpr unsigned kTextSize = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE; a UUID fits too.

class Nvml {
 public:
  explicit Nvml(const std::string& library)
      : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL), Close) {
    if (library_ == nullptr) return;
    Find(init_, "nvmlInit_v2");
    Find(shutdown_, "nvmlShutdown");
    Find(count_, "nvmlDeviceGetCount_v2");
    Find(handle_, "nvmlDeviceGetHandleByIndex_v2");
    Find(name_, "nvmlDeviceGetName");
    Find(uuid_, "nvmlDeviceGetUUID");
    started_ = complete_ && init_() == kSuccess;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (started_) shutdown_();
  }

  bool started() const { return started_; }

  std::vector<Device> Devices() const {
    std::vector<Device> devices;
    unsigned count = 0;
    if (count_(&count) != kSuccess) return devices;
    for (unsigned i = 0; i < count; ++i) {
      Handle handle = nullptr;
      std::array<char, kTextSize> name{};
      std::array<char, kTextSize> uuid{};
      // A GPU that has fallen off the bus is no slot; its neighbours still are.
      if (handle_(i, &handle) != kSuccess || uuid_(handle, uuid.data(), kTextSize) != kSuccess) {
        DET_LOG(WARNING) << "a GPU does not answer and is left out" << base::Field("index", i);
        continue;
      }
      const bool named = name_(handle, name.data(), kTextSize) == kSuccess;
      devices.push_back({.id = static_cast<int>(i),
                         .type = DeviceType::kCuda,
                         .brand = named ? name.data() : "NVIDIA GPU",
                         .uuid = uuid.data()});
    }
    return devices;
  }

 private:
  static void Close(void* library) {
    if (library != nullptr) ::dlclose(library);
  }

  template <class Function>
  void Find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_.get(), name));
    complete_ = complete_ && function != nullptr;
  }

  std::unique_ptr<void, void (*)(void*)> library_;
  bool complete_ = true;
  bool started_ = false;
  Result (*init_)() = nullptr;
  Result (*shutdown_)() = nullptr;
  Result (*count_)(unsigned*) = nullptr;
  Result (*handle_)(unsigned, Handle*) = nullptr;
  Result (*name_)(Handle, char*, unsigned) = nullptr;
  Result (*uuid_)(Handle, char*, unsigned) = nullptr;
};

}  // namespace

std::vector<Device> NvidiaGpus(const std::string& library) {
  const Nvml nvml(library);
  if (!nvml.started()) {
    DET_LOG(DEBUG) << "no NVIDIA driver found" << base::Field("library", library);
    return {};
  }
  return nvml.Devices();
}

}  // namespace det::agent
