// Tasks that are not trials: a part of the contract suite in store_contract.h.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "master/store/interfaces/task_document.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using model::TaskId;
using model::TaskKind;
using model::TaskState;
using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Pair;

// UUIDs that begin with the number of an experiment, or with no digit.
constexpr char kOne[] = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";
constexpr char kTwo[] = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
constexpr char kThree[] = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

// No field has its default value.
model::TaskDefinition MakeFullDefinition() {
  model::TaskDefinition d;
  d.description = "it's a \"task\" \\ ü";
  d.resources = {.slots_per_trial = 2,
                 .max_slots_per_trial = 4,
                 .slot_fraction = 0.25,
                 .cpus = 1.5,
                 .memory = int64_t{1} << 40,
                 .slot_type = model::DeviceType::kRocm,
                 .device = "H200",
                 .max_run_time = 3600,
                 .blocked_agents = {"a", "b"},
                 .max_slots = 7,
                 .weight = 2,
                 .priority = 3,
                 .resource_pool = "gpus",
                 .is_single_node = true,
                 .shm_size = int64_t{1} << 33,
                 .devices = {{"/dev/a", "/dev/b", "r"}, {}},
                 .native_parallel = true};
  d.variables.cpu = {"A=1", "A="};
  d.variables.cuda = {"B=\n"};
  d.variables.rocm = {"C"};
  d.proxy_ports = {{8080, true, true, true}, {.proxy_port = 22}};
  d.argv = {"sh", "-c", "echo \"$A\""};
  d.env = {{"HOME", "/root"}, {"EMPTY", ""}};
  d.files = {{"key", "-----BEGIN"}, {"dir/archive", std::string("\0\xff\n", 3)}, {"empty", ""}};
  d.context_hash = "abc";
  d.preemptible = true;
  d.preemption_timeout_seconds = 90;
  d.idle_timeout = absl::Minutes(5);
  d.service = model::TaskDefinition::Service::kTcp;
  d.config = model::Value::Object{{"x", model::Value::List{1, 1.0, "1", model::Value()}}};
  d.details = model::Value::Object{{"public_key", "ssh-ed25519 AAAA"}};
  return d;
}

