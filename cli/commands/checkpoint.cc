// det checkpoint list|download|describe|rm|delete
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/checkpoint_files.h"
#include "cli/commands/confirm.h"
#include "cli/commands/experiment.h"
#include "cli/commands/paging.h"
#include "cli/commands/struct_text.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/checkpoint.pb.h"
#include "google/protobuf/struct.pb.h"

namespace det::cli {
namespace {

using api::v1::Checkpoint;

int GetSteps(const Checkpoint& checkpoint) {
  const auto& fields = checkpoint.metadata().fields();
  const auto found = fields.find("steps_completed");
  return found == fields.end() ? 0 : static_cast<int>(found->second.number_value());
}

template <class Request, class Response>
absl::StatusOr<int> List(Invocation& run, const char* method, int id) {
  Request request;
  request.set_id(id);
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  const bool best = run.args.Has("best");
  if (best && (page.limit != 0 || page.offset != 0)) {
    return UsageError("--best cannot be used with --limit or --offset: it ranks all checkpoints");
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (!run.args.Has("all")) {
    request.add_states(Checkpoint::STATE_COMPLETED);
    request.add_states(Checkpoint::STATE_PARTIALLY_DELETED);
    request.add_states(Checkpoint::STATE_ERROR);
  }
  Response response;
  DET_RETURN_IF_ERROR(api->Call(absl::StrCat("CheckpointService.", method), request, &response));
  if (best) {
    DET_ASSIGN_OR_RETURN(BestBy by, ReadBestBy(run, *api, id));
    DET_ASSIGN_OR_RETURN(by.count, run.args.GetInt("best", 0, 1, 1'000'000));
    KeepBest(by, response.mutable_checkpoints());
  }
  DET_ASSIGN_OR_RETURN(
      const int code,
      best ? run.PrintList(response, CheckpointTable(response.checkpoints()), "no checkpoints")
           : PrintPage(run, response, response.pagination(),
                       CheckpointTable(response.checkpoints()), "checkpoints", "no checkpoints"));
  if (!run.json() && !response.checkpoints().empty()) {
    run.screen->PrintHint(
        absl::StrCat("det checkpoint download ", response.checkpoints(0).uuid(), " -o DIR"));
  }
  return code;
}

absl::StatusOr<int> RunCheckpointList(Invocation& run) {
  const bool of_trial = run.args.Has("trial");
  if (of_trial == !run.args.Words("EXPERIMENT").empty()) {
    return UsageError("checkpoint list needs either EXPERIMENT or --trial TRIAL");
  }
  if (of_trial) {
    DET_ASSIGN_OR_RETURN(const int id, run.args.GetInt("trial", 0, 1, INT32_MAX));
    return List<api::v1::GetTrialCheckpointsRequest, api::v1::GetTrialCheckpointsResponse>(
        run, "GetTrialCheckpoints", id);
  }
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  return List<api::v1::GetExperimentCheckpointsRequest, api::v1::GetExperimentCheckpointsResponse>(
      run, "GetExperimentCheckpoints", id);
}

absl::StatusOr<Checkpoint> GetCheckpoint(const ApiClient& api, const std::string& uuid) {
  api::v1::GetCheckpointRequest request;
  request.set_checkpoint_uuid(uuid);
  api::v1::GetCheckpointResponse response;
  DET_RETURN_IF_ERROR(api.Call("CheckpointService.GetCheckpoint", request, &response));
  return response.checkpoint();
}

absl::StatusOr<int> RunCheckpointDownload(Invocation& run) {
  DET_RETURN_IF_ERROR(CheckDownloadOptions(run));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                       GetCheckpoint(*api, run.args.Word("CHECKPOINT")));
  const std::string target =
      run.args.Get("output").value_or(absl::StrCat("checkpoints/", checkpoint.uuid()));
  DET_RETURN_IF_ERROR(DownloadCheckpoint(run, *api, checkpoint, target));
  api::v1::GetCheckpointResponse response;
  *response.mutable_checkpoint() = checkpoint;
  return run.PrintResult(response, target + "\n");
}

std::string Description(const Checkpoint& checkpoint, const Style& style) {
  const api::v1::CheckpointTrainingMetadata& training = checkpoint.training();
  std::vector<std::pair<std::string, Cell>> fields = {
      {"checkpoint", checkpoint.uuid()},
      {"state", MakeStateCell(Checkpoint::State_Name(checkpoint.state()))},
      {"trial", absl::StrCat(training.trial_id(), "  of experiment ", training.experiment_id())},
      {"batch", absl::StrCat(GetSteps(checkpoint))}};
  if (training.has_searcher_metric()) {
    fields.emplace_back("searcher metric", FormatNumber(training.searcher_metric()));
  }
  fields.emplace_back("hyperparameters", FormatStruct(training.hparams()));
  fields.emplace_back("metadata", FormatStruct(checkpoint.metadata()));
  fields.emplace_back("saved", FormatTimestamp(checkpoint.report_time()));
  fields.emplace_back("where", checkpoint.storage_path().empty() ? "-" : checkpoint.storage_path());
  fields.emplace_back("size", FormatBytes(checkpoint.size()));
  Table files({{"FILE", false, true}, {"SIZE", true}});
  const std::map<std::string, int64_t> sorted(checkpoint.resources().begin(),
                                              checkpoint.resources().end());
  for (const auto& [path, size] : sorted) {
    files.AddRow({path, Cell(FormatBytes(size), Paint::kPlain, absl::StrCat(size))});
  }
  return absl::StrCat(RenderFields(fields, style), files.empty() ? "" : "\n",
                      files.empty() ? "" : files.Render(style));
}

absl::StatusOr<int> RunCheckpointDescribe(Invocation& run) {
  const std::vector<std::string> uuids = ReadUuids(run);
  if (uuids.empty()) return UsageError("checkpoint describe needs the UUID of a CHECKPOINT");
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  for (const std::string& uuid : uuids) {
    DET_ASSIGN_OR_RETURN(const Checkpoint checkpoint, GetCheckpoint(*api, uuid));
    api::v1::GetCheckpointResponse response;
    *response.mutable_checkpoint() = checkpoint;
    const std::string gap = uuid == uuids.front() ? "" : "\n";
    DET_RETURN_IF_ERROR(
        run.PrintResult(response, absl::StrCat(gap, Description(checkpoint, run.screen->out())))
            .status());
  }
  return kExitOk;
}

absl::StatusOr<int> RunCheckpointDelete(Invocation& run) {
  const std::vector<std::string> uuids = ReadUuids(run);
  if (uuids.empty()) return UsageError("checkpoint delete needs the UUID of a CHECKPOINT");
  DET_RETURN_IF_ERROR(
      Confirm(run, absl::StrCat("Delete the files of ",
                                FormatCount(static_cast<int>(uuids.size()), "checkpoint"), "?")));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::DeleteCheckpointsRequest request;
  for (const std::string& uuid : uuids) request.add_checkpoint_uuids(uuid);
  api::v1::DeleteCheckpointsResponse response;
  DET_RETURN_IF_ERROR(api->Call("CheckpointService.DeleteCheckpoints", request, &response));
  return run.PrintResult(
      response,
      absl::StrCat("deleting ", FormatCount(static_cast<int>(uuids.size()), "checkpoint"), "\n"));
}

absl::StatusOr<int> RunCheckpointRemove(Invocation& run) {
  const std::vector<std::string> uuids = ReadUuids(run);
  if (uuids.empty()) return UsageError("checkpoint rm needs the UUID of a CHECKPOINT");
  const std::vector<std::string> globs = run.args.GetAll("glob");
  const std::string files = absl::StrCat("the files that match ", absl::StrJoin(globs, ", "));
  const int total = static_cast<int>(uuids.size());
  if (!globs.empty()) {
    DET_RETURN_IF_ERROR(Confirm(
        run, absl::StrCat("Delete ", files, " of ", FormatCount(total, "checkpoint"), "?")));
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::CheckpointsRemoveFilesRequest request;
  for (const std::string& uuid : uuids) request.add_checkpoint_uuids(uuid);
  for (const std::string& glob : globs) request.add_checkpoint_globs(glob);
  api::v1::CheckpointsRemoveFilesResponse response;
  DET_RETURN_IF_ERROR(api->Call("CheckpointService.CheckpointsRemoveFiles", request, &response));
  for (const std::string& uuid : response.unmatched()) {
    run.screen->PrintNotice(absl::StrCat("checkpoint ", uuid, " has no matching files"));
  }
  if (globs.empty()) {
    return run.PrintResult(response, absl::StrCat("compared ", FormatCount(total, "checkpoint"),
                                                  " with the storage\n"));
  }
  return run.PrintResult(
      response, absl::StrCat("deleting ", files, " of ",
                             FormatCount(total - response.unmatched_size(), "checkpoint"), "\n"));
}

}  // namespace

Table CheckpointTable(const google::protobuf::RepeatedPtrField<Checkpoint>& checkpoints) {
  Table table({{"CHECKPOINT"},
               {"TRIAL", true},
               {"BATCH", true},
               {"METRIC", true},
               {"STATE"},
               {"SIZE", true},
               {"SAVED"},
               {"PATH", false, true}});
  for (const Checkpoint& each : checkpoints) {
    table.AddRow(
        {each.uuid(), absl::StrCat(each.training().trial_id()), absl::StrCat(GetSteps(each)),
         each.training().has_searcher_metric() ? FormatNumber(each.training().searcher_metric())
                                               : "-",
         MakeStateCell(Checkpoint::State_Name(each.state())),
         Cell(FormatBytes(each.size()), Paint::kPlain, absl::StrCat(each.size())),
         MakeAgeCell(each.report_time(), absl::Now()), each.storage_path()});
  }
  return table;
}

void PrintKept(Invocation& run,
               const google::protobuf::RepeatedPtrField<api::v1::HeldCheckpoint>& kept) {
  for (const api::v1::HeldCheckpoint& each : kept) {
    run.screen->PrintNotice(
        absl::StrCat("checkpoint ", each.uuid(), " was kept: ", each.holder(), " uses it"));
  }
}

std::vector<Command> CheckpointCommands() {
  return {
      {{"checkpoint", "list"},
       "List the checkpoints of an experiment or a trial",
       {{"EXPERIMENT", "Experiment ID", true}},
       PagedOptions({{"trial", 0, "TRIAL", "List the checkpoints of this trial instead"},
                     {"all", 'a', "", "Include deleted checkpoints"}}),
       RunCheckpointList,
       ""},
      {{"experiment", "list-checkpoints"},
       "List the checkpoints of an experiment",
       {{"EXPERIMENT", "Experiment ID"}},
       PagedOptions({{"all", 'a', "", "Include deleted checkpoints"},
                     {"best", 0, "N", "Show the N best by searcher metric, best first"}}),
       RunCheckpointList,
       ""},
      {{"checkpoint", "download"},
       "Download the files of a checkpoint and print their path",
       {{"CHECKPOINT", "Checkpoint UUID"}},
       DownloadOptions("New or empty directory (default: checkpoints/UUID)"),
       RunCheckpointDownload,
       ""},
      {{"checkpoint", "describe"},
       "Show checkpoints and their files",
       {{"CHECKPOINT", "Checkpoint UUIDs", false, true}},
       {},
       RunCheckpointDescribe,
       ""},
      {{"checkpoint", "rm"},
       "Delete some files of checkpoints",
       {{"CHECKPOINT", "Checkpoint UUIDs, separated by spaces or commas", false, true}},
       {{"glob", 0, "PATTERN", "Delete matching files: 'opt*', 'code/**', '**'; repeatable"}, kYes},
       RunCheckpointRemove,
       "PATTERN is matched against the path within the checkpoint: * and ? match any characters "
       "except /, [a-z] matches one of a set, ** matches any number of directories. A checkpoint "
       "that has lost files is PARTIALLY_DELETED: it can be downloaded, but no trial can start "
       "from it.\nWithout --glob, nothing is deleted: files that are no longer in the storage are "
       "removed from the list of files.\nCheckpoints that are in use cannot be changed: by a model "
       "version, by an experiment that starts from it, or as the latest checkpoint of a running "
       "trial."},
      {{"checkpoint", "delete"},
       "Delete the files of checkpoints",
       {{"CHECKPOINT", "Checkpoint UUIDs, separated by spaces or commas", false, true}},
       {kYes},
       RunCheckpointDelete,
       "Checkpoints that other experiments start from, and the latest checkpoint of a running "
       "trial, are kept."},
  };
}

}  // namespace det::cli
