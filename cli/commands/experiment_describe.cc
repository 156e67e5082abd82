// det experiment describe
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/experiment.h"
#include "cli/commands/id_arguments.h"
#include "cli/commands/search_text.h"
#include "cli/commands/struct_text.h"
#include "cli/commands/trial.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {
namespace {

using api::v1::Experiment;

// "2 jobs ahead in pool default"; empty if the pool has no such order or the experiment has ended.
std::string PlaceInQueue(const api::v1::GetExperimentResponse& response) {
  if (!response.has_job_summary() || response.job_summary().jobs_ahead() < 0) return "";
  return absl::StrCat(FormatCount(response.job_summary().jobs_ahead(), "job"), " ahead in pool ",
                      response.experiment().resource_pool());
}

// Returns what the validations report instead of the searcher's metric; empty if one of them has it
// or none was reported.
std::string DescribeMissingMetric(const Experiment& each,
                                  const api::v1::GetExperimentTrialsResponse& trials) {
  std::set<std::string> names;
  for (const api::v1::Trial& trial : trials.trials()) {
    const auto& reported = trial.latest_validation().metrics().avg_metrics().fields();
    if (reported.contains(each.searcher_metric())) return "";
    for (const auto& [name, value] : reported) names.insert(name);
  }
  if (names.empty() || each.has_best_trial_searcher_metric()) return "";
  return absl::StrCat("no validation has the metric ", each.searcher_metric(), "; they have ",
                      absl::StrJoin(names, ", "), ". Set searcher.metric to one of these");
}

std::string Description(const api::v1::GetExperimentResponse& response,
                        const api::v1::GetExperimentTrialsResponse& trials, const Style& style) {
  const Experiment& each = response.experiment();
  std::vector<std::pair<std::string, Cell>> fields = {
      {"experiment", absl::StrCat(each.id(), "  ", each.name())},
      {"state", MakeStateCell(Experiment::State_Name(each.state()))}};
  if (each.unmanaged()) fields.emplace_back("managed", "no, it runs outside of the cluster");
  if (each.has_external_experiment_id()) {
    fields.emplace_back("external ID", each.external_experiment_id());
  }
  if (each.archived()) fields.emplace_back("archived", "yes");
  if (!each.state_reason().empty()) fields.emplace_back("reason", each.state_reason());
  const std::string place = PlaceInQueue(response);
  if (!place.empty()) fields.emplace_back("queue", place);
  fields.emplace_back("progress", ProgressText(each));
  fields.emplace_back("searcher",
                      absl::StrCat(each.searcher_type(), " by ", each.searcher_metric()));
  const std::string missing = DescribeMissingMetric(each, trials);
  if (!missing.empty()) fields.emplace_back("warning", missing);
  if (each.has_best_trial_searcher_metric()) {
    fields.emplace_back("best", absl::StrCat(FormatNumber(each.best_trial_searcher_metric()),
                                             " (trial ", each.best_trial_id(), ")"));
  }
  fields.emplace_back("checkpoints", absl::StrCat(each.checkpoint_count(), ", ",
                                                  FormatBytes(each.checkpoint_size())));
  fields.emplace_back("started", FormatTimestamp(each.start_time()));
  fields.emplace_back("ended", FormatTimestamp(each.end_time()));
  fields.emplace_back("owner", each.username());
  return RenderFields(fields, style);
}

absl::StatusOr<api::v1::GetExperimentTrialsResponse> Trials(const ApiClient& api, int id) {
  api::v1::GetExperimentTrialsRequest request;
  request.set_experiment_id(id);
  request.set_sort_by(api::v1::GetExperimentTrialsRequest::SORT_BY_ID);
  api::v1::GetExperimentTrialsResponse response;
  DET_RETURN_IF_ERROR(api.Call("TrialService.GetExperimentTrials", request, &response));
  return response;
}

Cell TimeCell(const google::protobuf::Timestamp& time) { return MakeAgeCell(time, absl::Now()); }

// The tables that --csv and --outdir write for all described experiments.
struct CsvTables {
  Table experiments{{{"ID", true},
                     {"NAME"},
                     {"STATE"},
                     {"PROGRESS", true},
                     {"STARTED"},
                     {"ENDED"},
                     {"POOL"},
                     {"OWNER"}}};
  Table trials{{{"EXPERIMENT", true},
                {"TRIAL", true},
                {"STATE"},
                {"BATCHES", true},
                {"BEST", true},
                {"RESTARTS", true},
                {"STARTED"},
                {"ENDED"},
                {"HYPERPARAMETERS"},
                {"LOG POLICY"}}};
  Table workloads = EmptyWorkloadTable();

