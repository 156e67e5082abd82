// det trial describe|logs|kill|set
#include "cli/commands/trial.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/id_arguments.h"
#include "cli/commands/log_options.h"
#include "cli/commands/log_retention.h"
#include "cli/commands/paging.h"
#include "cli/commands/struct_text.h"
#include "cli/format.h"
#include "cli/logs.h"
#include "cli/table.h"
#include "det/api/v1/log_retention.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {
namespace {

using api::v1::Trial;

std::string ValidationText(const api::v1::MetricsWorkload& validation) {
  return absl::StrCat(FormatStruct(validation.metrics().avg_metrics()), "  (batch ",
                      validation.total_batches(), ")");
}

std::string RunTable(const Trial& trial, const Style& style) {
  Table table({{"ATTEMPT", true},
               {"STARTED"},
               {"DURATION", true},
               {"AGENTS"},
               {"SLOTS", true},
               {"EXIT", true},
               {"REASON", false, true}});
  for (const api::v1::TrialRun& run : trial.runs()) {
    const bool began = run.start_time().seconds() != 0;
    const bool over = run.end_time().seconds() != 0;
    const absl::Time end = over ? ToTime(run.end_time()) : absl::Now();
    table.AddRow({absl::StrCat(run.run_id()), FormatTimestamp(run.start_time()),
                  began ? FormatSpan(end - ToTime(run.start_time())) : "-",
                  absl::StrJoin(run.agent_ids(), ","), absl::StrCat(run.slots()),
                  run.has_exit_code() ? absl::StrCat(run.exit_code()) : "-",
                  !run.exit_reason().empty() ? run.exit_reason()
                  : over                     ? "-"
                                             : "running"});
  }
  return table.empty() ? "" : absl::StrCat("\n", table.Render(style));
}

std::string Description(const Trial& trial, const Style& style) {
  std::vector<std::pair<std::string, Cell>> fields = {
      {"trial", absl::StrCat(trial.id(), "  of experiment ", trial.experiment_id())},
      {"state", MakeStateCell(Trial::State_Name(trial.state()))}};
  if (!trial.state_reason().empty()) fields.emplace_back("reason", trial.state_reason());
  fields.emplace_back(
      "progress",
      absl::StrCat(FormatPercent(trial.progress()), ", ", trial.total_batches_processed(),
                   trial.total_batches_processed() == 1 ? " batch" : " batches"));
  fields.emplace_back("restarts", absl::StrCat(trial.restarts()));
  if (trial.has_log_policy_matched()) {
    fields.emplace_back("log policy", trial.log_policy_matched());
  }
  fields.emplace_back("hyperparameters", FormatStruct(trial.hparams()));
  if (trial.has_best_validation()) {
    fields.emplace_back("best validation", ValidationText(trial.best_validation()));
  }
  if (trial.has_latest_validation()) {
    fields.emplace_back("latest validation", ValidationText(trial.latest_validation()));
  }
  if (!trial.latest_checkpoint_uuid().empty()) {
    fields.emplace_back("latest checkpoint", trial.latest_checkpoint_uuid());
  }
  fields.emplace_back("checkpoints", absl::StrCat(trial.checkpoint_count(), ", ",
                                                  FormatBytes(trial.total_checkpoint_size())));
  fields.emplace_back("started", FormatTimestamp(trial.start_time()));
  fields.emplace_back("ended", FormatTimestamp(trial.end_time()));
  return absl::StrCat(RenderFields(fields, style), RunTable(trial, style));
}

// Returns the last, minimum, maximum and mean value of each metric.
std::string SummaryTable(const Trial& trial, const Style& style) {
  Table table({{"GROUP"},
               {"METRIC", false, true},
               {"COUNT", true},
               {"LAST", true},
               {"MIN", true},
               {"MAX", true},
               {"MEAN", true}});
  std::vector<std::vector<Cell>> rows;
  for (const auto& [group, metrics] : trial.summary_metrics().fields()) {
    for (const auto& [name, summary] : metrics.struct_value().fields()) {
      const auto& values = summary.struct_value().fields();
      const auto text = [&values = values](const char* key) -> std::string {
        const auto it = values.find(key);
        if (it == values.end() || it->second.has_null_value()) return "-";
        const bool is_metric = it->second.has_number_value() && it->first != "count";
        return is_metric ? FormatNumber(it->second.number_value()) : FormatValue(it->second);
      };
      table.AddRow(
          {group, name, text("count"), text("last"), text("min"), text("max"), text("mean")});
    }
  }
  return table.empty() ? "" : absl::StrCat("\n", table.Render(style));
}

absl::StatusOr<int> RunTrialDescribe(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("TRIAL"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const bool metrics = run.args.Has("metrics") || run.args.Has("csv");
  if (!metrics || run.json()) {
    api::v1::GetTrialRequest request;
    request.set_trial_id(id);
    api::v1::GetTrialResponse response;
    DET_RETURN_IF_ERROR(api->Call("TrialService.GetTrial", request, &response));
    if (run.json()) return run.PrintResult(response, "");
    run.screen->Print(Description(response.trial(), run.screen->out()));
    if (run.args.Has("metrics-summary")) {
      run.screen->Print(SummaryTable(response.trial(), run.screen->out()));
    }
    return kExitOk;
  }
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  DET_ASSIGN_OR_RETURN(api::v1::GetTrialWorkloadsResponse workloads, GetWorkloads(*api, id));
  KeepPage(page, workloads.mutable_workloads());
  Table table = EmptyWorkloadTable();
  AddWorkloads(id, workloads, &table);
  return PrintPage(run, workloads, workloads.pagination(), table, "reports",
                   absl::StrCat("trial ", id, " has no reports yet"));
}

absl::StatusOr<int> RunTrialLogs(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("TRIAL"));
  api::v1::TrialLogsRequest request;
  request.set_trial_id(id);
  DET_RETURN_IF_ERROR(ReadLogOptions(run, &request));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_RETURN_IF_ERROR(PrintLogs(*api, request, run.json() ? LogFormat::kJson : LogFormat::kText,
                                run.screen, RetryPolicy(run.screen)));
  return kExitOk;
}

absl::StatusOr<int> RunTrialKill(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("TRIAL"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::KillTrialRequest request;
  request.set_id(id);
  api::v1::KillTrialResponse response;
  DET_RETURN_IF_ERROR(api->Call("TrialService.KillTrial", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(absl::StrCat("killed trial ", id, "\n"));
  }
  return kExitOk;
}

absl::StatusOr<int> RunTrialSetLogRetention(Invocation& run) {
  api::v1::PutTrialRetainLogsRequest request;
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("TRIAL"));
  DET_ASSIGN_OR_RETURN(const int days, ReadLogRetention(run));
  request.set_trial_id(id);
  request.set_num_days(days);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PutTrialRetainLogsResponse response;
  DET_RETURN_IF_ERROR(api->Call("LogRetentionService.PutTrialRetainLogs", request, &response));
  return run.PrintResult(response, FormatLogRetention(absl::StrCat("trial ", id), days));
}

}  // namespace

Table TrialTable(const api::v1::GetExperimentTrialsResponse& trials, bool all_columns) {
  const bool policies =
      all_columns || std::any_of(trials.trials().begin(), trials.trials().end(),
                                 [](const Trial& each) { return each.has_log_policy_matched(); });
  std::vector<Column> columns = {{"TRIAL", true},
                                 {"STATE"},
                                 {"BATCHES", true},
                                 {"BEST", true},
                                 {"RESTARTS", true},
                                 {"STARTED"},
                                 {"HYPERPARAMETERS", false, true}};
  if (policies) columns.push_back({"LOG POLICY"});
  Table table(std::move(columns));
  for (const Trial& trial : trials.trials()) {
    std::vector<Cell> row = {
        absl::StrCat(trial.id()),
        MakeStateCell(Trial::State_Name(trial.state())),
        absl::StrCat(trial.total_batches_processed()),
        trial.has_best_validation() ? FormatNumber(trial.searcher_metric_value()) : "-",
        absl::StrCat(trial.restarts()),
        MakeAgeCell(trial.start_time(), absl::Now()),
        FormatStruct(trial.hparams())};
    if (policies) {
      row.push_back(trial.has_log_policy_matched() ? trial.log_policy_matched() : "-");
    }
    table.AddRow(std::move(row));
  }
  return table;
}

std::string TrialText(const api::v1::GetExperimentTrialsResponse& trials, const Style& style) {
  return trials.trials().empty() ? "no trials yet\n" : TrialTable(trials, false).Render(style);
}

std::vector<Command> TrialCommands() {
  std::vector<Command> commands = TrialFileCommands();
  const std::vector<Command> rest = {
      {{"trial", "describe"},
       "Show a trial with its metrics and attempts",
       {kOneTrial},
       PagedOptions({{"metrics", 0, "", "Show all metric reports and checkpoints instead"},
                     {"metrics-summary", 0, "", "Include last, min, max and mean of each metric"}}),
       RunTrialDescribe,
       ""},
      {{"trial", "logs"}, "Print the logs of a trial", {kOneTrial}, LogOptions(), RunTrialLogs, ""},
      {{"trial", "set", "log-retention"},
       "Set how long the logs of a trial are kept",
       {kOneTrial},
       LogRetentionOptions(),
       RunTrialSetLogRetention,
       ""},
      {{"trial", "kill"}, "Kill a trial", {kOneTrial}, {}, RunTrialKill, ""},
  };
  commands.insert(commands.end(), rest.begin(), rest.end());
  return commands;
}

}  // namespace det::cli
