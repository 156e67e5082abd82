// Collective operations among the ranks of a trial. Every rank must call the same operations in the
// same order; an operation returns when the part of this rank is done. Implementations: Gloo (CPU
// slots), NCCL (GPU slots), a no-op for a single rank, and one that sums within each node first.
//
// One thread at a time. All operations throw PeerGone if another rank has ended.
#ifndef TRIAL_API_CPP_CORE_COMMUNICATOR_H_
#define TRIAL_API_CPP_CORE_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trial_api/cpp/core/ranks.h"

namespace det {

// Sums of kFloat16 and kBFloat16 are computed in these types, so each addition is rounded.
enum class DType { kFloat32, kFloat64, kInt32, kInt64, kUint8, kFloat16, kBFloat16 };

inline size_t GetElementSize(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return 1;
    case DType::kFloat16:
    case DType::kBFloat16:
      return 2;
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
  }
  return 0;
}

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual const Ranks& ranks() const = 0;
  // Returns whether `data`, `mine` and `all` below must be in the memory of this rank's GPU, not of
  // the host.
  virtual bool on_device() const { return false; }

  // Sums in place: element i becomes the sum of element i over all ranks. `data` has `count`
  // elements of type `dtype`.
  virtual void AllReduceSum(void* data, size_t count, DType dtype) = 0;
  // Same as AllReduceSum, but only `root` gets the sum; the contents of `data` on other ranks are
  // undefined afterwards.
  virtual void ReduceSum(void* data, size_t count, DType dtype, int root) = 0;
  // Copies `bytes` bytes from `root` to all other ranks.
  virtual void Broadcast(void* data, size_t bytes, int root) = 0;
  // Returns the texts of all ranks in order of rank; lengths may differ. For small amounts of data.
  virtual std::vector<std::string> AllGather(const std::string& mine) = 0;
  // Gathers a block of `bytes` bytes from each rank: `all` gets size() blocks in order of rank.
  virtual void AllGatherBlocks(const void* mine, size_t bytes, void* all) = 0;
  // Waits until all ranks have called it.
  virtual void Barrier() = 0;

  // Returns an independent channel among the same ranks, for use by another thread. Collective.
  // `name` must be unique among the channels of this communicator.
  virtual std::unique_ptr<Communicator> Duplicate(const std::string& name) = 0;
  // Returns a channel among `members`, ranks of this communicator, who are numbered in that order;
  // this rank must be one of them. Collective among all ranks, each with the members of its own
  // group.
  virtual std::unique_ptr<Communicator> Split(const std::string& name,
                                              const std::vector<int>& members) = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_COMMUNICATOR_H_
