#include "cli/local_cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "cli/cluster_file.h"
#include "cli/local_slots.h"
#include "cli/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::HasSubstr;

base::ChildProcess Start(const std::string& script) {
  base::SpawnOptions options;
  options.argv = {"sh", "-c", script};
  options.out = base::Redirect::Pipe();
  return *base::Spawn(options);
}

// Waits until the script has printed a byte.
void AwaitReady(const base::ChildProcess& child) {
  char byte;
  ASSERT_EQ(read(child.out.get(), &byte, 1), 1);
}

TEST(ProcessTest, IsKnownByPidAndStartTime) {
  const base::ChildProcess child = Start("echo; exec sleep 600");
  AwaitReady(child);
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

TEST(ProcessTest, IsKilled_WhenItIgnoresSigterm) {
  const base::ChildProcess child = Start("trap '' TERM; echo; while :; do sleep 600; done");
  AwaitReady(child);
  const Process process = *FindProcess(child.pid);
  EXPECT_FALSE(Stop(process, SIGTERM, absl::Milliseconds(50)));
  EXPECT_EQ(base::WaitForExit(child.pid)->signal, SIGKILL);
  base::KillGroup(child.pid, SIGKILL).IgnoreError();
}

TEST(ProcessTest, FindsDescendants) {
  const base::ChildProcess child = Start("sh -c 'echo; sleep 600; :' ; :");
  AwaitReady(child);
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
  state.master_config = "/etc/master.yaml";
  state.members = {{"master", *FindProcess(getpid()), "/log"}, {"agent-0", {1, 2}, "/other"}};
  ASSERT_TRUE(WriteClusterFile(path, state).ok());
  const auto read = ReadClusterFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->url, state.url);
  EXPECT_EQ(read->slots, 3);
  EXPECT_EQ(read->master_config, "/etc/master.yaml");
  ASSERT_EQ(read->members.size(), 2u);
  EXPECT_EQ(read->members[0].process, state.members[0].process);
  EXPECT_EQ(read->members[1].name, "agent-0");
  EXPECT_TRUE(read->AnyAlive());
  EXPECT_FALSE(read->AllAlive());
  EXPECT_EQ(read->port(), 1);
  EXPECT_FALSE(read->gpu);
  EXPECT_TRUE(read->members[1].gpus.empty());
  state.gpu = true;
  state.members[1].gpus = {"GPU-a", "GPU-b"};
  ASSERT_TRUE(WriteClusterFile(path, state).ok());
  EXPECT_TRUE(ReadClusterFile(path)->gpu);
  EXPECT_EQ(ReadClusterFile(path)->members[1].gpus, state.members[1].gpus);
  state.members.pop_back();
  state.members.push_back({"agent-0", *FindProcess(getpid()), "/other"});
  EXPECT_FALSE(state.AllAlive()) << "one of two agents is missing";
  ASSERT_TRUE(base::WriteFileAtomically(path, "{").ok());
  const absl::Status damaged = ReadClusterFile(path).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(damaged.message()), HasSubstr(path));
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("remove the file"));
}

// A child process with its own environment, in its own session.
class MarkedProcess {
 public:
  explicit MarkedProcess(const std::string& run_dir,
                         const std::string& script = "echo; exec sleep 600") {
    base::SpawnOptions options;
    options.argv = {"sh", "-c", script};
    options.env = {"PATH=/usr/bin:/bin", "DET_RUN_DIR=" + run_dir};
    options.group = base::ProcessGroup::kOwnSession;
    options.out = base::Redirect::Pipe();
    child_ = *base::Spawn(options);
    AwaitReady(child_);
    process_ = *FindProcess(child_.pid);
  }
  ~MarkedProcess() {
    base::KillGroup(child_.pid, SIGKILL).IgnoreError();
    base::WaitForExit(child_.pid).IgnoreError();
  }
  const Process& process() const { return process_; }

 private:
  base::ChildProcess child_;
  Process process_;
};

