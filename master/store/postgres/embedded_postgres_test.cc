#include "master/store/postgres/embedded_postgres.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/subprocess.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

namespace det::store {
namespace {

using ::testing::HasSubstr;

const std::string kCrashIn = "DET_TEST_CRASH_IN";

base::TempDir MakeTempDir() {
  absl::StatusOr<base::TempDir> dir = base::TempDir::Create("pg");
  EXPECT_TRUE(dir.ok()) << dir.status();
  // A server that root starts runs as another user, who needs access to the directory.
  EXPECT_EQ(::chmod(dir->path().c_str(), 0755), 0);
  return *std::move(dir);
}

std::unique_ptr<EmbeddedPostgres> Start(const std::string& data_dir) {
  auto server = EmbeddedPostgres::Start({.data_dir = data_dir, .fsync = false});
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

// Returns the first value of the result, or the error.
std::string Query(const EmbeddedPostgres& server, const char* sql) {
  PGconn* connection = PQconnectdb(server.connection_string().c_str());
  PGresult* result = PQexec(connection, sql);
  std::string answer = PQresultStatus(result) == PGRES_TUPLES_OK ? PQgetvalue(result, 0, 0)
                                                                 : PQerrorMessage(connection);
  PQclear(result);
  PQfinish(connection);
  return answer;
}

TEST(EmbeddedPostgresTest, KeepsDataAfterStop) {
  const base::TempDir dir = MakeTempDir();
  auto server = Start(dir.path());
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Query(*server, "CREATE TABLE kept AS SELECT 7 AS x; SELECT x FROM kept"), "7");
  const int pid = server->pid();
  server->Stop();
  EXPECT_NE(::kill(pid, 0), 0);

  server = Start(dir.path());
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Query(*server, "SELECT x FROM kept"), "7");
}

TEST(EmbeddedPostgresTest, ListensOnNoNetwork) {
  const base::TempDir dir = MakeTempDir();
  const auto server = Start(dir.path());
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Query(*server, "SHOW listen_addresses"), "");
  struct stat socket_dir = {};
  ASSERT_EQ(::stat((dir.path() + "/run").c_str(), &socket_dir), 0);
  EXPECT_EQ(socket_dir.st_mode & 0777, 0700u);
}

TEST(EmbeddedPostgresTest, RestartsAfterDeath) {
  const base::TempDir dir = MakeTempDir();
  const auto server = Start(dir.path());
  ASSERT_NE(server, nullptr);
  const int first = server->pid();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  while (server->pid() == first || server->pid() == 0 ||
         PQping(server->connection_string().c_str()) != PQPING_OK) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Query(*server, "SELECT 1"), "1");
}

// Runs this program as a master that starts a server on `data_dir` and crashes.
void CrashIn(const std::string& data_dir) {
  base::SpawnOptions options;
  options.argv = {"/proc/self/exe"};
  options.env = {kCrashIn + ("=" + data_dir), "PATH=/usr/bin:/bin"};
  const absl::StatusOr<base::ChildProcess> child = base::Spawn(options);
  ASSERT_TRUE(child.ok()) << child.status();
  const absl::StatusOr<base::ProcessExit> exit = base::WaitForExit(child->pid);
  ASSERT_TRUE(exit.ok() && exit->ok()) << exit.status();
}

// Returns the PID of a server that a crashed master left running on `data_dir`.
int Orphan(const std::string& data_dir) {
  CrashIn(data_dir);
  const absl::StatusOr<std::string> left = base::ReadFile(data_dir + "/postgres/postmaster.pid");
  EXPECT_TRUE(left.ok()) << left.status();
  const int orphan = left.ok() ? std::stoi(*left) : 0;
  EXPECT_EQ(::kill(orphan, 0), 0);
  return orphan;
}

