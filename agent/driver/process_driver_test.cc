#include "agent/driver/process_driver.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "agent/driver/driver_contract.h"
#include "agent/driver/process_task.h"
#include "agent/driver/task_folders.h"
#include "agent/keeper/process_table.h"
#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

// Opens the file named by the hash, or blocks for the hash "never".
class FakeContexts final : public ContextSource {
 public:
  absl::StatusOr<base::Fd> Open(const std::string& hash, std::stop_token stop) override {
    if (hash == "never") {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any stopped;
      stopped.wait(lock, stop, [] { return false; });
      return absl::CancelledError("stopped");
    }
    base::Fd fd(::open(hash.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return absl::NotFoundError("no such context");
    return fd;
  }
};

class ProcessHarness final : public DriverHarness {
 public:
  explicit ProcessHarness(int64_t spool_limit = int64_t{256} << 20, bool grouped = false)
      : spool_limit_(spool_limit) {
    // Directories instead of the kernel's control groups.
    if (grouped) group_ = dir_.path() + "/groups";
    (void)base::MakeDirs(group_ + "/agent");
    ReplaceDriver();
  }
  ~ProcessHarness() override {
    driver_.reset();
    (void)KillProcesses({.marker = GetTaskMarker(dir_.path(), AllocationId())}, absl::Seconds(10));
  }
  Driver& driver() override { return *driver_; }
  void ReplaceDriver() override {
    driver_.reset();
    driver_ = MakeProcessDriver({.work_dir = dir_.path(),
                                 .keeper = std::filesystem::absolute("agent/resolute-keeper"),
                                 .runner = "/bin/echo",
                                 .spool_limit = spool_limit_,
                                 .group = group_,
                                 .contexts = &contexts_,
                                 .listener = &recorder_});
    driver_->SetHost(
        {.agent_id = "a1", .master_url = "http://m:1", .sdk_dir = dir_.path() + "/sdk"});
  }
  Recorder& recorder() override { return recorder_; }
  bool WaitUntil(const AllocationId& id,
                 const std::function<bool(const Recorder::Record&)>& condition) override {
    return recorder_.WaitUntil(id, condition);
  }
  std::vector<std::string> PrintHelloAndExit3() override { return Shell("echo hello; exit 3"); }
  std::vector<std::string> RunForever() override { return {"sleep", "1000"}; }
  std::vector<std::string> PrintHelloAndIgnoreSigterm() override {
    return Shell("trap '' TERM; echo hello; while :; do sleep 0.01; done");
  }
  std::vector<std::string> CannotStart() override { return {"no-such-program-anywhere"}; }

  static std::vector<std::string> Shell(const std::string& script) { return {"sh", "-c", script}; }
  std::string dir() const { return dir_.path(); }

 private:
  const base::TempDir dir_ = *base::TempDir::Create("det-driver");
  FakeContexts contexts_;
  Recorder recorder_;
  const int64_t spool_limit_;
  std::string group_;
  std::unique_ptr<ProcessDriver> driver_;
};

INSTANTIATE_TEST_SUITE_P(Process, DriverContract, testing::Values(HarnessFactory([] {
                           return std::make_unique<ProcessHarness>();
                         })));

class ProcessDriverTest : public testing::Test {
 protected:
  // Runs a task until it exits.
  Recorder::Record Run(TaskSpec spec) {
    harness_.recorder().Forget(spec.allocation);
    harness_.driver().Start(spec);
    EXPECT_TRUE(harness_.WaitUntil(spec.allocation,
                                   [](const Recorder::Record& record) { return record.exited(); }));
    return harness_.recorder().Get(spec.allocation);
  }
  Recorder::Record RunShell(const std::string& script) {
    return Run(harness_.Spec("1.1.0", ProcessHarness::Shell(script)));
  }
  static std::string Text(const Recorder::Record& record) {
    std::vector<std::string> texts;
    for (const OutputLine& line : record.lines) texts.push_back(line.text);
    return absl::StrJoin(texts, "|");
  }
  // Creates an archive with one file.
  std::string MakeContext(const std::string& name, const std::string& content) {
    const std::string path = absl::StrCat(harness_.dir(), "/context", ++contexts_, ".tgz");
    archive* writer = archive_write_new();
    archive_write_add_filter_gzip(writer);
    archive_write_set_format_gnutar(writer);
    EXPECT_EQ(archive_write_open_filename(writer, path.c_str()), ARCHIVE_OK);
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0755);
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_write_header(writer, entry);
    archive_write_data(writer, content.data(), content.size());
    archive_entry_free(entry);
    archive_write_free(writer);
    return path;
  }
  std::vector<pid_t> FindLiving() {
    return FindProcesses({.marker = GetTaskMarker(harness_.dir(), AllocationId("1.1.0"))});
  }

  ProcessHarness harness_;
  int contexts_ = 0;
};

TEST_F(ProcessDriverTest, CreatesAndRemovesPrivateDirectories) {
  TaskSpec spec = harness_.Spec(
      "1.1.0",
      ProcessHarness::Shell("pwd; ls; cat $DET_RUN_DIR/info/trial.json; echo $DET_WORKDIR"));
  spec.files = {{"info/trial.json", "{}\n", 0600}};
  const std::string work = harness_.dir() + "/tasks/1.1.0/work";
  EXPECT_EQ(Text(Run(spec)), absl::StrCat(work, "|{}|", work));
  EXPECT_FALSE(std::filesystem::exists(work));
  EXPECT_FALSE(std::filesystem::exists(harness_.dir() + "/tasks/1.1.0/run"));
  ASSERT_TRUE(harness_.WaitUntil(
      spec.allocation, [](const Recorder::Record& record) { return record.output_ended; }));
  harness_.driver().Forget(spec.allocation);
  EXPECT_FALSE(std::filesystem::exists(harness_.dir() + "/tasks/1.1.0"));
}

TEST_F(ProcessDriverTest, ContextBecomesTheWorkingDirectory) {
  TaskSpec spec = harness_.Spec("1.1.0", {"./run.sh"});
  spec.context_hash = MakeContext("run.sh", "#!/bin/sh\necho from the context\n");
  EXPECT_EQ(Text(Run(spec)), "from the context");
}

TEST_F(ProcessDriverTest, RunsStartupHookBeforeCommand) {
  const std::string path = MakeContext("startup-hook.sh", "echo prepared; export MADE=\"by it\"\n");
  TaskSpec spec = harness_.Spec("1.1.0", ProcessHarness::Shell("echo \"$0 $MADE\"; exit 3"));
  spec.context_hash = path;
  const Recorder::Record record = Run(spec);
  EXPECT_EQ(Text(record), "prepared|sh by it");
  EXPECT_EQ(record.exit.exit_code, 3);
  spec.context_hash = MakeContext("startup-hook.sh", "echo cannot; false\n");
  EXPECT_EQ(Run(spec).exit.exit_code, 1);
}

// The runner itself runs the hook.
TEST_F(ProcessDriverTest, StartsRunnerThatIsInstalledWithTheAgent) {
  TaskSpec spec = harness_.Spec("1.1.0", {"resolute-runner", "--", "word"});
  spec.context_hash = MakeContext("startup-hook.sh", "echo hook\n");
  EXPECT_EQ(Text(Run(spec)), "-- word");
}

TEST_F(ProcessDriverTest, PrefersProgramsOfTheSdk) {
  ASSERT_TRUE(base::MakeDirs(harness_.dir() + "/sdk/bin").ok());
  ASSERT_TRUE(base::WriteFileAtomically(harness_.dir() + "/sdk/bin/ls",
                                        "#!/bin/sh\necho our own ls\n", 0755)
                  .ok());
  EXPECT_EQ(Text(Run(harness_.Spec("1.1.0", {"ls"}))), "our own ls");
}

TEST_F(ProcessDriverTest, KillsOrphanedProcesses_WhenFirstProcessEnds) {
  // One process stays in the group, one leaves it, one leaves the session and its parent; all hold
  // the pipe.
  const Recorder::Record record = RunShell(
      "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &); trap '' TERM; echo ready; exit 4");
  EXPECT_EQ(record.exit.exit_code, 4);
  EXPECT_EQ(Text(record), "ready");
  EXPECT_TRUE(FindLiving().empty());
}

TEST_F(ProcessDriverTest, KillsAllDescendants) {
  harness_.driver().Start(harness_.Spec(
      "1.1.0",
      ProcessHarness::Shell("trap '' TERM; setsid sleep 1000 & sh -c 'trap \"\" TERM; echo "
                            "ready; while :; do sleep 0.01; done'; wait")));
  const AllocationId id("1.1.0");
  ASSERT_TRUE(
      harness_.WaitUntil(id, [](const Recorder::Record& record) { return !record.lines.empty(); }));
  EXPECT_GE(FindLiving().size(), 3u);
  harness_.driver().Signal(id, StopSignal::kKill);
  ASSERT_TRUE(
      harness_.WaitUntil(id, [](const Recorder::Record& record) { return record.exited(); }));
  EXPECT_TRUE(FindLiving().empty());
}

TEST(GroupedTaskTest, EnforcesLimitsAndReportsOutOfMemory) {
  ProcessHarness harness(int64_t{256} << 20, /*grouped=*/true);
  const std::string group = absl::StrCat(harness.dir(), "/groups/", ::getpid(), "-1.1.0");
  const auto run = [&](const std::string& script) {
    TaskSpec spec = harness.Spec("1.1.0", ProcessHarness::Shell(script));
    spec.env = {{"DET_CPUS", "1.5"}, {"DET_MEMORY", "2147483648"}};
    harness.recorder().Forget(spec.allocation);
    harness.driver().Start(spec);
    EXPECT_TRUE(harness.WaitUntil(spec.allocation,
                                  [](const Recorder::Record& record) { return record.exited(); }));
    return harness.recorder().Get(spec.allocation).exit;
  };
  TaskExit exit = run(absl::StrCat("cat ", group, "/cgroup.procs > /dev/null && kill -9 $$"));
  EXPECT_EQ(exit.message, "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(base::ReadFile(group + "/cpu.max").value_or(""), "150000 100000");
  EXPECT_EQ(base::ReadFile(group + "/memory.max").value_or(""), "2147483648");
  // The kernel would write this.
  exit = run(absl::StrCat("echo 'oom_kill 1' > ", group, "/memory.events; kill -9 $$"));
  EXPECT_EQ(exit.message, "killed: out of memory, limit 2 GiB");
  EXPECT_EQ(exit.signal, SIGKILL);
  // A process was killed for memory, but the task handled it.
  exit = run("exit 0");
  EXPECT_EQ(exit.message, "");
}

TEST_F(ProcessDriverTest, StopsTask_WhileContextIsFetched) {
  TaskSpec spec = harness_.Spec("1.1.0", {"true"});
  spec.context_hash = "never";
  harness_.driver().Start(spec);
  harness_.driver().Signal(spec.allocation, StopSignal::kTerminate);
  ASSERT_TRUE(harness_.WaitUntil(spec.allocation,
                                 [](const Recorder::Record& record) { return record.exited(); }));
  const Recorder::Record record = harness_.recorder().Get(spec.allocation);
  EXPECT_EQ(record.exit.exit_code, 143);
  EXPECT_EQ(record.exit.message, "stopped before it started");
  EXPECT_FALSE(record.exit.start_failed);
}

// The output exceeds the limit of undelivered lines: the task continues, and lines follow as they
// are delivered.
TEST_F(ProcessDriverTest, DeliversAllLinesInOrder) {
  const AllocationId id("1.1.0");
  harness_.driver().Start(
      harness_.Spec("1.1.0", ProcessHarness::Shell("seq 1 50000; printf 'no end'")));
  const auto ended = [](const Recorder::Record& record) { return record.output_ended; };
  size_t delivered = 0;
  size_t received = 0;
  while (received < 50001) {
    ASSERT_TRUE(harness_.WaitUntil(
        id, [&](const Recorder::Record& record) { return record.lines.size() > received; }));
    received = harness_.recorder().Get(id).lines.size();
    if (received < 50001) {
      EXPECT_LE((received - delivered) * sizeof(OutputLine),
                ProcessTask::kMaxUndelivered + (1 << 20));
      delivered = received;
      harness_.driver().Delivered(id, static_cast<int64_t>(delivered));
    }
  }
  ASSERT_TRUE(harness_.WaitUntil(id, ended));
  const Recorder::Record record = harness_.recorder().Get(id);
  EXPECT_EQ(record.exit.exit_code, 0);
  ASSERT_EQ(record.lines.size(), 50001u);
  for (size_t i = 0; i < 50000; ++i) {
    ASSERT_EQ(record.lines[i].text, absl::StrCat(i + 1));
    ASSERT_EQ(record.lines[i].sequence, static_cast<int64_t>(i + 1));
  }
  EXPECT_EQ(record.lines.back().text, "no end");
}

TEST_F(ProcessDriverTest, DeliversStateOfProgressBar_WhileTaskIsIdle) {
  const TaskSpec spec =
      harness_.Spec("1.1.0", ProcessHarness::Shell("printf '50%%\\r'; exec sleep 1000"));
  harness_.driver().Start(spec);
  ASSERT_TRUE(harness_.WaitUntil(spec.allocation, [](const Recorder::Record& record) {
    return !record.lines.empty() || record.exited();
  }));
  EXPECT_EQ(Text(harness_.recorder().Get(spec.allocation)), "50%\r");
  harness_.driver().Signal(spec.allocation, StopSignal::kKill);
  EXPECT_TRUE(harness_.WaitUntil(spec.allocation,
                                 [](const Recorder::Record& record) { return record.exited(); }));
  EXPECT_EQ(Text(harness_.recorder().Get(spec.allocation)), "50%\r");
}

TEST_F(ProcessDriverTest, ReportsExit_WhenLinesAreNotDelivered) {
  const Recorder::Record record = RunShell("seq 1 100000; exit 5");
  EXPECT_EQ(record.exit.exit_code, 5);
  EXPECT_FALSE(record.output_ended);
  EXPECT_LT(record.lines.size(), 100000u);
}

TEST_F(ProcessDriverTest, DropsOldestLinesAndReportsLoss_WhenSpoolIsFull) {
  ProcessHarness harness(64 << 10);
  const AllocationId id("1.1.0");
  harness.driver().Start(harness.Spec(
      "1.1.0",
      ProcessHarness::Shell("while [ ! -e go ]; do sleep 0.01; done; seq 1 20000; exit 6")));
  ASSERT_TRUE(
      harness.WaitUntil(id, [](const Recorder::Record& record) { return record.started(); }));
  harness.ReplaceDriver();  // No driver reads while the task writes.
  const KeeperFolder keep = GetKeeperFolder(harness.dir(), id);
  const pid_t keeper = keep.GetKeeperPid();
  ASSERT_GT(keeper, 0);
  const base::Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0)));
  ASSERT_TRUE(base::WriteFileAtomically(GetTaskFolders(harness.dir(), id).work + "/go", "").ok());
  pollfd wait = {.fd = ended.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&wait, 1, 30'000), 1);
  int64_t bytes = 0;
  for (const Segment& segment : keep.ListSegments()) bytes += segment.bytes;
  EXPECT_LE(bytes, (64 << 10) + 1000) << "the limit plus one line";

  harness.recorder().Forget(id);
  ASSERT_TRUE(harness.driver().Adopt().ok());
  ASSERT_TRUE(
      harness.WaitUntil(id, [](const Recorder::Record& record) { return record.output_ended; }));
  const Recorder::Record record = harness.recorder().Get(id);
  EXPECT_EQ(record.exit.exit_code, 6);
  const OutputLine& notice = record.lines.at(0);
  EXPECT_EQ(notice.source, "agent");
  EXPECT_EQ(notice.level, LogLevel::kWarning);
  EXPECT_EQ(notice.text.rfind(absl::StrCat(notice.sequence, " lines were lost here: "), 0), 0u)
      << notice.text;
  for (size_t i = 1; i < record.lines.size(); ++i) {
    ASSERT_EQ(record.lines[i].sequence, notice.sequence + static_cast<int64_t>(i));
    ASSERT_EQ(record.lines[i].text, absl::StrCat(record.lines[i].sequence));
  }
  EXPECT_EQ(record.lines.back().text, "20000");
}