// No field has its default value, except for `ended_at`, because it lives.
experiment::Task MakeFullTask() {
  experiment::Task t;
  t.id = TaskId(kOne);
  t.kind = TaskKind::kGeneric;
  t.owner = model::UserId(1);
  t.owner_name = "ann";
  t.workspace = 1;
  t.workspace_name = "Uncategorized";
  t.project = 9;
  t.parent = TaskId(kTwo);
  t.forked_from = TaskId(kThree);
  t.pausable = true;
  t.definition = std::make_shared<const model::TaskDefinition>(MakeFullDefinition());
  t.queue = {.resource_pool = "gpus",
             .priority = 7,
             .weight = 0.1,
             .position = 2.5,
             .position_set = true,
             .max_slots = 12};
  t.state = TaskState::kStopping;
  t.end_as = TaskState::kPaused;
  t.reason = "paused \"by\" ann";
  t.run_id = 3;
  t.allocation = model::AllocationId(absl::StrCat(kOne, ".3"));
  t.service_port = 40'001;
  t.run_time = absl::Microseconds(5'000'000'001);
  t.created_at = TimeAt(0.000001);
  return t;
}

experiment::Task End(experiment::Task task, absl::Time at) {
  task.state = TaskState::kCompleted;
  task.end_as.reset();
  task.service_port.reset();
  task.ended_at = at;
  return task;
}

// Expects that no member of an object equals that of an object with default values.
void ExpectAllDiffer(const model::Value& full, const model::Value& defaults,
                     const std::string& path) {
  ASSERT_NE(full.AsObject(), nullptr) << path;
  ASSERT_EQ(full.AsObject()->size(), defaults.AsObject()->size()) << path;
  for (const auto& [name, value] : *full.AsObject()) {
    const model::Value* other = defaults.Find(name);
    ASSERT_NE(other, nullptr) << path << name;
    if (other->AsObject() != nullptr && !other->AsObject()->empty()) {
      ExpectAllDiffer(value, *other, path + name + ".");
    } else {
      EXPECT_NE(value, *other) << "set " << path << name << " in MakeFullDefinition()";
    }
  }
}

TEST(TaskDocument, RestoresEveryField) {
  const model::TaskDefinition full = MakeFullDefinition();
  const model::Value document = ToDocument(full);
  ExpectAllDiffer(document, ToDocument(model::TaskDefinition()), "");
  EXPECT_EQ(ToTaskDefinition(document), full);
  EXPECT_EQ(ToTaskDefinition(ToDocument(model::TaskDefinition())), model::TaskDefinition());
}

TEST(TaskDocument, KeepsDefaults_WhenFieldIsAbsentOrOfAnotherType) {
  EXPECT_EQ(ToTaskDefinition({}), model::TaskDefinition());
  model::TaskDefinition expected;
  expected.description = "d";
  EXPECT_EQ(ToTaskDefinition(model::Value::Object{{"description", "d"},
                                                  {"argv", 3},
                                                  {"env", "x"},
                                                  {"preemptible", "yes"},
                                                  {"service", "udp"},
                                                  {"resources", model::Value::List{}},
                                                  {"of a later version", 1}}),
            expected);
}

TEST_P(StoreContractTest, RestoresLiveTasks) {
  cluster::Image image = Reload();
  experiment::Task first = MakeFullTask();
  experiment::Task second = MakeTask(kTwo);
  const experiment::Task ended = End(MakeTask(kThree), TimeAt(9));
  experiment::Allocation a = MakeAllocation(first, 3);
  a.submitted = 12;
  image.tasks = {first, second};
  image.allocations = {a};
  image.last_submitted = 12;
  Commit({cluster::PutTask{second}, cluster::PutTask{ended}, cluster::PutTask{first},
          cluster::PutAllocation{a}});
  EXPECT_EQ(Reload(), image);
  EXPECT_EQ(store_->tasks().Get(ended.id)->task, ended);
  EXPECT_THAT(*store_->ListAllocations(first.id), ElementsAre(a));

  first.queue = {.resource_pool = "cpus", .max_slots = std::nullopt};
  first.state = TaskState::kRunning;
  first.end_as.reset();
  first.reason.clear();
  first.allocation.reset();
  first.service_port.reset();
  first.run_id = 4;
  first.run_time = absl::Seconds(1);
  second.service_port = 1;
  image.tasks = {first, second};
  Commit({cluster::PutTask{MakeFullTask()}, cluster::PutTask{second}, cluster::PutTask{first}});
  EXPECT_EQ(Reload(), image);
  // The allocations of ended tasks count.
  a.state = model::AllocationState::kTerminated;
  Commit({cluster::PutTask{End(first, TimeAt(20))}, cluster::PutTask{End(second, TimeAt(20))},
          cluster::PutAllocation{a}});
  cluster::Image empty;
  empty.last_submitted = 12;
  EXPECT_EQ(Reload(), empty);
}

TEST_P(StoreContractTest, SanitizesTextOfTasks) {
  experiment::Task task = MakeTask(kOne);
  model::TaskDefinition definition;
  definition.description = std::string("nul \0 bad \xff", 11);
  definition.env = {{std::string("a\0", 2), "\xff"}};
  definition.files = {{"f", std::string("\0\xff", 2)}};
  task.definition = std::make_shared<const model::TaskDefinition>(definition);
  task.reason = std::string("\0", 1);
  Commit({cluster::PutTask{task}});
  const experiment::Task back = store_->tasks().Get(task.id)->task;
  EXPECT_EQ(back.reason, "\xEF\xBF\xBD");
  EXPECT_EQ(back.definition->description, "nul \xEF\xBF\xBD bad \xEF\xBF\xBD");
  EXPECT_THAT(back.definition->env, ElementsAre(Pair("a\xEF\xBF\xBD", "\xEF\xBF\xBD")));
  EXPECT_EQ(back.definition->files, definition.files);
}

TEST_P(StoreContractTest, ShowsOwnerAndNewestAttemptOfTask) {
  UserRecord ann;
  ann.username = "ann";
  ann.display_name = "Ann B.";
  const absl::StatusOr<UserRecord> added = store_->users().AddUser(ann);
  ASSERT_TRUE(added.ok()) << added.status();
  experiment::Task task = MakeTask(kOne);
  task.owner = added->id;
  experiment::Allocation first = MakeAllocation(task, 2);
  first.started_at = TimeAt(10);
  first.exit_code = 7;
  Commit({cluster::PutTask{task}});
  TaskRecord record = *store_->tasks().Get(task.id);
  EXPECT_EQ(record.task, task);
  EXPECT_EQ(record.username, "ann");
  EXPECT_EQ(record.display_name, "Ann B.");
  EXPECT_EQ(record.started_at, std::nullopt);
  EXPECT_EQ(record.exit_code, std::nullopt);
  Commit({cluster::PutAllocation{first}});
  record = store_->tasks().List({})->tasks.at(0);
  EXPECT_EQ(record.started_at, TimeAt(10));
  EXPECT_EQ(record.exit_code, 7);
  // 10 is newer than 2, and has not started.
  Commit({cluster::PutAllocation{MakeAllocation(task, 10)}});
  EXPECT_EQ(store_->tasks().Get(task.id)->started_at, std::nullopt);
  EXPECT_EQ(store_->tasks().Get(task.id)->exit_code, std::nullopt);
}

TEST_P(StoreContractTest, FindsNoTask_WhenItIsTrialOrUnknown) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{MakeTrial(1, 1)}});
  for (const char* id : {"1.1", kOne, ""}) {
    const absl::Status missing = store_->tasks().Get(TaskId(id)).status();
    EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
    EXPECT_EQ(store_->tasks().ListFamily(TaskId(id)).status(), missing);
  }
}

