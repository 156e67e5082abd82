#include "trial_api/cpp/core/nccl_api.h"

#ifdef DET_CUDA
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstring>

#include "trial_api/cpp/core/error.h"
#endif

namespace det::core {

#ifdef DET_CUDA
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(NcclApi::Id));

void RequireCuda(cudaError_t error, const char* function) {
  if (error == cudaSuccess) return;
  throw Error(std::string("CUDA: ") + function + ": " + cudaGetErrorString(error));
}

// A non-blocking group returns "in progress" while the last operation is being started.
void RequireNccl(ncclResult_t result, const char* function) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw Error(std::string("NCCL: ") + function + ": " + ncclGetErrorString(result));
}

ncclComm_t ToComm(NcclApi::Comm comm) { return static_cast<ncclComm_t>(comm); }
cudaStream_t ToStream(NcclApi::Stream stream) { return static_cast<cudaStream_t>(stream); }

ncclDataType_t ToNcclType(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ncclFloat32;
    case DType::kFloat64:
      return ncclFloat64;
    case DType::kInt32:
      return ncclInt32;
    case DType::kInt64:
      return ncclInt64;
    case DType::kUint8:
      return ncclUint8;
    case DType::kFloat16:
      return ncclFloat16;
    case DType::kBFloat16:
      return ncclBfloat16;
  }
  return ncclUint8;
}

class RealNcclApi final : public NcclApi {
 public:
  void UseDevice(int device) override { RequireCuda(cudaSetDevice(device), "cudaSetDevice"); }

  Id MakeId() override {
    ncclUniqueId unique;
    RequireNccl(ncclGetUniqueId(&unique), "ncclGetUniqueId");
    Id id;
    std::memcpy(&id, &unique, sizeof id);
    return id;
  }
  Comm Join(const Id& id, int rank, int size) override {
    ncclUniqueId unique;
    std::memcpy(&unique, &id, sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    RequireNccl(ncclCommInitRankConfig(&comm, size, unique, rank, &config),
                "ncclCommInitRankConfig");
    return comm;
  }
  State Check(Comm comm, std::string* words) override {
    ncclResult_t result = ncclSuccess;
    RequireNccl(ncclCommGetAsyncError(ToComm(comm), &result), "ncclCommGetAsyncError");
    if (result == ncclSuccess) return State::kReady;
    if (result == ncclInProgress) return State::kBusy;
    *words =
        std::string("NCCL: ") + ncclGetErrorString(result) + ": " + ncclGetLastError(ToComm(comm));
    // Errors that the end of a peer or a broken connection causes; all others are failures of this
    // rank.
    const bool peer = result == ncclRemoteError || result == ncclSystemError;
    return peer ? State::kPeerLost : State::kFailed;
  }
  void Leave(Comm comm) override {
    RequireNccl(ncclCommFinalize(ToComm(comm)), "ncclCommFinalize");
  }
  void Free(Comm comm) override { RequireNccl(ncclCommDestroy(ToComm(comm)), "ncclCommDestroy"); }
  void Abort(Comm comm) override { RequireNccl(ncclCommAbort(ToComm(comm)), "ncclCommAbort"); }

  Stream MakeStream() override {
    cudaStream_t stream = nullptr;
    RequireCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    return stream;
  }
  void FreeStream(Stream stream) override {
    RequireCuda(cudaStreamDestroy(ToStream(stream)), "cudaStreamDestroy");
  }
  void FollowComputation(Stream stream) override {
    // libtorch computes on the default stream.
    cudaEvent_t event = nullptr;
    RequireCuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    const cudaError_t recorded = cudaEventRecord(event, cudaStreamLegacy);
    const cudaError_t waits =
        recorded == cudaSuccess ? cudaStreamWaitEvent(ToStream(stream), event, 0) : recorded;
    cudaEventDestroy(event);
    RequireCuda(waits, "cudaStreamWaitEvent");
  }
  bool Finished(Stream stream) override {
    const cudaError_t state = cudaStreamQuery(ToStream(stream));
    if (state == cudaErrorNotReady) return false;
    RequireCuda(state, "cudaStreamQuery");
    return true;
  }

  void AllReduceSum(void* data, size_t count, DType dtype, Comm comm, Stream stream) override {
    RequireNccl(ncclAllReduce(data, data, count, ToNcclType(dtype), ncclSum, ToComm(comm),
                              ToStream(stream)),
                "ncclAllReduce");
  }
  void ReduceSum(void* data, size_t count, DType dtype, int root, Comm comm,
                 Stream stream) override {
    RequireNccl(ncclReduce(data, data, count, ToNcclType(dtype), ncclSum, root, ToComm(comm),
                           ToStream(stream)),
                "ncclReduce");
  }
  void Broadcast(void* data, size_t bytes, int root, Comm comm, Stream stream) override {
    RequireNccl(ncclBroadcast(data, data, bytes, ncclUint8, root, ToComm(comm), ToStream(stream)),
                "ncclBroadcast");
  }
  void AllGather(const void* mine, size_t bytes, void* all, Comm comm, Stream stream) override {
    RequireNccl(ncclAllGather(mine, all, bytes, ncclUint8, ToComm(comm), ToStream(stream)),
                "ncclAllGather");
  }
};

}  // namespace

std::shared_ptr<NcclApi> MakeNcclApi() { return std::make_shared<RealNcclApi>(); }

#else

std::shared_ptr<NcclApi> MakeNcclApi() { return nullptr; }

#endif

}  // namespace det::core
