#include "cli/testing/run_det.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "cli/testing/fake_server.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

// Shortens "POST /api/v1/x HTTP/1.1\r\n...\r\n\r\n{...}" to method, path and body.
std::string Short(const std::string& request) {
  const std::vector<std::string> words = absl::StrSplit(request, absl::MaxSplits(' ', 2));
  const size_t body = request.find("\r\n\r\n");
  return absl::StrCat(words[0], " ", words[1],
                      body == request.npos || body + 4 == request.size() ? "" : " ",
                      body == request.npos ? "" : request.substr(body + 4));
}

}  // namespace

DetResult RunDet(const std::string& words, std::vector<std::string> answers,
                 std::function<void(int fd)> before_answer) {
  std::vector<std::string> texts;
  for (const std::string& answer : answers) {
    texts.push_back(absl::StartsWith(answer, "HTTP") ? answer : Answer("200 OK", answer));
  }
  FakeServer server(texts, std::move(before_answer));
  std::vector<std::string> argv = absl::StrSplit(words, ' ', absl::SkipEmpty());
  for (std::string& word : argv) std::replace(word.begin(), word.end(), '~', ' ');
  static const auto& commands = *new std::vector<Command>(AllCommands());
  const auto found = FindCommand(commands, argv);
  EXPECT_TRUE(found.ok() && found->command != nullptr) << words;
  argv.erase(argv.begin(), argv.begin() + static_cast<std::ptrdiff_t>(found->path.size()));
  // Before the words, because some commands pass all later ones to another program.
  argv.insert(argv.begin(), {"--master", server.url()});
  DetResult result{.code = kExitOk};
  Screen screen{Style(), Style()};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  result.code = RunWords(*found->command, argv, &screen);
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  // The server ends only when all responses were requested.
  for (const std::string& request : server.requests) result.requests.push_back(Short(request));
  return result;
}

CleanEnvironment::CleanEnvironment() : folder_(testing::TempDir() + "/det_config_XXXXXX") {
  EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  for (const char* name : {"DET_USER", "DET_PASS", "DET_USER_TOKEN", "DET_MASTER"}) unsetenv(name);
  setenv("DET_DEBUG_CONFIG_PATH", folder_.c_str(), 1);
  setenv("DET_DATA_DIR", folder_.c_str(), 1);
}

CleanEnvironment::~CleanEnvironment() {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  for (const char* name : {"DET_USER", "DET_PASS", "DET_USER_TOKEN", "DET_DEBUG_CONFIG_PATH"}) {
    unsetenv(name);
  }
}

}  // namespace det::cli
