#include "master/store/postgres/pool.h"

namespace det::store {

Pool::Lease::Lease(Pool& owner) : pool(owner) {
  std::unique_lock lock(pool.mutex_);
  pool.returned_.wait(lock, [this] { return !pool.idle_.empty(); });
  // Takes the connection that was used last, so that few callers use few connections.
  connection = std::move(pool.idle_.back());
  pool.idle_.pop_back();
}

Pool::Lease::~Lease() {
  {
    std::lock_guard lock(pool.mutex_);
    pool.idle_.push_back(std::move(connection));
  }
  pool.returned_.notify_one();
}

}  // namespace det::store