std::vector<std::string> Descriptions(const absl::StatusOr<TaskPage>& page) {
  std::vector<std::string> names;
  for (const TaskRecord& record : page->tasks) {
    names.push_back(record.task.definition->description);
  }
  return names;
}

TEST_P(StoreContractTest, ListsTasksAsRequested) {
  UserRecord ann;
  ann.username = "ann";
  const model::UserId of_ann = store_->users().AddUser(ann)->id;
  const int32_t vision = store_->workspaces().AddWorkspace({.name = "vision"})->id;
  std::vector<cluster::Change> changes;
  const auto add = [&](const char* id, const char* description, TaskKind kind, int32_t workspace,
                       model::UserId owner, double created, double ended) {
    experiment::Task task = MakeTask(id);
    auto definition = *task.definition;
    definition.description = description;
    task.definition = std::make_shared<const model::TaskDefinition>(definition);
    task.kind = kind;
    task.workspace = workspace;
    task.owner = owner;
    task.created_at = TimeAt(created);
    if (ended > 0) task = End(task, TimeAt(ended));
    changes.emplace_back(cluster::PutTask{task});
  };
  const model::UserId nobody(77);
  add(kOne, "b", TaskKind::kShell, vision, of_ann, 3, 0);
  add(kTwo, "a", TaskKind::kNotebook, 1, of_ann, 1, 10);
  add(kThree, "B", TaskKind::kShell, 1, nobody, 2, 20);
  Commit(changes);
  using Sort = TaskQuery::Sort;
  Tasks& tasks = store_->tasks();
  EXPECT_THAT(Descriptions(tasks.List({})), ElementsAre("b", "a", "B"));
  EXPECT_THAT(Descriptions(tasks.List({.descending = true})), ElementsAre("B", "a", "b"));
  EXPECT_THAT(Descriptions(tasks.List({.sort = Sort::kDescription})), ElementsAre("B", "a", "b"));
  EXPECT_THAT(Descriptions(tasks.List({.sort = Sort::kStartTime})), ElementsAre("a", "B", "b"));
  EXPECT_THAT(Descriptions(tasks.List({.sort = Sort::kWorkspace})), ElementsAre("a", "B", "b"));
  EXPECT_THAT(Descriptions(tasks.List({.sort = Sort::kWorkspace, .descending = true})),
              ElementsAre("b", "B", "a"));

  EXPECT_THAT(Descriptions(tasks.List({.kinds = {TaskKind::kShell}})), ElementsAre("b", "B"));
  EXPECT_THAT(Descriptions(tasks.List({.kinds = {TaskKind::kShell, TaskKind::kNotebook}})),
              ElementsAre("b", "a", "B"));
  EXPECT_THAT(Descriptions(tasks.List({.kinds = {TaskKind::kCommand}})), IsEmpty());
  EXPECT_THAT(Descriptions(tasks.List({.usernames = {"ann"}})), ElementsAre("b", "a"));
  EXPECT_THAT(Descriptions(tasks.List({.owner_ids = {nobody}})), ElementsAre("B"));
  EXPECT_THAT(Descriptions(tasks.List({.usernames = {"ann"}, .owner_ids = {nobody}})),
              ElementsAre("b", "a", "B"));
  EXPECT_THAT(Descriptions(tasks.List({.usernames = {"eve"}})), IsEmpty());
  EXPECT_THAT(Descriptions(tasks.List({.workspace = 1})), ElementsAre("a", "B"));
  using Workspaces = std::vector<int32_t>;
  EXPECT_THAT(Descriptions(tasks.List({.visible = Workspaces{vision}})), ElementsAre("b"));
  EXPECT_THAT(Descriptions(tasks.List({.workspace = 1, .visible = Workspaces{vision}})), IsEmpty());
  EXPECT_THAT(Descriptions(tasks.List({.visible = Workspaces{}})), IsEmpty());
  EXPECT_THAT(Descriptions(tasks.List({.alive_after = TimeAt(9)})), ElementsAre("b", "a", "B"));
  EXPECT_THAT(Descriptions(tasks.List({.alive_after = TimeAt(10)})), ElementsAre("b", "B"));
  EXPECT_THAT(Descriptions(tasks.List({.alive_after = TimeAt(99)})), ElementsAre("b"));

  const auto part = tasks.List({.window = {.offset = 1, .limit = 1}});
  EXPECT_THAT(Descriptions(part), ElementsAre("a"));
  EXPECT_EQ(part->total, 3);
  EXPECT_EQ(tasks.List({.window = {.offset = 9}})->total, 3);
  EXPECT_THAT(Descriptions(tasks.List({.window = {.offset = -1}})), ElementsAre("B"));
}

