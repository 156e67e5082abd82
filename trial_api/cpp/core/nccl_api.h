// What NcclCommunicator calls of NCCL and of CUDA's runtime: one table, so that tests can put their
// own in its place, and builds without CUDA have none.
//
// Functions return at once, and throw Error with the library's own words when it refuses. Each may
// be called by any thread, behind its UseDevice().
#ifndef TRIAL_API_CPP_CORE_NCCL_API_H_
#define TRIAL_API_CPP_CORE_NCCL_API_H_

#include <cstddef>
#include <memory>
#include <string>

#include "trial_api/cpp/core/communicator.h"

namespace det::core {

class NcclApi {
 public:
  using Comm = void*;    // one rank's end of a group
  using Stream = void*;  // operations of one device in their order
  struct Id {
    char bytes[128];
  };
  // kPeerLost: as far as NCCL can tell, the failure is another rank's or the network's.
  enum class State { kReady, kBusy, kPeerLost, kFailed };

  virtual ~NcclApi() = default;

  // Of the calling thread, in what follows.
  virtual void UseDevice(int device) = 0;

  // One rank makes the group's id, all of them join.
  virtual Id MakeId() = 0;
  virtual Comm Join(const Id& id, int rank, int size) = 0;
  // kBusy: what was called last is still being started. `words`: why it failed.
  virtual State Check(Comm comm, std::string* words) = 0;
  // Begins to leave; when Check() says kReady, Free() ends it. Abort() ends it at any time, with
  // all that is under way.
  virtual void Leave(Comm comm) = 0;
  virtual void Free(Comm comm) = 0;
  virtual void Abort(Comm comm) = 0;

  virtual Stream MakeStream() = 0;
  virtual void FreeStream(Stream stream) = 0;
  // What is put into `stream` from now on waits for what the device has been told to compute.
  virtual void FollowComputation(Stream stream) = 0;
  virtual bool Finished(Stream stream) = 0;

  // In place, of device memory; as those of Communicator.
  virtual void AllReduceSum(void* data, size_t count, DType dtype, Comm comm, Stream stream) = 0;
  virtual void ReduceSum(void* data, size_t count, DType dtype, int root, Comm comm,
                         Stream stream) = 0;
  virtual void Broadcast(void* data, size_t bytes, int root, Comm comm, Stream stream) = 0;
  virtual void AllGather(const void* mine, size_t bytes, void* all, Comm comm, Stream stream) = 0;
};

// The libraries themselves; null in a build without --config=cuda.
std::shared_ptr<NcclApi> MakeNcclApi();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_NCCL_API_H_
