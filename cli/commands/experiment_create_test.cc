// det experiment create, interrupted during the call. An interrupt lasts as long as the process, so
// each case runs in its own process.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/interrupt.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kCreated[] = R"({"experiment":{"id":7}})";

// Interrupts det while it waits for the response. The response is delayed, so that a client that
// does not wait would close the connection.
void InterruptFirst(int fd) {
  Interrupt();
  pollfd client = {fd, POLLRDHUP, 0};
  EXPECT_EQ(poll(&client, 1, /*ms=*/200), 0) << "det did not wait for the answer";
}

struct ProcessResult {
  int code = 0;
  std::string output;
};

// Runs `create` in its own process and interrupts it during the call.
ProcessResult CreateInterrupted(const std::string& options, std::vector<std::string> answers) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    InstallInterrupt();
    const std::string folder = ::testing::TempDir() + "create_test";
    std::filesystem::create_directories(folder + "/context");
    std::ofstream(folder + "/job.yaml") << "name: x\n";
    const DetResult result =
        RunDet("experiment create " + folder + "/job.yaml " + folder + "/context" + options,
               std::move(answers), InterruptFirst);
    const std::string text = result.err + result.out + result.code.status().ToString();
    const bool whole = write(ends[1], text.data(), text.size()) == std::ssize(text);
    const bool interrupted = absl::IsCancelled(result.code.status());
    _exit(!whole || ::testing::Test::HasFailure() ? 9 : interrupted ? 3 : result.code.value_or(1));
  }
  close(ends[1]);
  ProcessResult ended;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    ended.output.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

TEST(ExperimentCreateTest, PrintsId_WhenInterrupted) {
  for (const char* options : {"", " -f", " --json"}) {
    const ProcessResult ended = CreateInterrupted(options, {kCreated});
    EXPECT_EQ(ended.code, 3) << ended.output;
    EXPECT_THAT(ended.output,
                HasSubstr("experiment 7 was created; stop it with `det experiment kill 7`"));
  }
}

TEST(ExperimentCreateTest, ReportsUnknownResult_WhenInterruptedWithoutResponse) {
  const ProcessResult ended = CreateInterrupted("", {"HTTP"});
  EXPECT_EQ(ended.code, 3) << ended.output;
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("was lost"), HasSubstr("check with `det experiment list`")));
}

TEST(ExperimentCreateTest, ReportsError_WhenInterrupted) {
  const ProcessResult ended =
      CreateInterrupted("", {"HTTP/1.1 400 Bad Request\r\nContent-Length: 36\r\n\r\n"
                             R"({"error":{"error":"no name for it"}})"});
  EXPECT_EQ(ended.code, 1) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("no name for it"));
}

std::string TrueJob() {
  const std::string path = ::testing::TempDir() + "true.yaml";
  std::ofstream(path) << "name: x\n";
  return path;
}

TEST(ExperimentCreateTest, TestModeRunsOneTrialOfOneBatch) {
  const DetResult result = RunDet(
      "experiment create " + TrueJob() + " -t --config max_restarts=5 --validate-only", {"{}"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(result.requests[0], HasSubstr(R"("configOverrides":["max_restarts=5","searcher.name=)"
                                            R"(single","searcher.max_length={batches: 1}")"));
  EXPECT_TRUE(
      IsUsageError(RunDet("experiment create " + TrueJob() + " -t --paused", {}).code.status()));
}

TEST(ExperimentCreateTest, UnsupportedOptionsNameAlternative) {
  EXPECT_THAT(std::string(RunDet("experiment create " + TrueJob() + " --local --test-mode", {})
                              .code.status()
                              .message()),
              HasSubstr("`resolute-launch --local`"));
}

}  // namespace
}  // namespace det::cli