TEST_P(StoreContractTest, ListsFamilyOfTask) {
  std::vector<cluster::Change> changes;
  const auto add = [&](const char* id, double created, const char* parent) {
    experiment::Task task = MakeTask(id);
    task.created_at = TimeAt(created);
    if (parent != nullptr) task.parent = TaskId(parent);
    changes.emplace_back(cluster::PutTask{task});
  };
  add("root", 1, nullptr);
  add("z", 2, "root");
  add("y", 3, "root");
  add("a", 4, "y");
  add("b", 3.5, "z");
  add("c", 2.5, "y");
  add("other", 1, nullptr);
  add("d", 5, "other");
  experiment::Task fork = MakeTask("fork");
  fork.forked_from = TaskId("root");
  changes.emplace_back(cluster::PutTask{fork});
  Commit(changes);
  const auto family = [&](const char* root) {
    std::vector<std::string> ids;
    const auto records = store_->tasks().ListFamily(TaskId(root));
    for (const TaskRecord& record : *records) ids.push_back(record.task.id.value());
    return ids;
  };
  EXPECT_THAT(family("root"), ElementsAre("root", "z", "y", "c", "b", "a"));
  EXPECT_THAT(family("y"), ElementsAre("y", "c", "a"));
  EXPECT_THAT(family("d"), ElementsAre("d"));
}