  void Add(const Experiment& each) {
    experiments.AddRow({absl::StrCat(each.id()), each.name(),
                        MakeStateCell(Experiment::State_Name(each.state())),
                        absl::StrCat(each.progress().value()), TimeCell(each.start_time()),
                        TimeCell(each.end_time()), each.resource_pool(), each.username()});
  }
  void Add(const api::v1::Trial& trial) {
    trials.AddRow({absl::StrCat(trial.experiment_id()), absl::StrCat(trial.id()),
                   MakeStateCell(api::v1::Trial::State_Name(trial.state())),
                   absl::StrCat(trial.total_batches_processed()),
                   trial.has_best_validation() ? absl::StrCat(trial.searcher_metric_value()) : "",
                   absl::StrCat(trial.restarts()), TimeCell(trial.start_time()),
                   TimeCell(trial.end_time()), FormatStruct(trial.hparams()),
                   trial.log_policy_matched()});
  }
};

bool WantsCsvTables(const Invocation& run) {
  return !run.json() && (run.args.Has("csv") || run.args.Has("outdir"));
}

// Shows the metric reports of the trials in the selected format.
absl::Status ShowMetrics(Invocation& run, const ApiClient& api,
                         const api::v1::GetExperimentTrialsResponse& trials, CsvTables* tables) {
  Table table = EmptyWorkloadTable();
  for (const api::v1::Trial& trial : trials.trials()) {
    DET_ASSIGN_OR_RETURN(const auto workloads, GetWorkloads(api, trial.id()));
    if (run.json()) DET_RETURN_IF_ERROR(run.PrintJson(workloads));
    AddWorkloads(trial.id(), workloads, WantsCsvTables(run) ? &tables->workloads : &table);
  }
  if (!table.empty() && !run.json()) {
    run.screen->Print(absl::StrCat("\n", table.Render(run.screen->out())));
  }
  return absl::OkStatus();
}

absl::Status Describe(Invocation& run, const ApiClient& api, int id, CsvTables* tables) {
  api::v1::GetExperimentRequest request;
  request.set_experiment_id(id);
  api::v1::GetExperimentResponse response;
  DET_RETURN_IF_ERROR(api.Call("ExperimentService.GetExperiment", request, &response));
  const bool metrics = run.args.Has("metrics");
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    if (!metrics) return absl::OkStatus();
  }
  DET_ASSIGN_OR_RETURN(const api::v1::GetExperimentTrialsResponse trials, Trials(api, id));
  if (WantsCsvTables(run)) {
    tables->Add(response.experiment());
    for (const api::v1::Trial& trial : trials.trials()) tables->Add(trial);
  } else if (!run.json()) {
    const Style& style = run.screen->out();
    DET_ASSIGN_OR_RETURN(const std::string search, SearchText(api, response.experiment(), style));
    run.screen->Print(
        absl::StrCat(Description(response, trials, style), search, "\n", TrialText(trials, style)));
  }
  return metrics ? ShowMetrics(run, api, trials, tables) : absl::OkStatus();
}

// Writes files to the directory, or all tables to stdout.
absl::Status WriteCsvTables(const Invocation& run, const CsvTables& tables) {
  std::vector<std::pair<std::string, const Table*>> all = {{"experiments", &tables.experiments},
                                                           {"trials", &tables.trials}};
  if (run.args.Has("metrics")) all.emplace_back("workloads", &tables.workloads);
  const std::optional<std::string> folder = run.args.Get("outdir");
  if (folder) DET_RETURN_IF_ERROR(base::MakeDirs(*folder));
  for (const auto& [name, table] : all) {
    if (!folder) {
      run.screen->Print(absl::StrCat(name == "experiments" ? "" : "\n", table->RenderCsv()));
      continue;
    }
    const std::string path = absl::StrCat(*folder, "/", name, ".csv");
    DET_RETURN_IF_ERROR(base::WriteFileAtomically(path, table->RenderCsv(), 0644));
    run.screen->Print(path + "\n");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunExperimentDescribe(Invocation& run) {
  CsvTables tables;
  DET_ASSIGN_OR_RETURN(const int code,
                       ForEachId(run, "EXPERIMENT", "experiment", [&](ApiClient& api, int id) {
                         return Describe(run, api, id, &tables);
                       }));
  if (WantsCsvTables(run)) DET_RETURN_IF_ERROR(WriteCsvTables(run, tables));
  return code;
}

}  // namespace

std::vector<Command> ExperimentDescribeCommands() {
  return {{{"experiment", "describe"},
           "Show experiments and their trials",
           {kExperiments},
           {{"metrics", 0, "", "Include all metric reports and checkpoints"},
            {"csv", 0, "", "Print the tables as CSV"},
            {"outdir", 0, "DIR", "Write experiments.csv, trials.csv and workloads.csv to DIR"}},
           RunExperimentDescribe,
           ""}};
}

}  // namespace det::cli