TEST(OrphanedProcessesTest, DownStopsOnlyTasksOfItsAgents) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string data = dir.path() + "/data";
  ASSERT_TRUE(base::MakeDirs(data).ok());
  ASSERT_TRUE(base::MakeDirs(dir.path() + "/data2").ok());
  const MarkedProcess gentle(data + "/agents/agent-0/tasks/1.1.0/run");
  const MarkedProcess neighbour(dir.path() + "/data2/agents/agent-0/tasks/1.1.0/run");
  const MarkedProcess other(data + "/elsewhere/run");
  LocalCluster cluster(data);
  const auto running = cluster.Running();
  ASSERT_TRUE(running.ok() && running->has_value()) << "tasks alone are something that runs";
  const std::vector<TaskProcess> left = cluster.FindOrphanedTasks(**running);
  EXPECT_EQ(std::count_if(left.begin(), left.end(),
                          [&](const TaskProcess& task) {
                            return task.process == gentle.process() && task.agent == "agent-0" &&
                                   task.allocation == "1.1.0";
                          }),
            1);
  ASSERT_TRUE(cluster.Down([](const std::string&) {}).ok());
  EXPECT_FALSE(IsAlive(gentle.process()));
  EXPECT_TRUE(IsAlive(neighbour.process()));
  EXPECT_TRUE(IsAlive(other.process()));
  EXPECT_FALSE(cluster.Running()->has_value());
}

TEST(OrphanedProcessesTest, IgnoresPostgresOfAnotherMaster) {
  const base::TempDir dir = *base::TempDir::Create();
  ASSERT_TRUE(base::MakeDirs(dir.path() + "/postgres").ok());
  // The kernel names a process after its script.
  const std::string script = dir.path() + "/resolute-master";
  ASSERT_TRUE(base::WriteFileAtomically(script,
                                        "#!/bin/sh\ncd postgres; sleep 600 & echo $! > "
                                        "postmaster.pid; echo; wait\n",
                                        0755)
                  .ok());
  base::SpawnOptions options;
  options.argv = {script};
  options.cwd = dir.path();
  options.out = base::Redirect::Pipe();
  const base::ChildProcess child = *base::Spawn(options);
  AwaitReady(child);
  const Process master = *FindProcess(child.pid);
  EXPECT_FALSE(FindPostgres(dir.path(), Process()).has_value());
  const std::optional<Process> server = FindPostgres(dir.path(), master);
  ASSERT_TRUE(server.has_value());
  // An orphaned server belongs to no master.
  Signal(master, SIGKILL);
  base::WaitForExit(child.pid).IgnoreError();
  EXPECT_EQ(FindPostgres(dir.path(), Process()), server);
  Signal(*server, SIGKILL);
}

TEST(OrphanedProcessesTest, KillsTask_WhenItIgnoresSigterm) {
  const base::TempDir dir = *base::TempDir::Create();
  const MarkedProcess deaf(dir.path() + "/agents/agent-1/tasks/2.1.0/run",
                           "trap '' TERM; echo; while :; do sleep 600; done");
  StopTasks(dir.path(), absl::Milliseconds(50));
  EXPECT_FALSE(IsAlive(deaf.process()));
  EXPECT_TRUE(FindTasks(dir.path()).empty()) << "what it had started is gone too";
}

TEST(OrphanedProcessesTest, FindsTaskDuringExec) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string script = dir.path() + "/again";
  ASSERT_TRUE(base::WriteFileAtomically(script, "exec sh $0\n", 0755).ok());
  const MarkedProcess task(dir.path() + "/agents/agent-0/tasks/1.1.0/run",
                           "echo; exec sh " + script);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(FindTasks(dir.path()).size(), 1u) << i;
}

TEST(OrphanedProcessesTest, IgnoresTasksOfRunningAgents) {
  const base::TempDir dir = *base::TempDir::Create();
  const MarkedProcess task(dir.path() + "/agents/agent-0/tasks/1.1.0/run");
  ClusterState state;
  state.members = {{"agent-0", *FindProcess(getpid()), ""}};
  LocalCluster cluster(dir.path());
  EXPECT_TRUE(cluster.FindOrphanedTasks(state).empty());
  EXPECT_FALSE(cluster.FindOrphanedTasks(ClusterState()).empty());
}