TEST_P(StoreContractTest, ShowsCurrentWorkspaceOfTask) {
  const int32_t vision = store_->workspaces().AddWorkspace({.name = "vision"})->id;
  experiment::Task task = MakeTask(kOne);
  task.workspace = vision;
  task.workspace_name = "vision";
  Commit({cluster::PutTask{task}});
  ASSERT_TRUE(store_->workspaces().ChangeWorkspace(vision, {.name = "sight"}).ok());
  EXPECT_EQ(store_->tasks().Get(task.id)->task.workspace_name, "sight");
  EXPECT_EQ(Reload().tasks.at(0).workspace_name, "sight");
}

// An allocation that held two slots from `start` to `end`.
experiment::Allocation Ran(const experiment::Task& task, double start, double end) {
  experiment::Allocation a = MakeAllocation(task, 1);
  a.granted = 2;
  a.resource_pool = "gpu";
  a.started_at = TimeAt(start);
  a.ended_at = TimeAt(end);
  a.state = model::AllocationState::kTerminated;
  return a;
}

TEST_P(StoreContractTest, ListsUsageWithoutSlots) {
  const experiment::Task task = MakeTask(kOne);
  experiment::Allocation a = Ran(task, 10, 20);
  a.granted = 0;
  experiment::Allocation queued = MakeAllocation(task, 2);
  Commit({cluster::PutTask{task}, cluster::PutAllocation{a}, cluster::PutAllocation{queued}});
  const auto listed = store_->usage().ListUsage(TimeAt(0), TimeAt(100));
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().allocation, a.id);
  EXPECT_EQ(listed->front().slots, 0);
}

TEST_P(StoreContractTest, CountsUsageOfTasks) {
  const int32_t vision = store_->workspaces().AddWorkspace({.name = "vision"})->id;
  experiment::Task task = End(MakeTask(kOne), TimeAt(30));
  task.kind = TaskKind::kNotebook;
  task.owner = model::UserId(7);
  task.owner_name = "ann";
  task.workspace = vision;
  const experiment::Task nameless = End(MakeTask(kTwo), TimeAt(60));
  const experiment::Allocation a = Ran(task, 10, 20);
  Commit({cluster::PutTask{task}, cluster::PutAllocation{a}, cluster::PutTask{nameless},
          cluster::PutAllocation{Ran(nameless, 40, 50)}});
  const auto all = store_->usage().ListUsage(TimeAt(0), TimeAt(100));
  ASSERT_EQ(all->size(), 2u);
  UsageRecord used;
  used.kind = TaskKind::kNotebook;
  used.user = task.owner;
  used.username = "ann";
  used.workspace_id = vision;
  used.workspace = "vision";
  used.resource_pool = "gpu";
  used.allocation = a.id;
  used.slots = 2;
  used.started_at = TimeAt(10);
  used.ended_at = TimeAt(20);
  EXPECT_EQ(all->front(), used);
  EXPECT_EQ(all->back().username, "1");
  EXPECT_THAT(*store_->usage().ListUsage(TimeAt(20), TimeAt(40)), IsEmpty());
  const auto sums = [](const char* workspace) {
    return AllOf(Field(&cluster::Usage::users, ElementsAre(Pair("1", DoubleNear(20, 1e-6)),
                                                           Pair("ann", DoubleNear(20, 1e-6)))),
                 Field(&cluster::Usage::workspaces,
                       ::testing::Contains(Pair(workspace, DoubleNear(20, 1e-6)))));
  };
  EXPECT_THAT(Reload().usage, sums("vision"));

  // The usage and the task remain when the workspace is deleted.
  ASSERT_TRUE(store_->workspaces().StartDeletion(vision).ok());
  ASSERT_TRUE(store_->workspaces().DeleteWorkspace(vision).ok());
  used.workspace_id = 0;
  used.workspace.clear();
  EXPECT_EQ(store_->usage().ListUsage(TimeAt(0), TimeAt(100))->front(), used);
  EXPECT_EQ(store_->tasks().Get(task.id)->task.workspace_name, "");
  EXPECT_EQ(store_->tasks().Get(task.id)->task.workspace, vision);
  EXPECT_THAT(Reload().usage, sums(""));
}

