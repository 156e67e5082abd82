// Tasks in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_TASKS_H_
#define MASTER_STORE_TESTING_FAKE_TASKS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "master/store/interfaces/tasks.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeTasks final : public Tasks {
 public:
  explicit FakeTasks(FakeDatabase* database) : db_(*database) {}

  absl::StatusOr<TaskRecord> Get(const model::TaskId& id) override;
  absl::StatusOr<TaskPage> List(const TaskQuery& query) override;
  absl::StatusOr<std::vector<TaskRecord>> ListFamily(const model::TaskId& root) override;

 private:
  // REQUIRES the mutex.
  TaskRecord Record(const experiment::Task& task) const;

  FakeDatabase& db_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_TASKS_H_
