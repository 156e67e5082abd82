#include "agent/driver/process_driver.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/driver/driver_contract.h"
#include "agent/driver/process_table.h"
#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

// Hands out one archive, or keeps everybody waiting.
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
  ProcessHarness() {
    Host host{.agent_id = "a1", .master_url = "http://m:1", .sdk_dir = dir_.path() + "/sdk"};
    driver_->SetHost(host);
  }
  Driver& driver() override { return *driver_; }
  void DestroyDriver() override { driver_.reset(); }
  Recorder& recorder() override { return recorder_; }
  bool Until(const AllocationId& id,
             const std::function<bool(const Recorder::Record&)>& condition) override {
    return recorder_.WaitUntil(id, condition);
  }
  std::vector<std::string> SaysHelloAndExits3() override { return Shell("echo hello; exit 3"); }
  std::vector<std::string> RunsForEver() override { return {"sleep", "1000"}; }
  std::vector<std::string> IgnoresTermination() override {
    return Shell("trap '' TERM; echo hello; while :; do sleep 0.01; done");
  }
  std::vector<std::string> CannotStart() override { return {"no-such-program-anywhere"}; }

  static std::vector<std::string> Shell(const std::string& script) { return {"sh", "-c", script}; }
  std::string dir() const { return dir_.path(); }

 private:
  const base::TempDir dir_ = *base::TempDir::Create("det-driver");
  FakeContexts contexts_;
  Recorder recorder_;
  std::unique_ptr<ProcessDriver> driver_ =
      MakeProcessDriver({.work_dir = dir_.path(), .contexts = &contexts_, .listener = &recorder_});
};

INSTANTIATE_TEST_SUITE_P(Process, DriverContract, testing::Values(HarnessFactory([] {
                           return std::make_unique<ProcessHarness>();
                         })));