TEST_F(ProcessDriverTest, KillsProcessWithoutSessionParentAndMarker) {
  // The process has left its session and its parent, and has no task marker.
  const Recorder::Record record = RunShell("(setsid env -i sleep 1000 & echo $!); exit 4");
  EXPECT_EQ(record.exit.exit_code, 4);
  int hidden = 0;
  ASSERT_TRUE(absl::SimpleAtoi(Text(record), &hidden));
  EXPECT_EQ(::kill(hidden, 0), -1);
}

TEST_F(ProcessDriverTest, KillsTask_WhenKeeperIsKilled) {
  const AllocationId id("1.1.0");
  harness_.driver().Start(harness_.Spec(
      "1.1.0", ProcessHarness::Shell("trap '' TERM; setsid sleep 1000 & echo ready; wait")));
  ASSERT_TRUE(
      harness_.WaitUntil(id, [](const Recorder::Record& record) { return !record.lines.empty(); }));
  ASSERT_EQ(::kill(GetKeeperFolder(harness_.dir(), id).GetKeeperPid(), SIGKILL), 0);
  ASSERT_TRUE(
      harness_.WaitUntil(id, [](const Recorder::Record& record) { return record.output_ended; }));
  const Recorder::Record record = harness_.recorder().Get(id);
  EXPECT_EQ(record.exit.exit_code, 137);
  EXPECT_EQ(record.exit.message, "the task's keeper was killed");
  EXPECT_FALSE(record.exit.system_failure) << "a task could kill it itself";
  EXPECT_TRUE(FindLiving().empty());
}

