#include "base/subprocess.h"

#include <fcntl.h>
#include <signal.h>

#include <thread>

#include "base/file.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::base {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string ReadAll(const Fd& fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(fd.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

SpawnOptions Shell(const std::string& script) {
  return {.argv = {"sh", "-c", script}, .out = Redirect::Pipe(), .err = Redirect::Pipe()};
}

TEST(SubprocessTest, ReturnsOutputAndExitStatus) {
  auto child = Spawn(Shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(ReadAll(child->out), "out\n");
  EXPECT_EQ(ReadAll(child->err), "err\n");
  EXPECT_EQ(*WaitForExit(child->pid), (ProcessExit{.code = 3}));
}

TEST(SubprocessTest, PassesArgumentsEnvironmentAndDirectoryUnchanged) {
  auto options = Shell("echo \"$1|$NAME|$HOME|$(pwd)\"");
  options.argv.insert(options.argv.end(), {"sh", "a  *\"b"});
  options.env = {"NAME=x y"};
  options.cwd = "/";
  auto child = Spawn(options);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(ReadAll(child->out), "a  *\"b|x y||/\n");
  EXPECT_TRUE(WaitForExit(child->pid)->ok());
}

TEST(SubprocessTest, MountsAreVisibleOnlyToTheChild) {
  const TempDir dir = *TempDir::Create();
  const std::string from = dir.path() + "/from";
  const std::string to = dir.path() + "/to";
  ASSERT_TRUE(MakeDirs(from).ok() && MakeDirs(to).ok());
  ASSERT_TRUE(WriteFileAtomically(from + "/word", "here").ok());
  auto options = Shell("cat word");
  options.cwd = to;
  options.mounts = {{from, to}};
  auto child = Spawn(options);
  if (!child.ok()) {
    EXPECT_THAT(std::string(child.status().message()), HasSubstr("private mounts of sh"));
    GTEST_SKIP() << child.status();
  }
  EXPECT_EQ(ReadAll(child->out), "here");
  EXPECT_TRUE(WaitForExit(child->pid)->ok());
  EXPECT_FALSE(ReadFile(to + "/word").ok());
}

TEST(SubprocessTest, ReturnsReason_WhenProgramCannotRun) {
  const auto missing = Spawn({.argv = {"/no/such/program"}});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("cannot execute /no/such/program: No such file"));
  EXPECT_EQ(Spawn({.argv = {"no-such-program"}}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Spawn({.argv = {"/etc/passwd"}}).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Spawn({}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto folder = Spawn({.argv = {"true"}, .cwd = "/no/folder"});
  EXPECT_THAT(std::string(folder.status().message()),
              AllOf(HasSubstr("working directory"), HasSubstr("/no/folder")));
}

TEST(SubprocessTest, DoesNotPassOnDescriptors) {
  // Opened without close-on-exec, as a library might do.
  const Fd leak(::open("/dev/null", O_RDONLY));
  auto child = Spawn(Shell("ls /proc/self/fd | tr '\\n' ' '"));
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(ReadAll(child->out), "0 1 2 3 ");  // 3 is the directory that ls reads.
  EXPECT_TRUE(WaitForExit(child->pid)->ok());
}

TEST(SubprocessTest, AppendsToFiles) {
  const auto dir = TempDir::Create();
  const std::string path = dir->path() + "/log";
  for (const char* word : {"one", "two"}) {
    auto child = Spawn({.argv = {"echo", word}, .out = Redirect::File(path)});
    ASSERT_TRUE(child.ok());
    EXPECT_TRUE(WaitForExit(child->pid)->ok());
  }
  EXPECT_EQ(*ReadFile(path), "one\ntwo\n");
}

TEST(SubprocessTest, KillsTheWholeGroup) {
  for (const ProcessGroup group : {ProcessGroup::kOwnGroup, ProcessGroup::kOwnSession}) {
    auto options = Shell("sleep 100 & echo started; wait");
    options.group = group;
    auto child = Spawn(options);
    ASSERT_TRUE(child.ok());
    char line[8];
    ASSERT_EQ(::read(child->out.get(), line, sizeof(line)), 8);
    EXPECT_EQ(*PollExit(child->pid), std::nullopt);
    EXPECT_TRUE(KillGroup(child->pid, SIGKILL).ok());
    EXPECT_EQ(*WaitForExit(child->pid), (ProcessExit{.signal = SIGKILL}));
    // The end of the stream shows that the grandchild has ended too.
    EXPECT_EQ(ReadAll(child->out), "");
    EXPECT_TRUE(KillGroup(child->pid, SIGKILL).ok());
  }
  EXPECT_EQ(KillGroup(0, SIGKILL).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(KillGroup(1, SIGKILL).code(), absl::StatusCode::kInvalidArgument);
}

TEST(SubprocessTest, DiesWithThreadThatStartedIt) {
  pid_t pid = -1;
  std::thread([&] {
    auto child = Spawn({.argv = {"sleep", "100"}, .parent_death_signal = SIGKILL});
    ASSERT_TRUE(child.ok());
    pid = child->pid;
  }).join();
  EXPECT_EQ(*WaitForExit(pid), (ProcessExit{.signal = SIGKILL}));
}

TEST(SubprocessTest, SwitchesToAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  auto options = Shell("id -u; id -g; id -G");
  options.uid = 65534;
  options.gid = 65534;
  auto child = Spawn(options);
  // In a user namespace with only one user, the other user does not exist.
  if (!child.ok()) GTEST_SKIP() << child.status();
  EXPECT_EQ(ReadAll(child->out), "65534\n65534\n65534\n");
  EXPECT_TRUE(WaitForExit(child->pid)->ok());
}

}  // namespace
}  // namespace det::base