class ProcessDriverTest : public testing::Test {
 protected:
  // Runs it to its end.
  Recorder::Record Run(TaskSpec spec) {
    harness_.recorder().Forget(spec.allocation);
    harness_.driver().Start(spec);
    EXPECT_TRUE(harness_.Until(spec.allocation,
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
  std::vector<pid_t> Living() {
    return FindProcesses({.mark = ProcessMark(harness_.dir(), AllocationId("1.1.0"))});
  }

  ProcessHarness harness_;
};

TEST_F(ProcessDriverTest, PrivateFolders) {
  TaskSpec spec = harness_.Spec(
      "1.1.0",
      ProcessHarness::Shell("pwd; ls; cat $DET_RUN_DIR/info/trial.json; echo $DET_WORKDIR"));
  spec.files = {{"info/trial.json", "{}\n", 0600}};
  const std::string work = harness_.dir() + "/tasks/1.1.0/work";
  EXPECT_EQ(Text(Run(spec)), absl::StrCat(work, "|{}|", work));
  EXPECT_FALSE(std::filesystem::exists(harness_.dir() + "/tasks/1.1.0"));
}

TEST_F(ProcessDriverTest, ContextBecomesTheWorkingDirectory) {
  const std::string path = harness_.dir() + "/context.tgz";
  archive* writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_gnutar(writer);
  ASSERT_EQ(archive_write_open_filename(writer, path.c_str()), ARCHIVE_OK);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, "run.sh");
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0755);
  const std::string script = "#!/bin/sh\necho from the context\n";
  archive_entry_set_size(entry, static_cast<la_int64_t>(script.size()));
  archive_write_header(writer, entry);
  archive_write_data(writer, script.data(), script.size());
  archive_entry_free(entry);
  archive_write_free(writer);

  TaskSpec spec = harness_.Spec("1.1.0", {"./run.sh"});
  spec.context_hash = path;
  EXPECT_EQ(Text(Run(spec)), "from the context");
}

TEST_F(ProcessDriverTest, TheSdksProgramsComeFirst) {
  ASSERT_TRUE(base::MakeDirs(harness_.dir() + "/sdk/bin").ok());
  ASSERT_TRUE(base::WriteFileAtomically(harness_.dir() + "/sdk/bin/ls",
                                        "#!/bin/sh\necho our own ls\n", 0755)
                  .ok());
  EXPECT_EQ(Text(Run(harness_.Spec("1.1.0", {"ls"}))), "our own ls");
}

TEST_F(ProcessDriverTest, NobodyOutlivesTheFirstProcess) {
  // One stays in the group, one leaves it, one leaves the session and its parent, all hold the
  // pipe.
  const Recorder::Record record = RunShell(
      "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &); trap '' TERM; echo ready; exit 4");
  EXPECT_EQ(record.exit.exit_code, 4);
  EXPECT_EQ(Text(record), "ready");
  EXPECT_TRUE(Living().empty());
}

TEST_F(ProcessDriverTest, AKillReachesTheWholeTree) {
  harness_.driver().Start(harness_.Spec(
      "1.1.0",
      ProcessHarness::Shell("trap '' TERM; setsid sleep 1000 & sh -c 'trap \"\" TERM; echo "
                            "ready; while :; do sleep 0.01; done'; wait")));
  const AllocationId id("1.1.0");
  ASSERT_TRUE(
      harness_.Until(id, [](const Recorder::Record& record) { return !record.lines.empty(); }));
  EXPECT_GE(Living().size(), 3u);
  harness_.driver().Signal(id, StopSignal::kKill);
  ASSERT_TRUE(harness_.Until(id, [](const Recorder::Record& record) { return record.exited(); }));
  EXPECT_TRUE(Living().empty());
}

TEST_F(ProcessDriverTest, StopsWhileTheContextIsFetched) {
  TaskSpec spec = harness_.Spec("1.1.0", {"true"});
  spec.context_hash = "never";
  harness_.driver().Start(spec);
  harness_.driver().Signal(spec.allocation, StopSignal::kTerminate);
  ASSERT_TRUE(harness_.Until(spec.allocation,
                             [](const Recorder::Record& record) { return record.exited(); }));
  const Recorder::Record record = harness_.recorder().Get(spec.allocation);
  EXPECT_EQ(record.exit.exit_code, 143);
  EXPECT_EQ(record.exit.message, "stopped before it started");
  EXPECT_FALSE(record.exit.start_failed);
}

TEST_F(ProcessDriverTest, AllLinesOfABusyTaskArriveInOrder) {
  const Recorder::Record record = RunShell("seq 1 50000; printf 'no end'");
  ASSERT_EQ(record.lines.size(), 50001u);
  for (size_t i = 0; i < 50000; ++i) ASSERT_EQ(record.lines[i].text, absl::StrCat(i + 1));
  EXPECT_EQ(record.lines.back().text, "no end");
}

TEST_F(ProcessDriverTest, RefusesWhatItCannotRun) {
  for (const char* id : {"../x", "a/b", "", ".hidden"}) {
    const Recorder::Record record = Run(harness_.Spec(id, {"true"}));
    EXPECT_TRUE(record.exit.start_failed) << id;
  }
  EXPECT_EQ(Run(harness_.Spec("1.1.0", {})).exit.message, "the task has no command");
  TaskSpec spec = harness_.Spec("1.1.0", {"true"});
  spec.files = {{"../../out", "x", 0600}};
  EXPECT_EQ(Run(spec).exit.message, "the task's file ../../out leaves its run directory");
  EXPECT_FALSE(std::filesystem::exists(harness_.dir() + "/out"));
  EXPECT_TRUE(std::filesystem::is_empty(harness_.dir() + "/tasks"));
}

TEST_F(ProcessDriverTest, AnAllocationMayRunAgainOnceItHasEnded) {
  EXPECT_EQ(RunShell("exit 1").exit.exit_code, 1);
  EXPECT_EQ(RunShell("exit 2").exit.exit_code, 2);
}

}  // namespace
}  // namespace det::agent
