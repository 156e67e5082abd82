#include "master/store/testing/fake_tasks.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_sort.h"

namespace det::store {
namespace {

using Records = std::vector<TaskRecord>;

absl::Status NoSuchTask(const model::TaskId& id) {
  return absl::NotFoundError(absl::StrCat("task ", id.value(), " not found"));
}

bool Contains(const auto& list, const auto& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool Matches(const TaskQuery& query, const TaskRecord& record) {
  const experiment::Task& task = record.task;
  const bool all_owners = query.usernames.empty() && query.owner_ids.empty();
  return (query.kinds.empty() || Contains(query.kinds, task.kind)) &&
         (all_owners || Contains(query.usernames, record.username) ||
          Contains(query.owner_ids, task.owner)) &&
         (!query.workspace || *query.workspace == task.workspace) &&
         (!query.visible || Contains(*query.visible, task.workspace)) &&
         (!query.alive_after || !task.ended_at || *task.ended_at > *query.alive_after);
}

void Sort(Records& records, const TaskQuery& query) {
  const auto by = [&](const auto& key) {
    SortBy(records, query.descending, key, [](const TaskRecord& r) { return r.task.id; });
  };
  using Sort = TaskQuery::Sort;
  switch (query.sort) {
    case Sort::kId:
      return by([](const TaskRecord& r) { return std::optional(r.task.id); });
    case Sort::kDescription:
      return by([](const TaskRecord& r) { return std::optional(r.task.definition->description); });
    case Sort::kStartTime:
      return by([](const TaskRecord& r) { return std::optional(r.task.created_at); });
    case Sort::kWorkspace:
      return by([](const TaskRecord& r) { return std::optional(r.task.workspace); });
  }
}

}  // namespace

TaskRecord FakeTasks::Record(const experiment::Task& task) const {
  TaskRecord record;
  record.task = db_.WithCurrentWorkspace(task);
  const auto user = db_.user_rows.users.find(task.owner);
  if (user != db_.user_rows.users.end()) {
    record.username = user->second.username;
    record.display_name = user->second.display_name;
  }
  const experiment::Allocation* newest = nullptr;
  for (const auto& [id, allocation] : db_.allocations) {
    if (allocation.task != task.id) continue;
    if (newest == nullptr || allocation.run_id > newest->run_id) newest = &allocation;
  }
  if (newest != nullptr) {
    record.started_at = newest->started_at;
    record.exit_code = newest->exit_code;
  }
  return record;
}

absl::StatusOr<TaskRecord> FakeTasks::Get(const model::TaskId& id) {
  std::lock_guard lock(db_.mutex);
  const auto it = db_.tasks.find(id);
  if (it == db_.tasks.end()) return NoSuchTask(id);
  return Record(it->second);
}

absl::StatusOr<TaskPage> FakeTasks::List(const TaskQuery& query) {
  std::lock_guard lock(db_.mutex);
  Records found;
  for (const auto& [id, task] : db_.tasks) {
    TaskRecord record = Record(task);
    if (Matches(query, record)) found.push_back(std::move(record));
  }
  Sort(found, query);
  const int total = static_cast<int>(found.size());
  const Range range = Resolve(query.window, total);
  return TaskPage{{found.begin() + range.begin, found.begin() + range.end}, total};
}

absl::StatusOr<Records> FakeTasks::ListFamily(const model::TaskId& root) {
  std::lock_guard lock(db_.mutex);
  const auto first = db_.tasks.find(root);
  if (first == db_.tasks.end()) return NoSuchTask(root);
  Records family = {Record(first->second)};
  // One generation after the other.
  size_t begin = 0;
  while (begin < family.size()) {
    Records children;
    for (const auto& [id, task] : db_.tasks) {
      const bool is_child = std::any_of(
          family.begin() + begin, family.end(),
          [&task = task](const TaskRecord& parent) { return task.parent == parent.task.id; });
      if (is_child) children.push_back(Record(task));
    }
    std::stable_sort(children.begin(), children.end(), [](const auto& a, const auto& b) {
      return a.task.created_at < b.task.created_at;
    });
    begin = family.size();
    std::move(children.begin(), children.end(), std::back_inserter(family));
  }
  return family;
}

}  // namespace det::store
