// Entry point of resolute-runner, which an agent starts as the program of each task that is not a
// trial (docs/tasks.md):
//
//   resolute-runner [--service=notebook|shell|tensorboard] [--work-dir=DIR] -- WORD...
//
// Changes to the working directory, runs the startup hooks, and then becomes the command of the
// task, or runs a service as its child process.
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "agent/runner/service_runner.h"
#include "agent/runner/startup_hooks.h"

namespace det::agent {
namespace {

constexpr char kUsage[] =
    "usage: resolute-runner [--service=notebook|shell|tensorboard] [--work-dir=DIR] -- WORD... "
    "(started by resolute-agent)";

struct Options {
  std::string service;  // empty: the task has a command
  std::string work_dir;
  bool hooks_done = false;  // this process was started by the startup hooks
  std::vector<std::string> words;
};

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  int i = 1;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    constexpr std::string_view kService = "--service=";
    constexpr std::string_view kWorkDir = "--work-dir=";
    if (word.starts_with(kService)) {
      options.service = word.substr(kService.size());
    } else if (word.starts_with(kWorkDir)) {
      options.work_dir = word.substr(kWorkDir.size());
    } else if (word == "--hooks-done") {
      options.hooks_done = true;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown option ", argv[i], "; ", kUsage));
    }
  }
  const std::string& service = options.service;
  if (!service.empty() && service != "notebook" && service != "shell" && service != "tensorboard") {
    return absl::InvalidArgumentError(absl::StrCat("unknown service ", service, "; ", kUsage));
  }
  for (++i; i < argc; ++i) options.words.emplace_back(argv[i]);
  return options;
}

std::string GetVariable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

// Replaces the names of the user of this process and of the owner of the task.
std::string ExpandWorkDir(const std::string& work_dir) {
  const passwd* user = ::getpwuid(::geteuid());
  return absl::StrReplaceAll(work_dir, {{"$AGENT_USER", user == nullptr ? "" : user->pw_name},
                                        {"$DET_USER", GetVariable("DET_USER")}});
}

// Returns only if the program cannot be executed, with the exit code of a shell for this error.
int Become(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  const int error = errno;
  std::cerr << "resolute-runner: cannot run " << argv[0] << ": " << ::strerror(error) << std::endl;
  return error == ENOENT ? 127 : 126;
}

int Main(int argc, char** argv) {
  const auto fail = [](absl::string_view message) {
    std::cerr << "resolute-runner: " << message << std::endl;
    return 1;
  };
  const absl::StatusOr<Options> options = ParseOptions(argc, argv);
  if (!options.ok()) return fail(options.status().message());
  const std::string run_dir = GetVariable("DET_RUN_DIR");
  if (run_dir.empty()) return fail(absl::StrCat("DET_RUN_DIR is not set; ", kUsage));
  if (!options->hooks_done) {
    // Found before the change of the directory, which may contain a hook of somebody else.
    const std::vector<std::string> hooks = FindStartupHooks(run_dir);
    const std::string folder = ExpandWorkDir(options->work_dir);
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) {
      return fail(absl::StrCat("cannot enter work_dir ", folder, ": ", ::strerror(errno)));
    }
    if (!folder.empty()) ::setenv("PWD", folder.c_str(), 1);
    if (!hooks.empty()) {
      std::error_code error;
      std::vector<std::string> next(argv, argv + argc);
      next[0] = std::filesystem::read_symlink("/proc/self/exe", error);
      next.insert(next.begin() + 1, "--hooks-done");
      return Become(MakeHookCommand(hooks, next));
    }
  }
  if (!options->service.empty()) {
    const absl::StatusOr<int> exit = RunService({.kind = options->service, .run_dir = run_dir});
    if (!exit.ok()) return fail(exit.status().message());
    // The thread that watches the service is still running.
    std::cerr.flush();
    ::_exit(*exit);
  }
  std::vector<std::string> words = options->words;
  if (words.empty()) return 0;
  if (words.size() == 1) words = {"/bin/sh", "-c", words[0]};
  return Become(words);
}

}  // namespace
}  // namespace det::agent

int main(int argc, char** argv) { return det::agent::Main(argc, argv); }
