#include "base/machine_id.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

namespace det::base {
namespace {

// Returns whether a child process sees the same ID as this one; -1: it cannot be prepared.
template <class Prepare>
int IsSameInChild(Prepare prepare) {
  const std::string here = GetMachineId();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(!prepare() ? 2 : GetMachineId() == here ? 1 : 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WEXITSTATUS(status) == 2 ? -1 : WEXITSTATUS(status);
}

TEST(MachineIdTest, IsTheSameInAllProcesses) {
  EXPECT_NE(GetMachineId(), "");
  EXPECT_EQ(IsSameInChild([] { return true; }), 1);
}

TEST(MachineIdTest, DiffersInAnotherNetworkNamespace) {
  const int same = IsSameInChild([] { return ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; });
  if (same == -1) GTEST_SKIP() << "this system allows no network namespaces";
  EXPECT_EQ(same, 0);
}

}  // namespace
}  // namespace det::base
