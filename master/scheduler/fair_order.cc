#include "master/scheduler/order.h"

namespace det::scheduler {

std::unique_ptr<Order> MakeFairOrder(PoolState& pool) { return MakeStaticOrder(pool); }

}  // namespace det::scheduler