TEST(EmbeddedPostgresTest, ReusesLeftoverServer) {
  const base::TempDir dir = MakeTempDir();
  const int orphan = Orphan(dir.path());
  const auto server = Start(dir.path());
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(server->pid(), orphan);
  EXPECT_EQ(Query(*server, "SELECT 1"), "1");
  server->Stop();
  EXPECT_NE(PQping(server->connection_string().c_str()), PQPING_OK);
  // A server that was shut down cleanly leaves no such file.
  EXPECT_FALSE(base::ReadFile(dir.path() + "/postgres/postmaster.pid").ok());
}

TEST(EmbeddedPostgresTest, RestartsReusedServerAfterDeath) {
  const base::TempDir dir = MakeTempDir();
  const int orphan = Orphan(dir.path());
  const auto server = Start(dir.path());
  ASSERT_NE(server, nullptr);
  ASSERT_EQ(server->pid(), orphan);
  ASSERT_EQ(::kill(orphan, SIGKILL), 0);
  while (server->pid() == orphan || server->pid() == 0 ||
         PQping(server->connection_string().c_str()) != PQPING_OK) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Query(*server, "SELECT 1"), "1");
}

TEST(EmbeddedPostgresTest, StopsLeftoverServerWithOtherSettings) {
  const base::TempDir dir = MakeTempDir();
  const int orphan = Orphan(dir.path());
  const auto server = EmbeddedPostgres::Start({.data_dir = dir.path(), .fsync = true});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE((*server)->pid(), orphan);
  EXPECT_EQ(Query(**server, "SHOW fsync"), "on");
}

TEST(EmbeddedPostgresTest, StopsHangingLeftoverServer) {
  const base::TempDir dir = MakeTempDir();
  const int orphan = Orphan(dir.path());
  // The server ends as soon as its clients have disconnected, and accepts no new ones until then.
  PGconn* client = PQconnectdb(EmbeddedPostgres::ConnectionString(dir.path()).c_str());
  ASSERT_EQ(PQstatus(client), CONNECTION_OK);
  ASSERT_EQ(::kill(orphan, SIGTERM), 0);
  while (PQping(EmbeddedPostgres::ConnectionString(dir.path()).c_str()) == PQPING_OK) {
    std::this_thread::yield();
  }
  const auto server = Start(dir.path());
  PQfinish(client);
  ASSERT_NE(server, nullptr);
  EXPECT_NE(server->pid(), orphan);
  EXPECT_EQ(Query(*server, "SELECT 1"), "1");
}

TEST(EmbeddedPostgresTest, StartsAfterKill_WhenItsPidStillExists) {
  const base::TempDir dir = MakeTempDir();
  Start(dir.path())->Stop();
  const std::string cluster = dir.path() + "/postgres";
  struct stat owner = {};
  ASSERT_EQ(::stat(cluster.c_str(), &owner), 0);
  // A process of the same user that has ended and that nobody has waited for.
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(::setuid(owner.st_uid));
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
  for (const std::string& lock :
       {cluster + "/postmaster.pid", dir.path() + "/run/.s.PGSQL.5432.lock"}) {
    ASSERT_TRUE(base::WriteFileAtomically(lock, std::to_string(ended) + "\n", 0600).ok());
    ASSERT_EQ(::chown(lock.c_str(), owner.st_uid, owner.st_gid), 0);
  }
  const auto server = Start(dir.path());
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Query(*server, "SELECT 1"), "1");
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
}

// Whether this thread may look at processes of other users and at those that hide themselves.
void SetMayTrace(bool allowed) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  ASSERT_EQ(::syscall(SYS_capget, &header, data), 0);
  const uint32_t trace = 1u << CAP_SYS_PTRACE;
  data[0].effective &= ~trace;
  if (allowed) data[0].effective |= data[0].permitted & trace;
  ASSERT_EQ(::syscall(SYS_capset, &header, data), 0);
}

