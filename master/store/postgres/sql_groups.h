// Groups in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_GROUPS_H_
#define MASTER_STORE_POSTGRES_SQL_GROUPS_H_

#include "master/store/interfaces/groups.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlGroups final : public Groups {
 public:
  SqlGroups(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

 private:
  [[maybe_unused]] Pool& pool_;
  [[maybe_unused]] Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_GROUPS_H_
