// det experiment config|download|download-model-def
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/checkpoint_files.h"
#include "cli/commands/experiment.h"
#include "cli/commands/id_arguments.h"
#include "cli/yaml_text.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunExperimentConfig(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetExperimentRequest request;
  request.set_experiment_id(id);
  api::v1::GetExperimentResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.GetExperiment", request, &response));
  const api::v1::Experiment& experiment = response.experiment();
  if (run.json()) return run.PrintResult(experiment.config(), "");
  if (!run.args.Has("original")) {
    run.screen->Print(FormatYaml(experiment.config()));
    return kExitOk;
  }
  std::string text = experiment.original_config();
  if (text.empty() || text.back() != '\n') text += '\n';
  run.screen->Print(text);
  return kExitOk;
}

absl::StatusOr<int> RunDownloadModelDef(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetModelDefRequest request;
  request.set_experiment_id(id);
  api::v1::GetModelDefResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.GetModelDef", request, &response));
  const std::string& tgz = response.b64_tgz();  // Base64 only in JSON.
  if (tgz.empty()) {
    return absl::NotFoundError(
        absl::StrCat("experiment ", id, " was created without a context directory"));
  }
  const std::string folder = run.args.Get("output-dir").value_or(".");
  DET_RETURN_IF_ERROR(base::MakeDirs(folder));
  const std::string path = absl::StrCat(folder, "/experiment_", id, "_model_def.tgz");
  DET_RETURN_IF_ERROR(base::WriteFileAtomically(path, tgz, 0644));
  run.screen->Print(path + "\n");
  return kExitOk;
}

absl::StatusOr<int> RunExperimentDownload(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_RETURN_IF_ERROR(CheckDownloadOptions(run));
  DET_ASSIGN_OR_RETURN(const int count, run.args.GetInt("top-n", 1, 1, 10'000));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(BestBy by, ReadBestBy(run, *api, id));
  by.count = count;
  api::v1::GetExperimentCheckpointsRequest request;
  request.set_id(id);
  request.add_states(api::v1::Checkpoint::STATE_COMPLETED);
  api::v1::GetExperimentCheckpointsResponse response;
  DET_RETURN_IF_ERROR(api->Call("CheckpointService.GetExperimentCheckpoints", request, &response));
  KeepBest(by, response.mutable_checkpoints());
  if (response.checkpoints().empty()) {
    return absl::NotFoundError(
        absl::StrCat("experiment ", id, " has no checkpoint with ",
                     by.metric.empty() ? "a validation" : absl::StrCat("metric ", by.metric),
                     "; `det checkpoint list ", id, "` lists its checkpoints"));
  }
  const std::string folder = run.args.Get("output").value_or("checkpoints");
  for (const api::v1::Checkpoint& each : response.checkpoints()) {
    const std::string target = absl::StrCat(folder, "/", each.uuid());
    DET_RETURN_IF_ERROR(DownloadCheckpoint(run, *api, each, target));
    if (!run.json()) run.screen->Print(target + "\n");
  }
  if (run.json()) DET_RETURN_IF_ERROR(run.PrintJson(response));
  return kExitOk;
}

}  // namespace

std::vector<Command> ExperimentFileCommands() {
  std::vector<Option> download =
      DownloadOptions("Directory for the checkpoints (default: checkpoints)");
  download.push_back({"top-n", 0, "N", "Number of checkpoints, best first (default: 1)"});
  download.insert(download.end(), BestByOptions().begin(), BestByOptions().end());
  return {
      {{"experiment", "config"},
       "Print the config of an experiment",
       {kOneExperiment},
       {{"original", 0, "", "Print the submitted config, without templates and defaults"}},
       RunExperimentConfig,
       ""},
      {{"experiment", "download"},
       "Download an experiment's best checkpoints and print their paths",
       {kOneExperiment},
       download,
       RunExperimentDownload,
       ""},
      {{"experiment", "download-model-def"},
       "Download an experiment's context directory as an archive",
       {kOneExperiment},
       {{"output-dir", 'o', "DIR", "Output directory (default: current directory)"}},
       RunDownloadModelDef,
       ""},
  };
}

}  // namespace det::cli
