// Tasks in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_TASKS_H_
#define MASTER_STORE_POSTGRES_SQL_TASKS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "master/store/interfaces/tasks.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlTasks final : public Tasks {
 public:
  explicit SqlTasks(Pool* pool) : pool_(*pool) {}

  absl::StatusOr<TaskRecord> Get(const model::TaskId& id) override;
  absl::StatusOr<TaskPage> List(const TaskQuery& query) override;
  absl::StatusOr<std::vector<TaskRecord>> ListFamily(const model::TaskId& root) override;

 private:
  Pool& pool_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_TASKS_H_
