// The functions of NCCL and of CUDA's runtime that NcclCommunicator uses, as an interface, so that
// tests can replace them and builds without CUDA need none.
//
// Functions return immediately, and throw Error with the library's message on failure. Each may be
// called on any thread, after UseDevice() on that thread.
#ifndef TRIAL_API_CPP_CORE_NCCL_API_H_
#define TRIAL_API_CPP_CORE_NCCL_API_H_

#include <cstddef>
#include <memory>
#include <string>

#include "trial_api/cpp/core/communicator.h"

namespace det::core {

class NcclApi {
 public:
  using Comm = void*;    // one rank's handle of a group
  using Stream = void*;  // a queue of operations of one device
  struct Id {
    char bytes[128];
  };
  // kPeerLost: NCCL reports a failure of another rank or of the network.
  enum class State { kReady, kBusy, kPeerLost, kFailed };

  virtual ~NcclApi() = default;

  // Sets the device of the calling thread.
  virtual void UseDevice(int device) = 0;

  // One rank creates the id of the group; all ranks join it.
  virtual Id MakeId() = 0;
  virtual Comm Join(const Id& id, int rank, int size) = 0;
  // Returns the state of the group. kBusy: the last operation is still being started. On failure,
  // sets `words` to the reason.
  virtual State Check(Comm comm, std::string* words) = 0;
  // Leave() starts to leave the group; when Check() returns kReady, Free() completes it. Abort()
  // ends the group at any time, with all pending operations.
  virtual void Leave(Comm comm) = 0;
  virtual void Free(Comm comm) = 0;
  virtual void Abort(Comm comm) = 0;

  virtual Stream MakeStream() = 0;
  virtual void FreeStream(Stream stream) = 0;
  // Makes later operations in `stream` wait for the computation that the device has been given so
  // far.
  virtual void FollowComputation(Stream stream) = 0;
  virtual bool Finished(Stream stream) = 0;

  // Same as the operations of Communicator, on device memory.
  virtual void AllReduceSum(void* data, size_t count, DType dtype, Comm comm, Stream stream) = 0;
  virtual void ReduceSum(void* data, size_t count, DType dtype, int root, Comm comm,
                         Stream stream) = 0;
  virtual void Broadcast(void* data, size_t bytes, int root, Comm comm, Stream stream) = 0;
  virtual void AllGather(const void* mine, size_t bytes, void* all, Comm comm, Stream stream) = 0;
};

// Returns the real libraries; null in a build without --config=cuda.
std::shared_ptr<NcclApi> MakeNcclApi();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_NCCL_API_H_