TEST(EmbeddedPostgresTest, KeepsLocks_WhenTheirProcessCannotBeExamined) {
  const base::TempDir dir = MakeTempDir();
  Start(dir.path())->Stop();
  const std::string cluster = dir.path() + "/postgres";
  struct stat owner = {};
  ASSERT_EQ(::stat(cluster.c_str(), &owner), 0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t live = ::fork();
  if (live == 0) {
    const bool good = ::setgid(owner.st_gid) == 0 && ::setuid(owner.st_uid) == 0 &&
                      ::chdir(cluster.c_str()) == 0 && ::prctl(PR_SET_DUMPABLE, 0) == 0;
    if (!good || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  ::close(ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1) << "the process has not started";
  ::close(ready[0]);
  const std::string locks[] = {cluster + "/postmaster.pid", dir.path() + "/run/.s.PGSQL.5432.lock"};
  for (const std::string& lock : locks) {
    ASSERT_TRUE(base::WriteFileAtomically(lock, std::to_string(live) + "\n", 0600).ok());
    ASSERT_EQ(::chown(lock.c_str(), owner.st_uid, owner.st_gid), 0);
  }

  SetMayTrace(false);
  const auto refused = EmbeddedPostgres::Start({.data_dir = dir.path(), .fsync = false});
  SetMayTrace(true);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("postmaster.pid"));
  for (const std::string& lock : locks) EXPECT_TRUE(base::ReadFile(lock).ok()) << lock;

  ASSERT_EQ(::kill(live, SIGKILL), 0);
  ASSERT_EQ(::waitpid(live, nullptr, 0), live);
  const auto server = Start(dir.path());
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Query(*server, "SELECT 1"), "1");
}

TEST(EmbeddedPostgresTest, StartsAfterKill_WhenAnotherProgramHasItsPid) {
  const base::TempDir dir = MakeTempDir();
  Start(dir.path())->Stop();
  // This test works in another folder. PostgreSQL disregards its parent's PID, but not the others'.
  const std::string lock = dir.path() + "/postgres/postmaster.pid";
  struct stat owner = {};
  ASSERT_EQ(::stat((dir.path() + "/postgres").c_str(), &owner), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    while (true) ::pause();
  }
  ASSERT_TRUE(base::WriteFileAtomically(lock, std::to_string(other) + "\n", 0600).ok());
  ASSERT_EQ(::chown(lock.c_str(), owner.st_uid, owner.st_gid), 0);
  EXPECT_NE(Start(dir.path()), nullptr);
  EXPECT_EQ(::kill(other, SIGKILL), 0);
  ASSERT_EQ(::waitpid(other, nullptr, 0), other);
}

TEST(EmbeddedPostgresTest, UsesShortSocketPath_WhenPathIsLong) {
  const base::TempDir dir = MakeTempDir();
  const std::string deep = dir.path() + "/" + std::string(120, 'x');
  const auto server = Start(deep);
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(Query(*server, "SELECT 1"), "1");
  EXPECT_THAT(server->connection_string(), HasSubstr("host=/tmp/resolute-"));
}

TEST(EmbeddedPostgresTest, ReportsStartFailure) {
  const base::TempDir dir = MakeTempDir();
  ASSERT_NE(Start(dir.path()), nullptr);
  ASSERT_TRUE(
      base::WriteFileAtomically(dir.path() + "/postgres/postgresql.conf", "no_such_setting = 1\n")
          .ok());
  const auto server = EmbeddedPostgres::Start({.data_dir = dir.path(), .fsync = false});
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("no_such_setting"));
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("postgres.log"));
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("start the master again"));
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("/postgres/postgresql.conf"));
}

TEST(EmbeddedPostgresTest, ReportsUncreatableDirectory) {
  const base::TempDir dir = MakeTempDir();
  ASSERT_TRUE(base::WriteFileAtomically(dir.path() + "/file", "").ok());
  const auto server = EmbeddedPostgres::Start({.data_dir = dir.path() + "/file/data"});
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("choose a data directory"));
}

}  // namespace
}  // namespace det::store

int main(int argc, char** argv) {
  if (const char* data_dir = ::getenv(det::store::kCrashIn.c_str())) {
    const auto server = det::store::Start(data_dir);
    ::_exit(server == nullptr ? 1 : 0);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
