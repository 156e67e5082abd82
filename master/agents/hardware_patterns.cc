#include "master/agents/hardware_patterns.h"

namespace det::agents {
namespace {

constexpr const char* kPatterns[] = {
    // NVIDIA's kernel driver, where a task shows its machine's messages. The Xids that the Xid
    // catalog (docs.nvidia.com/deploy/xid-errors) answers with a reset of the GPU or a repair: 48
    // double bit ECC, 62 micro-controller halt, 64 row remapping failed, 74 NVLink,
    // 79 off the bus, 95 uncontained ECC, 119 and 120 GSP, 140 unrecovered ECC. Not 13, 31, 43, 45:
    // programs cause these.
    R"(NVRM: Xid \([^)]*\): (48|62|64|74|79|95|119|120|140)\b)",
    // The same driver, in words; nvidia-smi and NVML repeat them.
    R"(GPU .{0,40}has fallen off the bus)",
    R"(\bGPU is lost\b)",  // nvmlErrorString(NVML_ERROR_GPU_IS_LOST)
    // cudaGetErrorString(cudaErrorECCUncorrectable), as PyTorch, libtorch and NCCL print it, and
    // the names of the error in the runtime's and the driver's interface (CUDA Runtime API,
    // cudaError).
    R"((?i)uncorrectable ECC error encountered)",
    R"(\bcudaErrorECCUncorrectable\b|\bCUDA_ERROR_ECC_UNCORRECTABLE\b)",
    // The same for cudaErrorNvlinkUncorrectable.
    R"((?i)uncorrectable NVLink error)",
    R"(\bcudaErrorNvlinkUncorrectable\b|\bCUDA_ERROR_NVLINK_UNCORRECTABLE\b)",
    // AMD's kernel driver (amdgpu_ras.c).
    R"(amdgpu.*uncorrectable hardware errors detected in )",
};

}  // namespace

std::span<const char* const> HardwarePatterns() { return kPatterns; }

}  // namespace det::agents
