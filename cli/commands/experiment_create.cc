// det experiment create
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "cli/command.h"
#include "cli/commands/context_files.h"
#include "cli/commands/experiment.h"
#include "cli/commands/tunnel.h"
#include "cli/config_file.h"
#include "cli/context_dir.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "det/api/v1/common.pb.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

// Overrides of --test-mode: one trial of one batch without restarts and checkpoints.
constexpr const char* kTestMode[] = {
    "searcher.name=single",
    "searcher.max_length={batches: 1}",
    "max_restarts=0",
    "checkpoint_storage.save_experiment_best=0",
    "checkpoint_storage.save_trial_best=0",
    "checkpoint_storage.save_trial_latest=0",
};

absl::StatusOr<api::v1::CreateExperimentRequest> MakeRequest(const Invocation& run) {
  api::v1::CreateExperimentRequest request;
  const std::string path = run.args.Word("CONFIG");
  DET_ASSIGN_OR_RETURN(*request.mutable_config(), ReadConfig(path, run.args.GetAll("config")));
  request.set_config_path(path);
  request.set_template_(run.args.Get("template").value_or(""));
  for (const std::string& each : run.args.GetAll("config")) request.add_config_overrides(each);
  if (run.args.Has("test-mode")) {
    for (const char* each : kTestMode) request.add_config_overrides(each);
  }
  request.set_activate(!run.args.Has("paused"));
  DET_ASSIGN_OR_RETURN(const int project, run.args.GetInt("project-id", 0, 1, INT32_MAX));
  request.set_project_id(project);
  request.set_validate_only(run.args.Has("validate-only"));
  request.set_request_id(base::NewUuid());
  std::vector<ContextEntry> entries;
  if (const std::string dir = run.args.Word("CONTEXT_DIR"); !dir.empty()) {
    DET_ASSIGN_OR_RETURN(entries, ReadContextDir(dir));
  }
  for (const std::string& path : run.args.GetAll("include")) {
    DET_RETURN_IF_ERROR(IncludeInContext(path, &entries));
  }
  AddFiles(std::move(entries), request.mutable_model_definition());
  return request;
}

// Ctrl-C does not revoke a request that the master has received, so its response is awaited this
// long.
constexpr absl::Duration kCreateTimeoutAfterInterrupt = absl::Seconds(5);

// Returns the result of the call; after an interrupt, prints whether the experiment was created.
absl::Status ReportInterruptedCreate(Invocation& run, const absl::Status& called, int id) {
  if (!Interrupted()) return called;
  if (called.ok()) {
    run.screen->PrintNotice(absl::StrCat(
        "det: experiment ", id, " was created; stop it with `det experiment kill ", id, "`"));
    return CheckInterrupt();
  }
  // Other errors mean that no experiment was created.
  if (!absl::IsDeadlineExceeded(called) && !absl::IsAborted(called)) return called;
  run.screen->PrintNotice(
      absl::StrCat("det: ", called.message(),
                   "; check with `det experiment list` whether the experiment was created"));
  return CheckInterrupt();
}

absl::StatusOr<int> RunExperimentCreate(Invocation& run) {
  if (run.args.Has("test-mode") && run.args.Has("paused")) {
    return UsageError("experiment create: --test-mode and --paused cannot be used together");
  }
  const bool follow = run.args.Has("follow") || run.args.Has("test-mode");
  if (run.args.Has("publish") && !follow) {
    return UsageError("experiment create: --publish needs --follow: ports are published meanwhile");
  }
  DET_ASSIGN_OR_RETURN(const api::v1::CreateExperimentRequest request, MakeRequest(run));
  DET_ASSIGN_OR_RETURN(PublishedPorts ports, PublishedPorts::Open(run.args.GetAll("publish")));
  return Create(run, request, &ports);
}

}  // namespace

