// Collective operations among the ranks of a trial. Every rank calls the same operations in the
// same order; an operation returns when this rank's part is done. Implementations: Gloo (CPU
// slots), a single rank's no-op; NCCL (GPU slots) comes behind the same interface.
//
// One thread at a time. Throws Error when a peer is gone.
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

enum class DType { kFloat32, kFloat64, kInt32, kInt64, kUint8 };

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual const Ranks& ranks() const = 0;

  // In place: element i becomes the sum of element i over all ranks. `count` elements of `dtype`.
  virtual void AllReduceSum(void* data, size_t count, DType dtype) = 0;
  // `bytes` bytes of `root` replace those of every other rank.
  virtual void Broadcast(void* data, size_t bytes, int root) = 0;
  // Everyone's text in order of rank; lengths may differ.
  virtual std::vector<std::string> AllGather(const std::string& mine) = 0;
  virtual void Barrier() = 0;

  // A second, independent channel among the same ranks, for use by another thread. Collective.
  virtual std::unique_ptr<Communicator> Duplicate(const std::string& name) = 0;
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_COMMUNICATOR_H_
