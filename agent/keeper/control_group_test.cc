#include "agent/keeper/control_group.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/keeper/process_table.h"
#include "base/file.h"
#include "base/subprocess.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

// Uses directories instead of the kernel's control groups.
class ControlGroupTest : public testing::Test {
 protected:
  ControlGroupTest() {
    Put("proc/cgroup", "1:name=systemd:/elsewhere\n0::/system.slice/agent.service\n");
    Put("fs/system.slice/agent.service/cgroup.controllers", "cpuset cpu io memory pids\n");
  }
  void Put(const std::string& path, const std::string& text) {
    const std::string full = dir_.path() + "/" + path;
    ASSERT_TRUE(base::MakeDirs(full.substr(0, full.rfind('/'))).ok());
    ASSERT_TRUE(base::WriteFileAtomically(full, text).ok());
  }
  std::string Get(const std::string& path) {
    return base::ReadFile(dir_.path() + "/" + path).value_or("none");
  }
  absl::StatusOr<std::string> Take() {
    return TakeDelegatedGroup(dir_.path() + "/fs", dir_.path() + "/proc");
  }
  const base::TempDir dir_ = *base::TempDir::Create();
};

constexpr char kService[] = "fs/system.slice/agent.service";

TEST_F(ControlGroupTest, MovesAgentToItsOwnGroup) {
  const absl::StatusOr<std::string> group = Take();
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ(*group, absl::StrCat(dir_.path(), "/", kService));
  EXPECT_EQ(Get(absl::StrCat(kService, "/agent/cgroup.procs")), absl::StrCat(::getpid()));
  EXPECT_EQ(Get(absl::StrCat(kService, "/cgroup.subtree_control")), "+cpu +memory");
  EXPECT_EQ(GetAgentGroup(*group + "/7-1.1.0"), *group + "/agent");
}

TEST_F(ControlGroupTest, UsesParentGroup_WhenStartedInsideAgentGroup) {
  Put("proc/cgroup", "0::/system.slice/agent.service/agent\n");
  const absl::StatusOr<std::string> group = Take();
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ(*group, absl::StrCat(dir_.path(), "/", kService));
}

TEST_F(ControlGroupTest, ReturnsError_WhenControllersAreMissing) {
  Put(absl::StrCat(kService, "/cgroup.controllers"), "cpu io\n");
  const absl::Status status = Take().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("does not contain \"memory\""), std::string::npos) << status;
  EXPECT_EQ(Get(absl::StrCat(kService, "/agent/cgroup.procs")), "none");
  Put("proc/cgroup", "4:memory:/\n1:name=systemd:/\n");
  EXPECT_TRUE(absl::IsNotFound(Take().status()));
}

TEST_F(ControlGroupTest, RestoresAgentGroup_WhenControllersCannotBeEnabled) {
  ASSERT_TRUE(
      base::MakeDirs(absl::StrCat(dir_.path(), "/", kService, "/cgroup.subtree_control")).ok());
  const absl::Status status = Take().status();
  EXPECT_NE(status.message().find("cannot write \"+cpu +memory\""), std::string::npos) << status;
  EXPECT_EQ(Get(absl::StrCat(kService, "/cgroup.procs")), absl::StrCat(::getpid()));
}

TEST_F(ControlGroupTest, WritesLimits) {
  const std::string group = dir_.path() + "/task";
  ASSERT_TRUE(CreateGroup(group, {.cpus = 1.5, .memory = int64_t{2} << 30}).ok());
  EXPECT_EQ(Get("task/cpu.max"), "150000 100000");
  EXPECT_EQ(Get("task/memory.max"), "2147483648");
  EXPECT_EQ(Get("task/memory.oom.group"), "1");
  ASSERT_TRUE(CreateGroup(dir_.path() + "/free", {}).ok());
  EXPECT_EQ(Get("free/cpu.max"), "none");
  EXPECT_EQ(Get("free/memory.max"), "none");
  EXPECT_TRUE(absl::IsNotFound(CreateGroup(dir_.path() + "/no/such/place", {})));
}

TEST_F(ControlGroupTest, DetectsOutOfMemoryInEvents) {
  const std::string group = dir_.path() + "/task";
  EXPECT_FALSE(RanOutOfMemory(group));
  Put("task/memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n");
  EXPECT_FALSE(RanOutOfMemory(group));
  Put("task/memory.events", "max 12\noom 1\noom_kill 3\noom_group_kill 1\n");
  EXPECT_TRUE(RanOutOfMemory(group));
}

TEST_F(ControlGroupTest, ListsMembersOfNestedGroups) {
  Put("task/cgroup.procs", "12\n0\n");
  Put("task/inner/cgroup.procs", "7\n");
  EXPECT_EQ(GetGroupMembers(dir_.path() + "/task"), (std::vector<pid_t>{7, 12}));
  EXPECT_TRUE(GetGroupMembers(dir_.path() + "/none").empty());
}

// Uses the kernel's control groups. A process that leaves its session and its environment remains
// in its group.
TEST(RealGroupsTest, KillsAllMembers) {
  std::string mount;
  for (const char* place : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (::access(absl::StrCat(place, "/cgroup.procs").c_str(), W_OK) == 0) mount = place;
  }
  const std::string above = absl::StrCat(mount, "/resolute-test-", ::getpid());
  if (mount.empty() || ::mkdir(above.c_str(), 0755) != 0) {
    GTEST_SKIP() << "cannot create a cgroup v2 group here";
  }
  const std::string group = above + "/task";
  ASSERT_TRUE(CreateGroup(group, {}).ok());
  ASSERT_TRUE(CreateGroup(GetAgentGroup(group), {}).ok());
  const std::string script = absl::StrCat("echo $$ > ", group,
                                          "/cgroup.procs; exec env -i setsid sh -c "
                                          "'sleep 1000 & echo in; sleep 1000'");
  auto child = base::Spawn({.argv = {"sh", "-c", script}, .out = base::Redirect::Pipe()});
  ASSERT_TRUE(child.ok()) << child.status();
  char text[3] = {};
  ASSERT_EQ(::read(child->out.get(), text, sizeof(text)), 3);
  EXPECT_GE(GetGroupMembers(group).size(), 2u);
  EXPECT_GE(FindProcesses({.group = group}).size(), 2u);
  // Zombies are left to their parents.
  EXPECT_TRUE(KillProcesses({.group = group}, absl::Seconds(30)).ok());
  const auto exit = base::WaitForExit(child->pid);
  EXPECT_TRUE(exit.ok()) << exit.status();
  EXPECT_TRUE(FindProcesses({.group = group}).empty());
  RemoveGroup(above);
  EXPECT_NE(::access(group.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace det::agent
