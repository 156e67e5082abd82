// det checkpoint list|download|delete
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/confirm.h"
#include "cli/commands/experiment.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/checkpoint.pb.h"
#include "google/protobuf/struct.pb.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;
using api::v1::Checkpoint;

int StepsOf(const Checkpoint& checkpoint) {
  const auto& fields = checkpoint.metadata().fields();
  const auto found = fields.find("steps_completed");
  return found == fields.end() ? 0 : static_cast<int>(found->second.number_value());
}

template <class Request, class Response>
absl::StatusOr<int> List(Invocation& run, const char* method, int id) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.Api());
  Request request;
  request.set_id(id);
  if (!run.args.Has("all")) {
    request.add_states(Checkpoint::STATE_COMPLETED);
    request.add_states(Checkpoint::STATE_ERROR);
  }
  Response response;
  DET_RETURN_IF_ERROR(api->Call(absl::StrCat("CheckpointService.", method), request, &response));
  DET_ASSIGN_OR_RETURN(
      const int code,
      run.PrintList(response, CheckpointTable(response.checkpoints()), "no checkpoints"));
  if (!run.json() && !response.checkpoints().empty()) {
    run.screen->Hint(
        absl::StrCat("det checkpoint download ", response.checkpoints(0).uuid(), " -o DIR"));
  }
  return code;
}

absl::StatusOr<int> RunList(Invocation& run) {
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

// A name from outside must not lead out of the folder that it is written to.
bool IsSafe(const std::string& path) {
  if (path.empty() || path[0] == '/') return false;
  for (const fs::path& part : fs::path(path)) {
    if (part == "..") return false;
  }
  return true;
}

absl::Status DownloadFile(const ApiClient& api, const std::string& uuid, const std::string& path,
                          int64_t size, const std::string& target) {
  api::v1::ReadCheckpointFileRequest request;
  request.set_checkpoint_uuid(uuid);
  request.set_path(path);
  DET_RETURN_IF_ERROR(base::MakeDirs(fs::path(target).parent_path().string()));
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  int64_t written = 0;
  api::v1::ReadCheckpointFileResponse piece;
  DET_RETURN_IF_ERROR(api.Stream("CheckpointService.ReadCheckpointFile", request, &piece, [&] {
    file.write(piece.chunk().data(), static_cast<std::streamsize>(piece.chunk().size()));
    written += static_cast<int64_t>(piece.chunk().size());
    return file.good();
  }));
  file.close();
  if (!file.good()) return absl::InternalError(absl::StrCat("cannot write ", target));
  if (written != size) {
    return absl::DataLossError(absl::StrCat("checkpoint ", uuid, ": ", path, " has ", size,
                                            " bytes, but ", written, " arrived; try again"));
  }
  return absl::OkStatus();
}

absl::Status DownloadAll(const ApiClient& api, const Checkpoint& checkpoint,
                         const std::string& folder, Screen* screen) {
  int64_t done = 0;
  for (const auto& [path, size] : checkpoint.resources()) {
    if (!IsSafe(path)) {
      return absl::DataLossError(
          absl::StrCat("checkpoint ", checkpoint.uuid(), " names a file outside of it: ", path));
    }
    const std::string target = absl::StrCat(folder, "/", path);
    if (absl::EndsWith(path, "/")) {
      DET_RETURN_IF_ERROR(base::MakeDirs(target));
      continue;
    }
    if (screen->err().in_place) {
      screen->Progress(
          absl::StrCat("● ", Bytes(done), " of ", Bytes(checkpoint.size()), "  ", path));
    }
    DET_RETURN_IF_ERROR(DownloadFile(api, checkpoint.uuid(), path, size, target));
    done += size;
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunDownload(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.Api());
  const std::string uuid = run.args.Word("CHECKPOINT");
  api::v1::GetCheckpointRequest request;
  request.set_checkpoint_uuid(uuid);
  api::v1::GetCheckpointResponse response;
  DET_RETURN_IF_ERROR(api->Call("CheckpointService.GetCheckpoint", request, &response));
  const std::string target = run.args.Get("output").value_or(absl::StrCat("checkpoints/", uuid));
  std::error_code error;
  if (fs::exists(target, error) &&
      !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    return absl::AlreadyExistsError(
        absl::StrCat(target, " exists and is not empty; name another folder with -o"));
  }
  // Whole or not at all: the name appears when every file is there.
  const std::string aside = absl::StrCat(target, ".part-", getpid());
  const absl::Status status = DownloadAll(*api, response.checkpoint(), aside, run.screen);
  run.screen->EndProgress(/*keep=*/false);
  if (!status.ok()) {
    fs::remove_all(aside, error);
    return status;
  }
  DET_RETURN_IF_ERROR(base::MakeDirs(aside));
  fs::rename(aside, target, error);
  if (error) {
    fs::remove_all(aside, error);
    return absl::InternalError(absl::StrCat("cannot name the folder ", target));
  }
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(target + "\n");
  }
  return kExitOk;
}

// "a,b c" as well as "a b c".
std::vector<std::string> Uuids(const Invocation& run) {
  std::vector<std::string> uuids;
  for (const std::string& word : run.args.Words("CHECKPOINT")) {
    for (const absl::string_view uuid : absl::StrSplit(word, ',', absl::SkipEmpty())) {
      uuids.emplace_back(uuid);
    }
  }
  return uuids;
}

absl::StatusOr<int> RunDelete(Invocation& run) {
  const std::vector<std::string> uuids = Uuids(run);
  if (uuids.empty()) return UsageError("checkpoint delete needs the uuid of a CHECKPOINT");
  DET_RETURN_IF_ERROR(
      Confirm(run, absl::StrCat("Delete the files of ",
                                Counted(static_cast<int>(uuids.size()), "checkpoint"), "?")));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.Api());
  api::v1::DeleteCheckpointsRequest request;
  for (const std::string& uuid : uuids) request.add_checkpoint_uuids(uuid);
  api::v1::DeleteCheckpointsResponse response;
  DET_RETURN_IF_ERROR(api->Call("CheckpointService.DeleteCheckpoints", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    const int deleted = static_cast<int>(uuids.size()) - response.kept_size();
    run.screen->Print(absl::StrCat("deleting ", Counted(deleted, "checkpoint"), "\n"));
    NoteKept(run, response.kept());
  }
  // What was named one by one was all meant.
  return response.kept().empty() ? kExitOk : kExitError;
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
               {"WHERE", false, true}});
  for (const Checkpoint& each : checkpoints) {
    table.AddRow(
        {each.uuid(), absl::StrCat(each.training().trial_id()), absl::StrCat(StepsOf(each)),
         each.training().has_searcher_metric() ? Number(each.training().searcher_metric()) : "-",
         StateCell(Checkpoint::State_Name(each.state())),
         Cell(Bytes(each.size()), Paint::kPlain, absl::StrCat(each.size())),
         AgoCell(each.report_time(), absl::Now()), each.storage_path()});
  }
  return table;
}

