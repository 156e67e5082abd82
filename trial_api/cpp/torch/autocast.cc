#include "trial_api/cpp/torch/autocast.h"

#include <sstream>

#include "trial_api/cpp/core/error.h"
#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace det::trial {
namespace {

// libtorch 2.4 has one function with a device argument; the functions for each device are
// deprecated.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)

torch::DeviceType GetDevice(bool cuda) { return cuda ? torch::kCUDA : torch::kCPU; }

bool IsAutocastEnabled(bool cuda) { return at::autocast::is_autocast_enabled(GetDevice(cuda)); }

torch::ScalarType GetAutocastType(bool cuda) {
  return at::autocast::get_autocast_dtype(GetDevice(cuda));
}

void Set(bool cuda, bool on, torch::ScalarType type) {
  at::autocast::set_autocast_dtype(GetDevice(cuda), type);
  at::autocast::set_autocast_enabled(GetDevice(cuda), on);
}

#else

bool IsAutocastEnabled(bool cuda) {
  return cuda ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
}

torch::ScalarType GetAutocastType(bool cuda) {
  return cuda ? at::autocast::get_autocast_gpu_dtype() : at::autocast::get_autocast_cpu_dtype();
}

void Set(bool cuda, bool on, torch::ScalarType type) {
  if (cuda) {
    at::autocast::set_autocast_gpu_dtype(type);
    at::autocast::set_enabled(on);
  } else {
    at::autocast::set_autocast_cpu_dtype(type);
    at::autocast::set_cpu_enabled(on);
  }
}

#endif

}  // namespace

void RequireAutocast(torch::ScalarType type, torch::Device device) {
  std::ostringstream text;
  text << "mixed precision in " << type;
  if (type != torch::kBFloat16 && type != torch::kHalf) {
    throw Error(text.str() + ": expected kBFloat16 or kHalf");
  }
  if (type == torch::kHalf && !device.is_cuda()) {
    throw Error(text.str() + " needs a GPU; use kBFloat16 on CPU slots");
  }
}

Autocast::Autocast(std::optional<torch::ScalarType> type, torch::Device device)
    : cuda_(device.is_cuda()), was_on_(IsAutocastEnabled(cuda_)), had_(GetAutocastType(cuda_)) {
  at::autocast::increment_nesting();
  Set(cuda_, type.has_value(), type.value_or(had_));
}

Autocast::~Autocast() {
  if (at::autocast::decrement_nesting() == 0) ClearCache();
  Set(cuda_, was_on_, had_);
}

void Autocast::ClearCache() { at::autocast::clear_cache(); }

}  // namespace det::trial
