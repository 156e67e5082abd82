// det shell, det tunnel and --publish: requests, output and the command of ssh.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "cli/ssh.h"
#include "cli/testing/fake_server.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr char kId[] = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
constexpr char kReady[] =
    R"({"task":{"allocations":[{"allocationId":"a.1","state":"STATE_RUNNING","isReady":true}]}})";

std::string Shell() {
  return absl::StrCat(
      R"({"shell":{"id":")", kId,
      R"(","description":"quiet-lake","privateKey":"PRIVATE\n","publicKey":"ssh-ed25519 AAAA x\n",)",
      R"("agentUserGroup":{"user":"ada"}}})");
}

unsigned GetMode(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

class ShellCommandsTest : public ::testing::Test {
 protected:
  ShellCommandsTest() {
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    for (const char* name : {"DET_MASTER_CERT_FILE", "DET_MASTER_CERT_NAME"}) unsetenv(name);
  }
  ~ShellCommandsTest() override { setenv("PATH", path_.c_str(), 1); }

  // Puts a program "ssh" that runs `script` before all others.
  void UseSsh(const std::string& script) {
    ASSERT_TRUE(base::WriteFile(folder_.path() + "/ssh", "#!/bin/sh\n" + script, 0755).ok());
    setenv("PATH", absl::StrCat(folder_.path(), ":", path_).c_str(), 1);
  }

  const base::TempDir folder_ = *base::TempDir::Create();
  const std::string path_ = getenv("PATH");
  const std::string keys_ = absl::StrCat(folder_.path(), "/determined/shell/", kId);
  CleanEnvironment environment_;
};

TEST_F(ShellCommandsTest, PrintsSshCommandWithStoredKey) {
  const DetResult result = RunDet(absl::StrCat("shell show_ssh_command ", kId), {kReady, Shell()});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.out, MatchesRegex(absl::StrCat(
                              "ssh -o 'ProxyCommand=.* tunnel http://127.0.0.1:[0-9]+ %h' "
                              "-o UserKnownHostsFile=",
                              keys_, "/known_hosts .*ada@", kId, "\n")));
  EXPECT_THAT(result.out, HasSubstr("StrictHostKeyChecking=yes"));
  EXPECT_EQ(*base::ReadFile(keys_ + "/key"), "PRIVATE\n");
  EXPECT_EQ(GetMode(keys_ + "/key"), 0600u);
  EXPECT_EQ(GetMode(keys_), 0700u);
  EXPECT_EQ(*base::ReadFile(keys_ + "/known_hosts"), absl::StrCat(kId, " ssh-ed25519 AAAA\n"));
}

TEST_F(ShellCommandsTest, PrintsEntriesOfSshConfigThatSshReads) {
  const std::string shells =
      absl::StrCat(R"({"shells":[{"id":")", kId, R"(","state":"STATE_RUNNING"},)",
                   R"({"id":"other","state":"STATE_TERMINATED"}]})");
  const DetResult result = RunDet("shell ssh-config", {R"({"user":{"id":3}})", shells, Shell()});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.out, StartsWith(absl::StrCat("# quiet-lake\nHost det-6f9619ff ", kId, "\n")));
  const std::string config = folder_.path() + "/config";
  ASSERT_TRUE(base::WriteFile(config, result.out).ok());
  testing::internal::CaptureStdout();
  const auto code = RunForeground({"ssh", "-G", "-F", config, "det-6f9619ff"});
  const std::string read = testing::internal::GetCapturedStdout();
  ASSERT_EQ(*code, 0);
  for (const std::string& line :
       {absl::StrCat("hostname ", kId, "\n"), std::string("user ada\n"),
        absl::StrCat("identityfile ", keys_, "/key\n"), std::string("identitiesonly yes\n"),
        absl::StrCat("userknownhostsfile ", keys_, "/known_hosts\n")}) {
    EXPECT_THAT(read, HasSubstr(line));
  }
}

