// det experiment list|list-trials|logs|wait
#include "cli/commands/experiment.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/id_arguments.h"
#include "cli/commands/log_options.h"
#include "cli/commands/paging.h"
#include "cli/commands/trial.h"
#include "cli/commands/workspace.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {
namespace {

using api::v1::Experiment;
using api::v1::Trial;

constexpr int kDefaultExperimentLimit = 100;

std::string StateName(const Experiment& experiment) {
  return Experiment::State_Name(experiment.state());
}

Table ExperimentTable(const api::v1::GetExperimentsResponse& response, bool projects,
                      bool archived) {
  std::vector<Column> columns = {{"ID", true},       {"NAME", false, true}, {"STATE"},
                                 {"PROGRESS", true}, {"TRIALS", true},      {"BEST", true},
                                 {"STARTED"},        {"OWNER", false, true}};
  if (projects) {
    columns.push_back({"WORKSPACE", false, true});
    columns.push_back({"PROJECT", false, true});
  }
  if (archived) columns.push_back({"ARCHIVED"});
  Table table(std::move(columns));
  for (const Experiment& each : response.experiments()) {
    std::vector<Cell> row = {absl::StrCat(each.id()),
                             each.name(),
                             MakeStateCell(StateName(each)),
                             ProgressText(each),
                             absl::StrCat(each.num_trials()),
                             each.has_best_trial_searcher_metric()
                                 ? FormatNumber(each.best_trial_searcher_metric())
                                 : "-",
                             MakeAgeCell(each.start_time(), absl::Now()),
                             each.username()};
    if (projects) {
      row.emplace_back(each.workspace_name());
      row.emplace_back(each.project_name());
    }
    if (archived) row.emplace_back(each.archived() ? "yes" : "no");
    table.AddRow(std::move(row));
  }
  return table;
}

absl::StatusOr<int> RunExperimentList(Invocation& run) {
  api::v1::GetExperimentsRequest request;
  DET_ASSIGN_OR_RETURN(const int project, run.args.GetInt("project-id", 0, 1, INT32_MAX));
  request.set_project_id(project);
  return ListExperiments(run, std::move(request));
}

absl::StatusOr<int> RunListTrials(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  api::v1::GetExperimentTrialsRequest request;
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  request.set_experiment_id(id);
  request.set_sort_by(api::v1::GetExperimentTrialsRequest::SORT_BY_ID);
  api::v1::GetExperimentTrialsResponse response;
  DET_RETURN_IF_ERROR(api->Call("TrialService.GetExperimentTrials", request, &response));
  return PrintPage(run, response, response.pagination(),
                   TrialTable(response, /*all_columns=*/run.args.Has("csv")), "trials",
                   absl::StrCat("experiment ", id, " has no trials yet"));
}

absl::StatusOr<int> RunExperimentLogs(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  api::v1::TrialLogsRequest request;
  DET_RETURN_IF_ERROR(ReadLogOptions(run, &request));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const bool follow = request.follow();
  DET_ASSIGN_OR_RETURN(const int trial, FirstTrial(*api, id, follow, run.screen));
  if (trial == 0) {
    run.screen->PrintNotice(absl::StrCat("experiment ", id, " has no trial",
                                         follow ? "" : " yet; wait for one with -f"));
    return kExitOk;
  }
  request.set_trial_id(trial);
  RetryPolicy retry(run.screen);
  retry.OnResponse();
  DET_RETURN_IF_ERROR(PrintLogs(*api, request, run.json() ? LogFormat::kJson : LogFormat::kText,
                                run.screen, retry));
  return kExitOk;
}

absl::StatusOr<int> RunWait(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Experiment last,
                       FollowExperiment(*api, id, run.screen, [](const Experiment&) {}));
  if (run.json()) DET_RETURN_IF_ERROR(run.PrintJson(last));
  return ReportFinalState(last, run);
}

}  // namespace

const std::vector<Option>& ListExperimentsOptions() {
  static const auto& options =
      *new std::vector<Option>(PagedOptions({{"all", 'a', "", "Include archived experiments"},
                                             {"show-project", 0, "", "Show workspace and project"}},
                                            kDefaultExperimentLimit));
  return options;
}

absl::StatusOr<int> ListExperiments(Invocation& run, api::v1::GetExperimentsRequest request) {
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run, kDefaultExperimentLimit));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const NameOrder order, ReadNameOrder(run, api::v1::ORDER_BY_DESC));
  request.set_sort_by(order.by_name ? api::v1::GetExperimentsRequest::SORT_BY_NAME
                                    : api::v1::GetExperimentsRequest::SORT_BY_ID);
  request.set_order_by(order.order);
  const bool all = run.args.Has("all");
  if (!all) request.set_archived(false);
  api::v1::GetExperimentsResponse response;
  DET_RETURN_IF_ERROR(api->Call("ExperimentService.GetExperiments", request, &response));
  return PrintPage(run, response, response.pagination(),
                   ExperimentTable(response, run.args.Has("show-project"), all), "experiments",
                   "no experiments yet; create one: det experiment create CONFIG CONTEXT_DIR");
}

absl::StatusOr<int> ReportFinalState(const Experiment& last, Invocation& run) {
  if (last.state() == Experiment::STATE_COMPLETED) return kExitOk;
  run.screen->PrintNotice(absl::StrCat("det: experiment ", last.id(), " ended in state ",
                                       TrimStatePrefix(StateName(last)),
                                       last.state_reason().empty() ? "" : ": ", last.state_reason(),
                                       "; see `det experiment logs ", last.id(), "`"));
  return kExitError;
}

std::vector<Command> ExperimentCommands() {
  std::vector<Command> commands = {ExperimentCreateCommand(), ExperimentWatchCommand()};
  for (auto& more :
       {ExperimentDescribeCommands(), ExperimentFileCommands(), ExperimentActionCommands(),
        ExperimentContinueCommands(), ExperimentDeletionCommands(), ExperimentEditCommands(),
        ExperimentSetCommands()}) {
    commands.insert(commands.end(), more.begin(), more.end());
  }
  std::vector<Option> list = ListExperimentsOptions();
  list.push_back({"project-id", 0, "ID", "Only experiments of this project"});
  list = SortedOptions(std::move(list));
  const std::vector<Command> rest = {
      {{"experiment", "list"}, "List experiments, newest first", {}, list, RunExperimentList, ""},
      {{"experiment", "list-trials"},
       "List the trials of an experiment",
       {kOneExperiment},
       PagedOptions({}),
       RunListTrials,
       ""},
      {{"experiment", "logs"},
       "Print the logs of an experiment's first trial",
       {kOneExperiment},
       LogOptions(),
       RunExperimentLogs,
       "For other trials use `det trial logs TRIAL`."},
      {{"experiment", "wait"},
       "Wait until an experiment has ended",
       {kOneExperiment},
       {{"polling-interval", 0, "SECONDS", "Accepted for compatibility and ignored"}},
       RunWait,
       "The exit code is 0 only if the experiment is COMPLETED."},
  };
  commands.insert(commands.end(), rest.begin(), rest.end());
  return commands;
}

}  // namespace det::cli
