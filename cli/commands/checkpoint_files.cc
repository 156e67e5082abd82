#include "cli/commands/checkpoint_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;
using api::v1::Checkpoint;

// A path from the master must not lead out of the target directory.
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
    return absl::DataLossError(absl::StrCat("checkpoint ", uuid, ": ", path,
                                            " is incomplete: expected ", size, " bytes, received ",
                                            written, "; try again"));
  }
  return absl::OkStatus();
}

absl::Status DownloadAll(const ApiClient& api, const Checkpoint& checkpoint,
                         const std::string& folder, Screen* screen) {
  int64_t done = 0;
  for (const auto& [path, size] : checkpoint.resources()) {
    if (!IsSafe(path)) {
      return absl::DataLossError(absl::StrCat(
          "checkpoint ", checkpoint.uuid(), " contains a file outside of the checkpoint: ", path));
    }
    const std::string target = absl::StrCat(folder, "/", path);
    if (absl::EndsWith(path, "/")) {
      DET_RETURN_IF_ERROR(base::MakeDirs(target));
      continue;
    }
    if (screen != nullptr && screen->err().in_place) {
      screen->ShowProgress(absl::StrCat(
          MakeProgressBar(checkpoint.size() > 0 ? double(done) / double(checkpoint.size()) : 1),
          "  ", FormatBytes(done), " of ", FormatBytes(checkpoint.size()), "  ", path));
    }
    DET_RETURN_IF_ERROR(DownloadFile(api, checkpoint.uuid(), path, size, target));
    done += size;
  }
  return absl::OkStatus();
}

std::optional<double> NumberAt(const google::protobuf::Struct& values, const std::string& name) {
  const auto it = values.fields().find(name);
  if (it == values.fields().end()) return std::nullopt;
  if (it->second.has_number_value()) return it->second.number_value();
  return std::nullopt;
}

std::optional<double> GetMetric(const Checkpoint& checkpoint, const std::string& metric) {
  const api::v1::CheckpointTrainingMetadata& training = checkpoint.training();
  if (metric.empty()) {
    if (!training.has_searcher_metric()) return std::nullopt;
    return training.searcher_metric();
  }
  return NumberAt(training.validation_metrics().avg_metrics(), metric);
}

}  // namespace

std::vector<Option> DownloadOptions(const std::string& output) {
  return {{"output", 'o', "DIR", output},
          {"quiet", 'q', "", "Hide progress; print only the path"},
          {"mode", 0, "MODE", "Transfer mode: auto or master, both through the master"}};
}

absl::Status CheckDownloadOptions(const Invocation& run) {
  const std::string mode = run.args.Get("mode").value_or("auto");
  if (mode == "auto" || mode == "master") return absl::OkStatus();
  return UsageError(absl::StrCat("--mode: expected auto or master, found \"", mode,
                                 "\"; det can download only through the master"));
}

absl::Status DownloadCheckpoint(Invocation& run, const ApiClient& api, const Checkpoint& checkpoint,
                                const std::string& target) {
  std::error_code error;
  if (fs::exists(target, error) &&
      !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    return absl::AlreadyExistsError(
        absl::StrCat(target, " exists and is not empty; choose another directory with -o"));
  }
  // The target directory appears only when every file is complete.
  const std::string aside = absl::StrCat(target, ".part-", getpid());
  Screen* const screen = run.args.Has("quiet") ? nullptr : run.screen;
  absl::Status status = DownloadAll(api, checkpoint, aside, screen);
  run.screen->EndProgress(/*keep=*/false);
  if (status.ok()) status = base::MakeDirs(aside);
  if (status.ok()) {
    fs::rename(aside, target, error);
    if (error) status = absl::InternalError(absl::StrCat("cannot rename the download to ", target));
  }
  if (!status.ok()) fs::remove_all(aside, error);
  return status;
}

const std::vector<Option>& BestByOptions() {
  static const auto& options = *new std::vector<Option>{
      {"sort-by", 0, "METRIC", "Rank by this validation metric instead of the searcher metric"},
      {"smaller-is-better", 0, "BOOL",
       "Whether smaller is better: true or false (default: searcher's)"}};
  return options;
}

absl::StatusOr<BestBy> ReadBestBy(const Invocation& run, const ApiClient& api, int experiment) {
  BestBy by{.metric = run.args.Get("sort-by").value_or("")};
  if (const auto word = run.args.Get("smaller-is-better")) {
    if (!absl::SimpleAtob(*word, &by.smaller_is_better)) {
      return UsageError(
          absl::StrCat("--smaller-is-better: expected true or false, found \"", *word, "\""));
    }
    return by;
  }
  api::v1::GetExperimentRequest request;
  request.set_experiment_id(experiment);
  api::v1::GetExperimentResponse response;
  DET_RETURN_IF_ERROR(api.Call("ExperimentService.GetExperiment", request, &response));
  const auto& config = response.experiment().config().fields();
  const auto searcher = config.find("searcher");
  if (searcher == config.end()) return by;
  const auto& fields = searcher->second.struct_value().fields();
  const auto it = fields.find("smaller_is_better");
  if (it != fields.end()) by.smaller_is_better = it->second.bool_value();
  return by;
}

void KeepBest(const BestBy& by, Checkpoints* checkpoints) {
  std::vector<std::pair<double, Checkpoint>> ranked;
  for (Checkpoint& each : *checkpoints) {
    const std::optional<double> metric = GetMetric(each, by.metric);
    if (!metric) continue;
    const double sign = by.smaller_is_better ? 1 : -1;
    ranked.emplace_back(sign * *metric, std::move(each));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  checkpoints->Clear();
  for (auto& [unused, checkpoint] : ranked) {
    if (checkpoints->size() == by.count) break;
    *checkpoints->Add() = std::move(checkpoint);
  }
}

std::vector<std::string> ReadUuids(const Invocation& run) {
  std::vector<std::string> uuids;
  for (const std::string& word : run.args.Words("CHECKPOINT")) {
    for (const absl::string_view uuid : absl::StrSplit(word, ',', absl::SkipEmpty())) {
      uuids.emplace_back(uuid);
    }
  }
  return uuids;
}

}  // namespace det::cli