TEST_F(ShellCommandsTest, ConnectsWithTemporaryKey) {
  // Reports its last words, and the key while it is there.
  UseSsh(R"(
for word; do case "$word" in IdentityFile=*) key=${word#*=} ;; esac; done
echo "$key"; stat -c %a "$key"
while [ $# -gt 4 ]; do shift; done
echo "$@"
exit 7
)");
  const DetResult result =
      RunDet(absl::StrCat("shell open ", kId, " -L 1:h:2 ls --json"), {kReady, Shell()});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_EQ(*result.code, 7);
  const std::string key = result.out.substr(0, result.out.find('\n'));
  EXPECT_EQ(result.out, absl::StrCat(key, "\n600\n-L 1:h:2 ls --json\n"));
  EXPECT_FALSE(std::filesystem::exists(key)) << "the key remains";
  EXPECT_FALSE(std::filesystem::exists(keys_));
}

TEST_F(ShellCommandsTest, SaysHowToInstallSsh_WhenItIsMissing) {
  setenv("PATH", "/nowhere", 1);
  const DetResult result = RunDet(absl::StrCat("shell open ", kId), {kReady, Shell()});
  EXPECT_TRUE(absl::IsNotFound(result.code.status())) << result.code.status();
  EXPECT_THAT(std::string(result.code.status().message()),
              HasSubstr("cannot find ssh; install a client of OpenSSH"));
}

TEST_F(ShellCommandsTest, PassesCertificateToTunnel) {
  setenv("DET_MASTER_CERT_FILE", "/etc/it's ca.crt", 1);
  const DetResult result = RunDet(absl::StrCat("shell ssh-config ", kId), {Shell()});
  unsetenv("DET_MASTER_CERT_FILE");
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.out, HasSubstr("tunnel --cert-file '/etc/it'\\''s ca.crt' http://"));
}

TEST_F(ShellCommandsTest, ReportsRefusedTunnelInOneSentence) {
  FakeServer none({Answer("404 Not Found", R"({"message":"no task x"})")});
  const DetResult result = RunDet(absl::StrCat("tunnel ", none.url(), " x"), {});
  EXPECT_EQ(result.code.status(), absl::NotFoundError("no task x"));
  FakeServer refusing({Answer("401 Unauthorized", R"({"message":"not signed in"})")});
  EXPECT_EQ(RunDet(absl::StrCat("tunnel ", refusing.url(), " x"), {}).code.status().message(),
            "the service x is only for users; send your token with --auth");
  EXPECT_THAT(std::string(RunDet("tunnel http://h a/b", {}).code.status().message()),
              HasSubstr("expected the ID of a task, or TASK:PORT, found \"a/b\""));
}

TEST_F(ShellCommandsTest, SendsTokenToPortOfTask) {
  setenv("DET_USER_TOKEN", "t", 1);
  const DetResult result = RunDet(
      "task tunnel 1.a:6000",
      {R"({"user":{"id":3}})", Answer("502 Bad Gateway", R"({"message":"port 6000 is closed"})")});
  EXPECT_EQ(result.code.status(), absl::UnavailableError("port 6000 is closed"));
  EXPECT_THAT(result.requests, ElementsAre("GET /api/v1/me", "GET /proxy/1.a:6000/"));
}

TEST_F(ShellCommandsTest, ChecksPublishedPorts) {
  const std::string config = folder_.path() + "/config.yaml";
  std::ofstream(config) << "name: x\n";
  const std::string create = absl::StrCat("experiment create ", config);
  EXPECT_THAT(std::string(RunDet(create + " -p 80", {}).code.status().message()),
              HasSubstr("--publish needs --follow"));
  for (const char* wrong : {"x", "0", "80:", "1:2:3", "70000"}) {
    EXPECT_THAT(
        std::string(RunDet(absl::StrCat(create, " -f -p ", wrong), {}).code.status().message()),
        HasSubstr("--publish: expected"))
        << wrong;
  }
}

}  // namespace
}  // namespace det::cli