absl::StatusOr<int> FollowToEnd(Invocation& run, const ApiClient& api, int id) {
  const absl::StatusOr<api::v1::Experiment> last =
      FollowWithLogs(api, id, run.json() ? LogFormat::kStderr : LogFormat::kText, run.screen);
  if (absl::IsCancelled(last.status())) {
    run.screen->PrintNotice(absl::StrCat(
        "det: experiment ", id, " is still running; follow it with `det experiment logs -f ", id,
        "`, stop it with `det experiment kill ", id, "`"));
  }
  DET_RETURN_IF_ERROR(last);
  if (run.json()) DET_RETURN_IF_ERROR(run.PrintJson(*last));
  return ReportFinalState(*last, run);
}

absl::StatusOr<int> Create(Invocation& run, const api::v1::CreateExperimentRequest& request,
                           PublishedPorts* ports) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::CreateExperimentResponse response;
  const absl::Status called =
      api->Call("ExperimentService.CreateExperiment", request, &response,
                request.validate_only() ? absl::ZeroDuration() : kCreateTimeoutAfterInterrupt);
  DET_RETURN_IF_ERROR(request.validate_only()
                          ? called
                          : ReportInterruptedCreate(run, called, response.experiment().id()));
  for (const std::string& warning : response.config_warnings()) {
    run.screen->PrintNotice(absl::StrCat("warning: ", warning));
  }
  for (const int warning : response.warnings()) {
    if (warning != api::v1::LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED) continue;
    run.screen->PrintNotice(
        "warning: the trials request more slots than the agents of the resource pool have; they "
        "wait until agents with enough slots connect");
  }
  const bool follow = run.args.Has("follow") || run.args.Has("test-mode");
  if (request.validate_only()) {
    if (run.json()) DET_RETURN_IF_ERROR(run.PrintJson(response));
    if (!run.json()) run.screen->Print(absl::StrCat(request.config_path(), " is valid\n"));
    return kExitOk;
  }
  const int id = response.experiment().id();
  if (follow) {
    run.screen->PrintNotice(absl::StrCat("created experiment ", id));
    if (ports != nullptr) ports->Start(run, *api, id);
    return FollowToEnd(run, *api, id);
  }
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  run.screen->Print(absl::StrCat("created experiment ", id, "\n"));
  run.screen->PrintHint(absl::StrCat("det experiment logs -f ", id));
  return kExitOk;
}

Command ExperimentCreateCommand() {
  return {
      {"experiment", "create"},
      "Create an experiment from a config file",
      {{"CONFIG", "Experiment config (YAML)"},
       {"CONTEXT_DIR", "Context directory: code and files that the trials need", true}},
      {{"follow", 'f', "", "Stream the first trial's log to stdout, progress to stderr"},
       {"config", 0, "KEY=VALUE",
        "Override a config field, KEY+=VALUE adds to a list or map; repeatable"},
       {"include", 'i', "PATH", "Add a file or directory to the context; repeatable"},
       {"template", 0, "NAME", "Template to apply, see `det template`"},
       {"project-id", 0, "ID", "Project to create the experiment in (default: the config's)"},
       {"test-mode", 't', "", "Run and follow one trial of one batch that keeps no checkpoint"},
       {"paused", 0, "", "Create the experiment paused; start it with `activate`"},
       {"validate-only", 0, "", "Only validate the config"},
       {"local", 0, "", "",
        "run a Trial on this machine with `resolute-launch --local` (see its --help), a Python "
        "script with `python3 SCRIPT`"},
       {"publish", 'p', "[LOCAL:]PORT",
        "With -f, connect a local port to PORT of the trial; repeatable"}},
      RunExperimentCreate,
      "--config searcher.max_trials=4 sets one field. A list or map replaces that of the file; "
      "--config labels+=nightly appends to it, --config data+='{a: 1}' adds to a map.\nThe context "
      "excludes .git, __pycache__, *.pyc, .DS_Store, .ipynb_checkpoints, bazel-* and files matched "
      "by a .detignore file (.gitignore syntax). Symbolic links are kept as links. "
      "Maximum size: 95 MiB.\n-f -p 8265 makes a port of environment.proxy_ports with proxy_tcp "
      "reachable at 127.0.0.1:8265 while the log is followed.\nWith -f the exit code is 0 only if "
      "the experiment is COMPLETED. Ctrl-C leaves the experiment running (exit code 3) and prints "
      "how to stop it."};
}

}  // namespace det::cli