TEST(LocalClusterTest, UpNamesDifferingOptions) {
  const base::TempDir dir = *base::TempDir::Create();
  const Process self = *FindProcess(getpid());
  ClusterState state;
  state.url = "http://127.0.0.1:4711";
  state.agents = 1;
  state.slots = 2;
  state.members = {{"master", self, "/log"}, {"agent-0", self, "/log"}};
  ASSERT_TRUE(WriteClusterFile(dir.path() + "/cluster.json", state).ok());
  LocalCluster cluster(dir.path());
  const auto up = [&](const ClusterOptions& options) {
    return cluster.Up(options, [](const std::string&) {});
  };
  for (const ClusterOptions& same : {ClusterOptions{}, ClusterOptions{4711, 1, 2}}) {
    const auto result = up(same);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->started.empty());
  }
  const absl::Status refused = up({4712, 1, 3}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("runs with --port 4711 --slots 2, not --port 4712 --slots 3"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("det deploy local down"));
  EXPECT_THAT(std::string(up({.master_config = "/m.yaml"}).status().message()),
              HasSubstr("runs with no --master-config, not --master-config /m.yaml"));
}

TEST(LocalClusterTest, UpComparesPasswords_WhenTheirHashesAreKnown) {
  const base::TempDir dir = *base::TempDir::Create();
  const Process self = *FindProcess(getpid());
  ClusterState state;
  state.url = "http://127.0.0.1:4711";
  state.members = {{"master", self, "/log"}};
  const auto up = [&](const std::string& hash) {
    state.admin_password = hash;
    EXPECT_TRUE(WriteClusterFile(dir.path() + "/cluster.json", state).ok());
    return LocalCluster(dir.path())
        .Up({.admin_password = "Secret123"}, [](const std::string&) {})
        .status();
  };
  EXPECT_THAT(std::string(up("").message()),
              HasSubstr("was not started with this --admin-password"));
  std::array<char, crypto_pwhash_STRBYTES> other = {};
  ASSERT_EQ(crypto_pwhash_str(other.data(), "Other1234", 9, crypto_pwhash_OPSLIMIT_MIN,
                              crypto_pwhash_MEMLIMIT_MIN),
            0);
  EXPECT_EQ(up(other.data()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(up("unknown").ok()) << "hashing had failed";
}

const std::vector<Accelerator>& TwoGpus() {
  static const auto& gpus = *new std::vector<Accelerator>{{"cuda", "GPU-a", "NVIDIA H100"},
                                                          {"cuda", "GPU-b", "NVIDIA H100"}};
  return gpus;
}

// "SLOTS TEXT", or the error.
std::string Choose(const std::vector<Accelerator>& accelerators, const SlotRequest& request) {
  const auto choice = ChooseSlots(accelerators, request);
  return choice.ok() ? absl::StrCat(choice->slots, " ", choice->text)
                     : std::string(choice.status().message());
}

TEST(LocalSlotsTest, UsesAcceleratorsByDefault) {
  EXPECT_EQ(Choose(TwoGpus(), {.cores = 8}), "2 2 GPUs (NVIDIA H100)");
  EXPECT_EQ(Choose({{"tpu", "0000:00:04.0", "Google TPU v5e"}}, {}), "1 1 TPU (Google TPU v5e)");
  EXPECT_EQ(Choose(TwoGpus(), {.agents = 0}), "2 2 GPUs (NVIDIA H100)");
  EXPECT_EQ(Choose(TwoGpus(), {.agents = 2}), "1 2 GPUs (NVIDIA H100)");
  EXPECT_EQ(Choose(TwoGpus(), {.slots = 1}), "1 1 of 2 GPUs (NVIDIA H100)");
  EXPECT_EQ(Choose(TwoGpus(), {.slots = 0}), "0 0 of 2 GPUs (NVIDIA H100)");
  EXPECT_EQ(
      Choose(TwoGpus(), {.slots = 4, .gpu = true}),
      "--slots 4: 1 agent needs 4 GPUs, and this machine has 2 GPUs (NVIDIA H100); use fewer, "
      "or --no-gpu for CPU slots");
  EXPECT_THAT(Choose(TwoGpus(), {.agents = 3}), HasSubstr("--agents 3: 3 agents need 3 GPUs"));
}

TEST(LocalSlotsTest, UsesCpu_WhenRequestedOrWithoutAccelerators) {
  EXPECT_EQ(Choose({}, {.agents = 2, .cores = 4}), "4 no GPU found: 8 CPU slots");
  EXPECT_EQ(Choose({}, {.slots = 1, .cores = 4}), "1 no GPU found: 1 CPU slot");
  EXPECT_EQ(Choose(TwoGpus(), {.gpu = false, .cores = 4}), "4 4 CPU slots");
  EXPECT_THAT(Choose({}, {.gpu = true}), HasSubstr("--gpu: no GPU found on this machine"));
}

TEST(LocalSlotsTest, UsesCpu_WhenMoreSlotsThanGpusAreRequested) {
  EXPECT_EQ(Choose(TwoGpus(), {.slots = 8}), "8 2 GPUs are fewer than --slots 8: 8 CPU slots");
  EXPECT_EQ(Choose({TwoGpus()[0]}, {.slots = 2}), "2 1 GPU is fewer than --slots 2: 2 CPU slots");
  EXPECT_EQ(Choose(TwoGpus(), {.agents = 2, .slots = 2}),
            "2 2 GPUs are fewer than --slots 2 of 2 agents: 4 CPU slots");
}

// "SLOTS TEXT", "kept SLOTS TEXT", or the error.
std::string ChooseAgain(const std::vector<Accelerator>& accelerators, const SlotRequest& request,
                        const ClusterState& last, bool same_agents = true) {
  const auto choice = ChooseSlotsAgain(accelerators, request, last, same_agents);
  return choice.ok() ? absl::StrCat(choice->kept ? "kept " : "", choice->slots, " ", choice->text)
                     : std::string(choice.status().message());
}

// A cluster with --slots 2, of which agent-0 has both GPUs and agent-1 has CPU slots.
ClusterState MixedCluster() {
  ClusterState state;
  state.agents = 2;
  state.slots = 2;
  state.gpu = true;
  state.members = {
      {"master", {}, ""}, {"agent-0", {}, "", {"GPU-a", "GPU-b"}}, {"agent-1", {}, ""}};
  return state;
}

TEST(LocalSlotsTest, AgentsKeepTheirSlots_WhenTheSameClusterStartsAgain) {
  const std::string kept = "kept 2 2 GPUs (NVIDIA H100), 2 CPU slots";
  EXPECT_EQ(ChooseAgain(TwoGpus(), {.agents = 2}, MixedCluster()), kept);
  EXPECT_EQ(ChooseAgain(TwoGpus(), {.agents = 2, .slots = 2, .gpu = true}, MixedCluster()), kept);
  // `agent-up --gpu` in a cluster with CPU slots.
  ClusterState cpu = MixedCluster();
  cpu.gpu = false;
  EXPECT_TRUE(NeedsAccelerators(std::nullopt, cpu));
  EXPECT_EQ(ChooseAgain(TwoGpus(), {.agents = 2}, cpu), kept);
  // `master-up --slots 1`, then `agent-up`.
  ClusterState master;
  master.slots = 1;
  master.gpu = true;
  EXPECT_EQ(ChooseAgain(TwoGpus(), {}, master), "kept 1 1 of 2 GPUs (NVIDIA H100)");
}

TEST(LocalSlotsTest, SharesGpusAgain_WhenAgentsOrGpusDiffer) {
  const ClusterState last = MixedCluster();
  EXPECT_EQ(ChooseAgain(TwoGpus(), {.agents = 2}, last, false), "1 2 GPUs (NVIDIA H100)");
  EXPECT_EQ(ChooseAgain({TwoGpus()[0]}, {.agents = 1}, last), "1 1 GPU (NVIDIA H100)");
  EXPECT_EQ(ChooseAgain(TwoGpus(), {.slots = 1}, last), "1 1 of 2 GPUs (NVIDIA H100)");
}

TEST(LocalSlotsTest, KeepsCpuSlots_WhenAgentsDiffer) {
  ClusterState last;
  last.slots = 3;
  EXPECT_FALSE(NeedsAccelerators(std::nullopt, last));
  EXPECT_TRUE(NeedsAccelerators(true, last));
  EXPECT_EQ(ChooseAgain({}, {.agents = 2}, last, false), "3 6 CPU slots");
  EXPECT_EQ(ChooseAgain(TwoGpus(), {.gpu = true}, last), "2 2 GPUs (NVIDIA H100)");
}

TEST(LocalSlotsTest, RefusesToStartAgain_WhenGpusAreNotFound) {
  const ClusterState last = MixedCluster();
  EXPECT_EQ(ChooseAgain({}, {.agents = 2}, last),
            "the cluster used GPUs and none is found now; start it with --no-gpu for CPU slots");
  EXPECT_EQ(ChooseAgain({}, {.agents = 2, .gpu = false, .cores = 4}, last), "4 8 CPU slots");
  EXPECT_EQ(ChooseAgain({}, {.cores = 4}, ClusterState()), "4 no GPU found: 4 CPU slots");
}

TEST(LocalSlotsTest, AssignsEachGpuOnce) {
  std::vector<ClusterMember> members = {{"master", {}, ""}, {"agent-0", {1, 2}, "", {"GPU-a"}}};
  EXPECT_EQ(*AssignGpus(TwoGpus(), members, "agent-1", 1), std::vector<std::string>{"GPU-b"});
  EXPECT_THAT(std::string(AssignGpus(TwoGpus(), members, "agent-1", 2).status().message()),
              HasSubstr("agent-1 needs 2 GPUs, and 1 of 2 are free; use --no-gpu"));
}

TEST(LocalSlotsTest, ReadsListOfDevices) {
  const std::vector<Accelerator> read = ParseAccelerators(
      "0\tcuda\tGPU-a\tNVIDIA H100\n101\tcuda\tMIG-b\tNVIDIA H100 MIG 1g\nwarning\n");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].uuid, "MIG-b");
  EXPECT_EQ(read[1].name, "NVIDIA H100 MIG 1g");
  EXPECT_TRUE(ParseAccelerators("0\tcpu\tcpu\tXeon\n").empty());
}

