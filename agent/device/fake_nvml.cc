// A library with the interface of NVML and five GPUs: the second one does not respond, NVLink
// connects the first and the third, the fourth is in MIG mode and has two instances. With OLD_NVML,
// it supports neither links nor MIG.
#include <cstring>

namespace {

constexpr int kNotFound = 6;  // NVML_ERROR_NOT_FOUND
constexpr int kLost = 15;     // NVML_ERROR_GPU_IS_LOST

// GPUs; from 10 on the instances of the fourth one.
int g_devices[20] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
int GetNumber(void* device) { return *static_cast<int*>(device); }

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 5;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &g_devices[index];
  return index == 1 ? kLost : 0;
}
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  std::strncpy(name, GetNumber(device) >= 10 ? "Fake GPU MIG 1g.10gb" : "Fake GPU", length);
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  const char* const names[] = {"GPU-zero", "GPU-one", "GPU-two", "GPU-three", "GPU-four"};
  const int number = GetNumber(device);
  const char* instance = number == 10 ? "MIG-a" : "MIG-c";
  std::strncpy(uuid, number < 10 ? names[number] : instance, length);
  return 0;
}
#ifndef OLD_NVML
int nvmlDeviceGetP2PStatus(void* a, void* b, unsigned index, unsigned* status) {
  const bool linked = GetNumber(a) + GetNumber(b) == 2 && GetNumber(a) != GetNumber(b);
  *status = index == 2 && linked ? 0 : 5;  // NVML_P2P_STATUS_NOT_SUPPORTED
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* mode, unsigned* pending) {
  *mode = *pending = GetNumber(device) == 3 ? 1 : 0;
  return GetNumber(device) == 4 ? 3 : 0;  // NVML_ERROR_NOT_SUPPORTED
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 3;
  return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** device) {
  *device = &g_devices[10 + index];
  return index == 1 ? kNotFound : 0;
}
#endif
}
