// det trial download|support-bundle
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "cli/command.h"
#include "cli/commands/checkpoint_files.h"
#include "cli/commands/id_arguments.h"
#include "cli/commands/trial.h"
#include "cli/logs.h"
#include "cli/yaml_text.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/experiment.pb.h"
#include "proto/http_rule.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;
using api::v1::Checkpoint;

absl::StatusOr<api::v1::GetTrialResponse> GetTrial(const ApiClient& api, int id) {
  api::v1::GetTrialRequest request;
  request.set_trial_id(id);
  api::v1::GetTrialResponse response;
  DET_RETURN_IF_ERROR(api.Call("TrialService.GetTrial", request, &response));
  return response;
}

// Returns the checkpoints that can be downloaded.
absl::StatusOr<Checkpoints> GetDownloadableCheckpoints(const ApiClient& api, int trial,
                                                       bool with_partial) {
  api::v1::GetTrialCheckpointsRequest request;
  request.set_id(trial);
  request.add_states(Checkpoint::STATE_COMPLETED);
  if (with_partial) request.add_states(Checkpoint::STATE_PARTIALLY_DELETED);
  api::v1::GetTrialCheckpointsResponse response;
  DET_RETURN_IF_ERROR(api.Call("CheckpointService.GetTrialCheckpoints", request, &response));
  return response.checkpoints();
}

absl::StatusOr<Checkpoint> ChooseCheckpoint(Invocation& run, const ApiClient& api, int id) {
  const std::optional<std::string> uuid = run.args.Get("uuid");
  DET_ASSIGN_OR_RETURN(Checkpoints all, GetDownloadableCheckpoints(api, id, uuid.has_value()));
  const bool latest = run.args.Has("latest");
  if (uuid.has_value() + latest + run.args.Has("best") > 1) {
    return UsageError("give only one of --best, --latest and --uuid");
  }
  if (!latest && !uuid) {
    DET_ASSIGN_OR_RETURN(const api::v1::GetTrialResponse trial, GetTrial(api, id));
    DET_ASSIGN_OR_RETURN(const BestBy by, ReadBestBy(run, api, trial.trial().experiment_id()));
    KeepBest(by, &all);
  }
  const Checkpoint* chosen = nullptr;
  for (const Checkpoint& each : all) {
    const bool later = chosen == nullptr ||
                       each.report_time().seconds() > chosen->report_time().seconds() ||
                       (each.report_time().seconds() == chosen->report_time().seconds() &&
                        each.report_time().nanos() > chosen->report_time().nanos());
    if (uuid ? each.uuid() == *uuid : !latest || later) chosen = &each;
  }
  if (chosen != nullptr) return *chosen;
  return absl::NotFoundError(absl::StrCat("trial ", id, " has no ",
                                          latest ? ""
                                          : uuid ? "such "
                                                 : "validated ",
                                          "checkpoint; `det checkpoint list --trial ", id,
                                          "` lists its checkpoints"));
}

absl::StatusOr<int> RunTrialDownload(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("TRIAL"));
  DET_RETURN_IF_ERROR(CheckDownloadOptions(run));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Checkpoint chosen, ChooseCheckpoint(run, *api, id));
  const std::string target =
      run.args.Get("output").value_or(absl::StrCat("checkpoints/", chosen.uuid()));
  DET_RETURN_IF_ERROR(DownloadCheckpoint(run, *api, chosen, target));
  return run.PrintResult(chosen, target + "\n");
}

// ---- support-bundle ----

absl::Status WriteJson(const std::string& path, const google::protobuf::Message& message) {
  DET_ASSIGN_OR_RETURN(const std::string text, proto::ToJson(message));
  return base::WriteFileAtomically(path, text + "\n", 0644);
}

absl::Status WriteLog(const ApiClient& api, int trial, const std::string& path) {
  api::v1::TrialLogsRequest request;
  request.set_trial_id(trial);
  std::ofstream file(path, std::ios::binary);
  api::v1::TrialLogsResponse line;
  DET_RETURN_IF_ERROR(api.Stream("TrialService.TrialLogs", request, &line, [&] {
    file << FormatLogLine(line, Style());
    return file.good();
  }));
  file.close();
  if (file.good()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", path));
}

absl::Status CollectFiles(const ApiClient& api, int id, const std::string& folder) {
  DET_RETURN_IF_ERROR(base::MakeDirs(folder));
  DET_ASSIGN_OR_RETURN(const api::v1::GetTrialResponse trial, GetTrial(api, id));
  DET_RETURN_IF_ERROR(WriteJson(folder + "/trial.json", trial));
  api::v1::GetExperimentRequest request;
  request.set_experiment_id(trial.trial().experiment_id());
  api::v1::GetExperimentResponse experiment;
  DET_RETURN_IF_ERROR(api.Call("ExperimentService.GetExperiment", request, &experiment));
  DET_RETURN_IF_ERROR(WriteJson(folder + "/experiment.json", experiment));
  DET_RETURN_IF_ERROR(base::WriteFileAtomically(
      folder + "/config.yaml", FormatYaml(experiment.experiment().config()), 0644));
  DET_ASSIGN_OR_RETURN(const api::v1::GetTrialWorkloadsResponse workloads, GetWorkloads(api, id));
  DET_RETURN_IF_ERROR(WriteJson(folder + "/workloads.json", workloads));
  return WriteLog(api, id, folder + "/log.txt");
}

absl::Status PackArchive(const std::string& within, const std::string& name,
                         const std::string& archive) {
  base::SpawnOptions tar;
  tar.argv = {"tar", "-czf", archive, "-C", within, name};
  tar.group = base::ProcessGroup::kInherit;
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child, base::Spawn(tar));
  DET_ASSIGN_OR_RETURN(const base::ProcessExit exit, base::WaitForExit(child.pid));
  if (exit.code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("tar failed to write ", archive));
}

absl::StatusOr<int> RunSupportBundle(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("TRIAL"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const base::TempDir scratch, base::TempDir::Create("det-bundle"));
  const std::string name = absl::StrCat("trial-", id);
  DET_RETURN_IF_ERROR(CollectFiles(*api, id, absl::StrCat(scratch.path(), "/", name)));
  const std::string folder = run.args.Get("output-dir").value_or(".");
  DET_RETURN_IF_ERROR(base::MakeDirs(folder));
  const std::string archive = absl::StrCat(folder, "/det-bundle-trial-", id, ".tar.gz");
  DET_RETURN_IF_ERROR(PackArchive(scratch.path(), name, archive));
  run.screen->Print(archive + "\n");
  return kExitOk;
}

}  // namespace

std::vector<Command> TrialFileCommands() {
  std::vector<Option> download =
      DownloadOptions("New or empty directory (default: checkpoints/UUID)");
  download.insert(download.end(), {{"best", 0, "", "Download the best checkpoint (default)"},
                                   {"latest", 0, "", "Download the latest checkpoint"},
                                   {"uuid", 0, "UUID", "Download this checkpoint"}});
  download.insert(download.end(), BestByOptions().begin(), BestByOptions().end());
  return {
      {{"trial", "download"},
       "Download the files of a trial's checkpoint and print their path",
       {kOneTrial},
       download,
       RunTrialDownload,
       ""},
      {{"trial", "support-bundle"},
       "Write the log, config and metrics of a trial to an archive",
       {kOneTrial},
       {{"output-dir", 'o', "DIR", "Output directory (default: current directory)"}},
       RunSupportBundle,
       "The log is included as the trial wrote it; check it before you share the archive."},
  };
}

}  // namespace det::cli
