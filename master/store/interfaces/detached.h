// Experiments and trials that run outside of the cluster (docs/detached-mode.md).
//
// Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_DETACHED_H_
#define MASTER_STORE_INTERFACES_DETACHED_H_

namespace det::store {

class Detached {
 public:
  virtual ~Detached() = default;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_DETACHED_H_
