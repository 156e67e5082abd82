// det sync: run by det.sync of the Python package, which also writes the files that it sends.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/program.h"
#include "cli/trial_python.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunSync(Invocation& run) {
  if (run.json()) return UsageError("sync: --json is not supported");
  // Without a master here, each run is sent to the master that it was recorded for.
  if (const absl::StatusOr<Connection> connection = run.FindConnection(); connection.ok()) {
    ::setenv("DET_MASTER", connection->urls.front().c_str(), 1);
    if (!connection->token.empty()) ::setenv("DET_USER_TOKEN", connection->token.c_str(), 1);
  }
  const std::string path = PythonPath();
  if (!path.empty()) ::setenv("PYTHONPATH", path.c_str(), 1);
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