TEST(LocalClusterTest, UpWaitsForAnotherDeployCommand) {
  const base::TempDir dir = *base::TempDir::Create();
  ClusterState state;
  state.url = "http://127.0.0.1:4711";
  state.members = {{"master", *FindProcess(getpid()), "/log"}};
  ASSERT_TRUE(WriteClusterFile(dir.path() + "/cluster.json", state).ok());
  base::Fd other(open((dir.path() + "/deploy.lock").c_str(), O_CREAT | O_RDWR, 0600));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  std::vector<std::string> steps;
  const auto up = LocalCluster(dir.path()).Up({}, [&](const std::string& step) {
    steps.push_back(step);
    other.Close();
  });
  ASSERT_TRUE(up.ok()) << up.status();
  EXPECT_TRUE(up->started.empty());
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_THAT(steps[0], HasSubstr("waiting for another `det deploy local`"));
}

TEST(LocalClusterTest, IsNotRunning_WhenNothingWasStarted) {
  const base::TempDir dir = *base::TempDir::Create();
  LocalCluster cluster(dir.path() + "/new/");
  EXPECT_EQ(cluster.data_dir(), dir.path() + "/new");
  EXPECT_FALSE(cluster.Running()->has_value());
  EXPECT_TRUE(cluster.Down([](const std::string&) {}).ok());
}

}  // namespace
}  // namespace det::cli