void NoteKept(Invocation& run,
              const google::protobuf::RepeatedPtrField<api::v1::HeldCheckpoint>& kept) {
  for (const api::v1::HeldCheckpoint& each : kept) {
    run.screen->Note(
        absl::StrCat("checkpoint ", each.uuid(), " stays: ", each.holder(), " needs it"));
  }
}

std::vector<Command> CheckpointCommands() {
  return {
      {{"checkpoint", "list"},
       "list the checkpoints of an experiment or a trial",
       {{"EXPERIMENT", "its id", true}},
       {{"trial", 0, "TRIAL", "of one trial instead"}, {"all", 'a', "", "deleted ones, too"}, kCsv},
       RunList,
       ""},
      {{"experiment", "list-checkpoints"},
       "list the checkpoints of an experiment",
       {{"EXPERIMENT", "its id"}},
       {{"all", 'a', "", "deleted ones, too"}, kCsv},
       RunList,
       ""},
      {{"checkpoint", "download"},
       "copy the files of a checkpoint, and print where they are",
       {{"CHECKPOINT", "its uuid"}},
       {{"output", 'o', "DIR", "a new or empty folder (checkpoints/UUID)"}},
       RunDownload,
       ""},
      {{"checkpoint", "delete"},
       "delete the files of checkpoints",
       {{"CHECKPOINT", "its uuid, or several with commas between them", false, true}},
       {kYes},
       RunDelete,
       "Those that others start from, and the newest of a trial that runs, stay."},
  };
}

}  // namespace det::cli
