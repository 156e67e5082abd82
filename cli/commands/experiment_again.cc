// det experiment continue|fork
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "cli/command.h"
#include "cli/commands/each.h"
#include "cli/commands/experiment.h"
#include "cli/config_file.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

const Option kFollow = {"follow", 'f', "",
                        "stay with it: the first trial's log on stdout, progress on stderr"};
const Option kConfig = {"config", 0, "KEY=VALUE",
                        "a setting instead of the experiment's, as searcher.max_trials=4; may be "
                        "repeated"};

absl::StatusOr<int> RunContinue(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.Api());
  api::v1::ContinueExperimentRequest request;
  request.set_id(id);
  for (const std::string& each : run.args.GetAll("config")) request.add_config_overrides(each);
  if (const auto path = run.args.Get("config-file")) {
    DET_ASSIGN_OR_RETURN(*request.mutable_override_config(), ReadConfig(*path, {}));
  }
  api::v1::ContinueExperimentResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.ContinueExperiment", request, &response));
  if (run.args.Has("follow")) {
    run.screen->Note(absl::StrCat("experiment ", id, " goes on"));
    return FollowToEnd(run, *api, id);
  }
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  run.screen->Print(absl::StrCat("experiment ", id, " goes on\n"));
  run.screen->Hint(absl::StrCat("det experiment logs -f ", id));
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

std::vector<Command> ExperimentAgainCommands() {
  return {
      {{"experiment", "continue"},
       "let an experiment that has ended go on from its newest checkpoints",
       {kOneExperiment},
       {kFollow, kConfig, {"config-file", 0, "FILE", "settings put over the experiment's"}},
       RunContinue,
       "searcher.name single goes on with its trial, random and grid with the trials that have "
       "not completed. To train longer: --config searcher.max_length.epochs=8."},
      {{"experiment", "fork"},
       "make a new experiment of another one's configuration and files",
       {kOneExperiment},
       {kFollow,
        kConfig,
        {"config-file", 0, "FILE", "a configuration instead of the experiment's"},
        {"paused", 0, "", "do not start it before `det experiment activate`"}},
       RunFork,
       ""},
  };
}

}  // namespace det::cli
