// Collective operations among the ranks of a trial. Every rank calls the same operations in the
// same order; an operation returns when this rank's part is done. Implementations: Gloo (CPU
// slots), NCCL (GPU slots), a single rank's no-op, and one that sums within each node first.
//
// One thread at a time. Throws PeerGone when a peer is gone.
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

// kFloat16 and kBFloat16 are added in their own types: a sum is rounded with each rank.
enum class DType { kFloat32, kFloat64, kInt32, kInt64, kUint8, kFloat16, kBFloat16 };

inline size_t BytesOf(DType dtype) {
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
  // Whether `data`, `mine` and `all` below lie in memory of this rank's GPU, not of the host.
  virtual bool on_device() const { return false; }

  // In place: element i becomes the sum of element i over all ranks. `count` elements of `dtype`.
  virtual void AllReduceSum(void* data, size_t count, DType dtype) = 0;
  // The same for `root` alone; what the others have in `data` afterwards is undefined.
  virtual void ReduceSum(void* data, size_t count, DType dtype, int root) = 0;
  // `bytes` bytes of `root` replace those of every other rank.
  virtual void Broadcast(void* data, size_t bytes, int root) = 0;
  // Everyone's text in order of rank; lengths may differ.
  virtual std::vector<std::string> AllGather(const std::string& mine) = 0;
  // Everyone's block in order of rank: `bytes` bytes of `mine` on each rank, as many times ranks()
  // in `all`. For numbers; AllGather() is for a few words.
  virtual void AllGatherBlocks(const void* mine, size_t bytes, void* all) = 0;
  virtual void Barrier() = 0;

  // A second, independent channel among the same ranks, for use by another thread. Collective.
  virtual std::unique_ptr<Communicator> Duplicate(const std::string& name) = 0;
  // A channel among `members`, ranks of this one, who are numbered in that order; this rank is one
  // of them. Collective among all ranks, each with the members of its own group.
  virtual std::unique_ptr<Communicator> Split(const std::string& name,
                                              const std::vector<int>& members) = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_COMMUNICATOR_H_