TEST_F(ProcessDriverTest, KillsProcessInExec_WhenKeeperIsKilled) {
  // The process has its own session and often no environment, so its task marker cannot be read.
  const AllocationId id("1.1.0");
  harness_.driver().Start(
      harness_.Spec("1.1.0", ProcessHarness::Shell("echo 'exec sh ./again' > again; setsid sh "
                                                   "./again & echo $!; wait")));
  ASSERT_TRUE(
      harness_.WaitUntil(id, [](const Recorder::Record& record) { return !record.lines.empty(); }));
  pid_t again = 0;
  ASSERT_TRUE(absl::SimpleAtoi(harness_.recorder().Get(id).lines[0].text, &again));
  ASSERT_EQ(::kill(GetKeeperFolder(harness_.dir(), id).GetKeeperPid(), SIGKILL), 0);
  ASSERT_TRUE(
      harness_.WaitUntil(id, [](const Recorder::Record& record) { return record.output_ended; }));
  EXPECT_TRUE(FindProcesses({.leader = again}).empty());
}

TEST_F(ProcessDriverTest, DoesNotReattachToTaskThatNeverStarted) {
  TaskSpec spec = harness_.Spec("1.1.0", {"true"});
  spec.context_hash = "never";
  harness_.driver().Start(spec);
  harness_.ReplaceDriver();
  // The state that a driver leaves if it is killed before the keeper takes over.
  const KeeperFolder keep = GetKeeperFolder(harness_.dir(), AllocationId("1.2.0"));
  ASSERT_TRUE(keep.Prepare({.argv = {"true"}, .work_dir = "/"}).ok());
  EXPECT_TRUE(harness_.driver().Adopt()->empty());
  EXPECT_TRUE(absl::IsNotFound(keep.TakeOver().status())) << "the keeper started after Adopt()";
  EXPECT_TRUE(std::filesystem::is_empty(harness_.dir() + "/tasks"));
}