TEST_P(StoreContractTest, StoresLogLinesOfTasks_WhenExperimentsWereDeleted) {
  experiment::Experiment e = MakeExperiment(100);
  e.state = model::ExperimentState::kCompleted;
  Commit(
      {cluster::PutExperiment{e}, cluster::PutTask{MakeTask(kOne)}, cluster::MarkDeleting{e.id}});
  while (!*store_->garbage_collection().RemoveRows(e.id, 100)) {
  }
  const std::vector<std::string> stored = {
      kOne, kTwo, kThree, "7", "7.", "7.x", "7.1.0", "no id", "", ".7", "99999999999999999999.1"};
  std::vector<model::LogLine> lines = {MakeLine("7.1", 1, "of a deleted experiment")};
  for (const std::string& task : stored) lines.push_back(MakeLine(task, 1, "a line"));
  ASSERT_TRUE(store_->AddLogLines(lines).ok());
  Commit({cluster::AddLogLine{MakeLine(kOne, 0, "of the master")}});
  for (const std::string& task : stored) {
    EXPECT_EQ(store_->ListLogs({.task = TaskId(task)})->size(), task == kOne ? 2u : 1u) << task;
  }
  EXPECT_THAT(*store_->ListLogs({.task = TaskId("7.1")}), IsEmpty());
}

TEST_P(StoreContractTest, RemovesLogsOfEndedTasksAfterRetention) {
  Commit({cluster::PutTask{End(MakeTask(kOne), TimeAt(0))}, cluster::PutTask{MakeTask(kTwo)},
          cluster::AddLogLine{MakeLine(kOne, 0, "a")}, cluster::AddLogLine{MakeLine(kOne, 0, "b")},
          cluster::AddLogLine{MakeLine(kTwo, 0, "it lives")}});
  GarbageCollection& gc = store_->garbage_collection();
  const auto day = [](int n) { return TimeAt(1) + n * absl::Hours(24); };
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(1000), -1, 10), 0);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(3), 4, 10), 0);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(4), 4, 1), 1);
  EXPECT_EQ(store_->ListLogs({.task = TaskId(kOne)})->size(), 1u);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(4), 4, 10), 1);
  EXPECT_EQ(*gc.RemoveExpiredLogs(day(1000), 0, 10), 0);
  EXPECT_EQ(store_->ListLogs({.task = TaskId(kTwo)})->size(), 1u);
  EXPECT_TRUE(store_->tasks().Get(TaskId(kOne)).ok());
}

TEST_P(StoreContractTest, KeepsContextsOfTasksUntilWeekAfterEnd) {
  const auto with_context = [](const char* id, const char* hash) {
    experiment::Task task = MakeTask(id);
    model::TaskDefinition definition;
    definition.context_hash = hash;
    task.definition = std::make_shared<const model::TaskDefinition>(definition);
    return task;
  };
  const absl::Duration day = absl::Hours(24);
  Commit({cluster::PutTask{with_context(kOne, "live")},
          cluster::PutTask{End(with_context(kTwo, "recent"), absl::Now() - 6 * day)},
          cluster::PutTask{End(with_context(kThree, "old"), absl::Now() - 8 * day)}});
  for (const char* hash : {"live", "recent", "old", "unused"}) {
    ASSERT_TRUE(store_->PutContext(hash, "tgz").ok());
  }
  Reload();
  EXPECT_TRUE(store_->GetContext("live").ok());
  EXPECT_TRUE(store_->GetContext("recent").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->GetContext("old").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetContext("unused").status()));
}

}  // namespace
}  // namespace det::store
