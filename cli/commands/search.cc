// det preview-search, det search simulate
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/struct_text.h"
#include "cli/config_file.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/search.pb.h"

namespace det::cli {
namespace {

constexpr int kBarWidth = 30;

// Returns a bar "▇▇▇" in proportion to `value` / `max`, at least one block long.
std::string MakeHistogramBar(double value, double max) {
  const int marks = std::max(1, static_cast<int>(std::lround(value / max * kBarWidth)));
  std::string bar;
  for (int i = 0; i < marks; ++i) absl::StrAppend(&bar, "▇");
  return bar;
}

std::string RenderSummary(const api::v1::SearchSummary& summary, const Style& style) {
  const std::string unit = summary.trials().empty() ? "units" : summary.trials(0).unit().name();
  int max = 1;
  for (const api::v1::TrialSummary& row : summary.trials()) max = std::max(max, row.count());
  Table table({{"TRIALS", true}, {absl::StrCat(absl::AsciiStrToUpper(unit), " EACH"), true}, {""}});
  for (const api::v1::TrialSummary& row : summary.trials()) {
    table.AddRow({absl::StrCat(row.count()),
                  row.unit().max_length() ? "max" : absl::StrCat(row.unit().value()),
                  Cell(MakeHistogramBar(row.count(), max), Paint::kRunning)});
  }
  std::string out = table.Render(style);
  absl::StrAppend(&out, "\n", FormatCount(summary.total_trials(), "trial"));
  if (summary.total_units() > 0) absl::StrAppend(&out, ", ", summary.total_units(), " ", unit);
  if (summary.brackets_size() > 1) {
    absl::StrAppend(&out, ", ", summary.brackets_size(), " brackets:\n");
    for (const api::v1::BracketSummary& bracket : summary.brackets()) {
      std::vector<std::string> rungs;
      for (const api::v1::TrialSummary& row : bracket.trials()) {
        rungs.push_back(absl::StrCat(row.count(), " to ", row.unit().value()));
      }
      absl::StrAppend(&out, "  ", absl::StrJoin(rungs, ", "), "\n");
    }
    return out;
  }
  return absl::StrCat(out, "\n");
}

// Returns rows {"trials": n, "length": units}, sorted by length.
std::string SummaryJson(const api::v1::SearchSummary& summary) {
  std::vector<std::string> rows;
  for (const api::v1::TrialSummary& row : summary.trials()) {
    rows.push_back(absl::StrCat("  {\"trials\": ", row.count(), ", \"length\": ",
                                row.unit().max_length() ? "null" : absl::StrCat(row.unit().value()),
                                "}"));
  }
  return absl::StrCat("[\n", absl::StrJoin(rows, ",\n"), "\n]\n");
}

// Accepts any seed that an experiment config accepts, including 0.
template <class Request>
absl::Status SetSeed(const Arguments& args, Request* request) {
  const std::optional<std::string> text = args.Get("seed");
  if (!text) return absl::OkStatus();
  uint32_t seed = 0;
  if (!absl::SimpleAtoi(*text, &seed)) {
    return UsageError(absl::StrCat("--seed: expected an integer from 0 to ",
                                   std::numeric_limits<uint32_t>::max(), ", found \"", *text,
                                   "\""));
  }
  request->set_seed(seed);
  return absl::OkStatus();
}

absl::StatusOr<int> RunPreview(Invocation& run) {
  api::v1::PreviewHPSearchRequest request;
  DET_ASSIGN_OR_RETURN(*request.mutable_yaml(),
                       ReadConfig(run.args.Word("CONFIG"), run.args.GetAll("config")));
  for (const std::string& each : run.args.GetAll("config")) request.add_config_overrides(each);
  DET_RETURN_IF_ERROR(SetSeed(run.args, &request));
  request.set_config_path(run.args.Word("CONFIG"));
  request.set_template_(run.args.Get("template").value_or(""));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PreviewHPSearchResponse response;
  DET_RETURN_IF_ERROR(api->Call("SearchService.PreviewHPSearch", request, &response));
  run.screen->Print(run.json() ? SummaryJson(response.summary())
                               : RenderSummary(response.summary(), run.screen->out()));
  return kExitOk;
}

std::string RenderSimulation(const api::v1::SimulateSearchResponse& result, const Style& style) {
  Table table({{"UNITS SPENT", true}, {"BEST", true}, {""}});
  for (const auto& best : result.best()) {
    table.AddRow({FormatPlainNumber(best.units()), FormatNumber(best.metric()),
                  Cell(MakeHistogramBar(best.units(), std::max(1.0, result.total_units())),
                       Paint::kRunning)});
  }
  return absl::StrCat(table.Render(style), "\n", FormatCount(result.trials_size(), "trial"), ", ",
                      FormatPlainNumber(result.total_units()),
                      " units in all\nbest: ", FormatStruct(result.best_hparams()), "\n");
}

absl::StatusOr<int> RunSearchSimulate(Invocation& run) {
  api::v1::SimulateSearchRequest request;
  DET_ASSIGN_OR_RETURN(*request.mutable_yaml(),
                       ReadConfig(run.args.Word("CONFIG"), run.args.GetAll("config")));
  for (const std::string& each : run.args.GetAll("config")) request.add_config_overrides(each);
  DET_RETURN_IF_ERROR(SetSeed(run.args, &request));
  request.set_config_path(run.args.Word("CONFIG"));
  request.set_template_(run.args.Get("template").value_or(""));
  const std::string path = run.args.Get("objective").value_or("");
  if (path.empty()) {
    return UsageError("search simulate: --objective FILE.csv is required");
  }
  const absl::StatusOr<std::string> curves = base::ReadFile(path);
  if (!curves.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("objective: ", curves.status().message()));
  }
  request.set_curves(*curves);
  request.set_curves_path(path);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::SimulateSearchResponse response;
  DET_RETURN_IF_ERROR(api->Call("SearchService.SimulateSearch", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  run.screen->Print(RenderSimulation(response, run.screen->out()));
  return kExitOk;
}

const std::vector<Option>& SearchOptions() {
  static const auto& options = *new std::vector<Option>{
      {"seed", 0, "S", "Random seed (default: reproducibility.experiment_seed)"},
      {"template", 0, "NAME", "Template to apply, see `det template`"},
      {"config", 0, "KEY=VALUE", "Override a config field; repeatable"}};
  return options;
}

}  // namespace

std::vector<Command> SearchCommands() {
  std::vector<Option> simulate = SearchOptions();
  simulate.insert(simulate.begin(), {"objective", 0, "FILE.csv", "Recorded learning curves"});
  return {
      {{"preview-search"},
       "Preview the number and length of trials of a search",
       {{"CONFIG", "Experiment config (YAML)"}},
       SearchOptions(),
       RunPreview,
       "With --json: rows {\"trials\": n, \"length\": units}, sorted by length."},
      {{"search", "simulate"},
       "Simulate a search on recorded learning curves",
       {{"CONFIG", "Experiment config (YAML)"}},
       simulate,
       RunSearchSimulate,
       "FILE.csv has a header and one row per validation: one column per hyperparameter (nested "
       "ones as optimizer.lr, missing ones empty), then length, then metrics. Each trial uses the "
       "recorded curve with the nearest hyperparameters. The output shows the best value by units "
       "spent."},
  };
}

}  // namespace det::cli