TEST_F(ProcessDriverTest, KillsProcessesWithoutTaskDirectory) {
  const AllocationId id("1.1.0");
  harness_.driver().Start(harness_.Spec("1.1.0", {"sleep", "1000"}));
  ASSERT_TRUE(
      harness_.WaitUntil(id, [](const Recorder::Record& record) { return record.started(); }));
  harness_.ReplaceDriver();
  std::filesystem::remove_all(harness_.dir() + "/tasks/1.1.0");
  EXPECT_TRUE(harness_.driver().Adopt()->empty());
  EXPECT_TRUE(FindLiving().empty());
}

TEST_F(ProcessDriverTest, ReportsFailedStart_WhenKeeperIsMissing) {
  Recorder recorder;
  const auto driver = MakeProcessDriver(
      {.work_dir = harness_.dir(), .keeper = "/no/keeper", .listener = &recorder});
  driver->Start(harness_.Spec("1.1.0", {"true"}));
  ASSERT_TRUE(recorder.WaitUntil(
      AllocationId("1.1.0"), [](const Recorder::Record& record) { return record.output_ended; }));
  const TaskExit exit = recorder.Get(AllocationId("1.1.0")).exit;
  EXPECT_TRUE(exit.start_failed);
  EXPECT_NE(exit.message.find("/no/keeper"), std::string::npos) << exit.message;
}

TEST_F(ProcessDriverTest, RejectsInvalidTasks) {
  for (const char* id : {"../x", "a/b", "", ".hidden"}) {
    const Recorder::Record record = Run(harness_.Spec(id, {"true"}));
    EXPECT_TRUE(record.exit.start_failed) << id;
  }
  EXPECT_EQ(Run(harness_.Spec("1.1.0", {})).exit.message, "the task has no command");
  TaskSpec spec = harness_.Spec("1.1.0", {"true"});
  spec.files = {{"../../out", "x", 0600}};
  EXPECT_EQ(Run(spec).exit.message, "the task's file ../../out is outside its run directory");
  EXPECT_FALSE(std::filesystem::exists(harness_.dir() + "/out"));
  EXPECT_TRUE(std::filesystem::is_empty(harness_.dir() + "/tasks"));
}

TEST_F(ProcessDriverTest, RunsAllocationAgain_WhenItHasEnded) {
  EXPECT_EQ(RunShell("exit 1").exit.exit_code, 1);
  EXPECT_EQ(RunShell("exit 2").exit.exit_code, 2);
}

}  // namespace
}  // namespace det::agent
