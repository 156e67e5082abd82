#include "cli/local_cluster.h"

#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "cli/cluster_file.h"
#include "cli/process.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

base::ChildProcess Start(const std::string& script) {
  base::SpawnOptions options;
  options.argv = {"sh", "-c", script};
  options.out = base::Redirect::Pipe();
  return *base::Spawn(options);
}

// Until the script has said that it is ready.
void AwaitWord(const base::ChildProcess& child) {
  char byte;
  ASSERT_EQ(read(child.out.get(), &byte, 1), 1);
}

TEST(ProcessTest, IsKnownByPidAndStartTime) {
  const base::ChildProcess child = Start("echo; exec sleep 600");
  AwaitWord(child);
  const std::optional<Process> process = FindProcess(child.pid);
  ASSERT_TRUE(process.has_value());
  EXPECT_TRUE(IsAlive(*process));
  const Process successor{child.pid, process->start_time + 1};
  EXPECT_FALSE(IsAlive(successor));
  Signal(successor, SIGKILL);
  EXPECT_TRUE(Stop(successor, SIGKILL, absl::Seconds(1)));
  EXPECT_TRUE(IsAlive(*process));
  EXPECT_GT(ResidentBytes(*process), 0);

  EXPECT_TRUE(Stop(*process, SIGTERM, absl::Seconds(60)));
  EXPECT_FALSE(IsAlive(*process)) << "a zombie is not alive";
  EXPECT_EQ(base::WaitForExit(child.pid)->signal, SIGTERM);
  EXPECT_FALSE(FindProcess(child.pid).has_value());
}

TEST(ProcessTest, IsKilledWhenItDoesNotListen) {
  const base::ChildProcess child = Start("trap '' TERM; echo; while :; do sleep 600; done");
  AwaitWord(child);
  const Process process = *FindProcess(child.pid);
  EXPECT_FALSE(Stop(process, SIGTERM, absl::Milliseconds(50)));
  EXPECT_EQ(base::WaitForExit(child.pid)->signal, SIGKILL);
  base::KillGroup(child.pid, SIGKILL).IgnoreError();
}

TEST(ProcessTest, KnowsItsDescendants) {
  const base::ChildProcess child = Start("sh -c 'echo; sleep 600; :' ; :");
  AwaitWord(child);
  const std::vector<Process> below = Descendants(*FindProcess(child.pid));
  EXPECT_GE(below.size(), 1u);
  base::KillGroup(child.pid, SIGKILL).IgnoreError();
  base::WaitForExit(child.pid).IgnoreError();
}

TEST(ClusterFileTest, ReadsWhatItWrote) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string path = dir.path() + "/cluster.json";
  EXPECT_EQ(ReadClusterFile(path).status().code(), absl::StatusCode::kNotFound);
  ClusterState state;
  state.url = "http://127.0.0.1:1";
  state.agents = 2;
  state.slots = 3;
  state.members = {{"master", *FindProcess(getpid()), "/log"}, {"agent-0", {1, 2}, "/other"}};
  ASSERT_TRUE(WriteClusterFile(path, state).ok());
  const auto read = ReadClusterFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->url, state.url);
  EXPECT_EQ(read->slots, 3);
  ASSERT_EQ(read->members.size(), 2u);
  EXPECT_EQ(read->members[0].process, state.members[0].process);
  EXPECT_EQ(read->members[1].name, "agent-0");
  EXPECT_TRUE(read->AnyAlive());
  EXPECT_FALSE(read->AllAlive());
  ASSERT_TRUE(base::WriteFileAtomically(path, "{").ok());
  EXPECT_EQ(ReadClusterFile(path).status().code(), absl::StatusCode::kDataLoss);
}

TEST(LocalClusterTest, NothingRunsWhereNothingWasStarted) {
  const base::TempDir dir = *base::TempDir::Create();
  LocalCluster cluster(dir.path() + "/new/");
  EXPECT_EQ(cluster.data_dir(), dir.path() + "/new");
  EXPECT_FALSE(cluster.Running()->has_value());
  EXPECT_TRUE(cluster.Down([](const std::string&) {}).ok());
}

}  // namespace
}  // namespace det::cli
