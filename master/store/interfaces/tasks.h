// Tasks that are not trials (docs/tasks.md). The cluster writes their rows through Store::Commit;
// this interface reads committed ones. Reached through Store::tasks(). Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_TASKS_H_
#define MASTER_STORE_INTERFACES_TASKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/experiment/task.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"
#include "master/store/interfaces/window.h"

namespace det::store {

// A task with its current workspace name, which is empty if the workspace was deleted.
struct TaskRecord {
  experiment::Task task;
  std::string username;      // of the owner
  std::string display_name;  // of the owner
  // Describe its newest attempt.
  std::optional<absl::Time> started_at;
  std::optional<int> exit_code;
};

struct TaskQuery {
  enum class Sort { kId, kDescription, kStartTime, kWorkspace };  // kStartTime: of its creation

  std::vector<model::TaskKind> kinds;  // empty: all
  // Tasks whose owner is in either list; both empty: all.
  std::vector<std::string> usernames;
  std::vector<model::UserId> owner_ids;
  std::optional<int32_t> workspace;             // absent: all
  std::optional<std::vector<int32_t>> visible;  // workspaces; absent: all
  std::optional<absl::Time> alive_after;        // only those that had not ended then
  Sort sort = Sort::kId;
  bool descending = false;
  Window window;
};
struct TaskPage {
  std::vector<TaskRecord> tasks;
  int total = 0;
};

class Tasks {
 public:
  virtual ~Tasks() = default;

  // NOT_FOUND if there is no such task, or it is a trial.
  virtual absl::StatusOr<TaskRecord> Get(const model::TaskId& id) = 0;
  virtual absl::StatusOr<TaskPage> List(const TaskQuery& query) = 0;
  // Returns the task and the tasks below it (experiment::Task::parent), parents first. NOT_FOUND as
  // Get().
  virtual absl::StatusOr<std::vector<TaskRecord>> ListFamily(const model::TaskId& root) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_TASKS_H_
