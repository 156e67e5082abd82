// det sync: run by det.sync of the Python package, which also writes the files that it sends.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/program.h"

namespace det::cli {
namespace {

// Returns the directory of the Python package of this installation; empty if there is none.
std::string FindPythonPackage() {
  for (const char* folder : {"trial_api/python/package/det", "lib/resolute/python/det"}) {
    const absl::StatusOr<std::string> file = FindProgram(folder, "sync.py");
    if (file.ok()) return std::filesystem::path(*file).parent_path().parent_path().string();
  }
  return "";
}

absl::StatusOr<int> RunSync(Invocation& run) {
  if (run.json()) return UsageError("sync: --json is not supported");
  // Without a master here, each run is sent to the master that it was recorded for.
  if (const absl::StatusOr<Connection> connection = run.FindConnection(); connection.ok()) {
    ::setenv("DET_MASTER", connection->urls.front().c_str(), 1);
    if (!connection->token.empty()) ::setenv("DET_USER_TOKEN", connection->token.c_str(), 1);
  }
  if (const std::string package = FindPythonPackage(); !package.empty()) {
    const char* before = std::getenv("PYTHONPATH");
    const std::string path = before == nullptr ? package : absl::StrCat(package, ":", before);
    ::setenv("PYTHONPATH", path.c_str(), 1);
  }
  std::vector<std::string> argv = {"python3", "-B", "-m", "det.sync"};
  if (const std::string folder = run.args.Word("DIRECTORY"); !folder.empty()) {
    argv.push_back(folder);
  }
  DET_RETURN_IF_ERROR(ExecProgram("/usr/bin/env", argv));
  return kExitError;
}

}  // namespace

std::vector<Command> SyncCommands() {
  return {
      {{"sync"},
       "Send runs that were recorded while the master was away",
       {{"DIRECTORY", "Directory of a run, or of several (default: all runs of the user)", true}},
       {},
       RunSync,
       "Scripts record runs with det.init() of the Python package (docs/recorded-runs.md). Needs "
       "python3. Repeat the command after a failure: nothing is sent twice."}};
}

}  // namespace det::cli
