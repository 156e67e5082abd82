// det experiment continue|fork
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "cli/command.h"
#include "cli/commands/experiment.h"
#include "cli/commands/id_arguments.h"
#include "cli/config_file.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

const Option kFollow = {"follow", 'f', "",
                        "Stream the first trial's log to stdout, progress to stderr"};
const Option kConfig = {"config", 0, "KEY=VALUE",
                        "Override a config field: searcher.max_trials=4; repeatable"};

absl::StatusOr<int> RunContinue(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::ContinueExperimentRequest request;
  request.set_id(id);
  for (const std::string& each : run.args.GetAll("config")) request.add_config_overrides(each);
  if (const auto path = run.args.Get("config-file")) {
    DET_ASSIGN_OR_RETURN(*request.mutable_override_config(), ReadConfig(*path, {}));
  }
  api::v1::ContinueExperimentResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.ContinueExperiment", request, &response));
  if (run.args.Has("follow")) {
    run.screen->PrintNotice(absl::StrCat("continued experiment ", id));
    return FollowToEnd(run, *api, id);
  }
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  run.screen->Print(absl::StrCat("continued experiment ", id, "\n"));
  run.screen->PrintHint(absl::StrCat("det experiment logs -f ", id));
  return kExitOk;
}

absl::StatusOr<int> RunFork(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  api::v1::CreateExperimentRequest request;
  request.set_parent_id(id);
  if (const auto path = run.args.Get("config-file")) {
    DET_ASSIGN_OR_RETURN(*request.mutable_config(), ReadConfig(*path, {}));
    request.set_config_path(*path);
  }
  for (const std::string& each : run.args.GetAll("config")) request.add_config_overrides(each);
  request.set_activate(!run.args.Has("paused"));
  request.set_request_id(base::NewUuid());
  return Create(run, request);
}

}  // namespace

std::vector<Command> ExperimentContinueCommands() {
  return {
      {{"experiment", "continue"},
       "Continue an ended experiment from its latest checkpoints",
       {kOneExperiment},
       {kFollow,
        kConfig,
        {"config-file", 0, "FILE", "Config file to merge over the experiment's config"}},
       RunContinue,
       "With searcher.name single, its trial continues; with random and grid, the trials that have "
       "not completed. To train longer: --config searcher.max_length.epochs=8."},
      {{"experiment", "fork"},
       "Create an experiment from another one's config and files",
       {kOneExperiment},
       {kFollow,
        kConfig,
        {"config-file", 0, "FILE", "Config file to use instead of the experiment's config"},
        {"paused", 0, "", "Create the experiment paused; start it with `activate`"}},
       RunFork,
       ""},
  };
}

}  // namespace det::cli
