#include "cli/commands/search_text.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/commands/struct_text.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/search.pb.h"

namespace det::cli {
namespace {

using api::v1::Search;

// Returns the rungs, one line each.
std::string RungTable(const Search& search, const Style& style) {
  Table table({{"BRACKET", true},
               {absl::AsciiStrToUpper(search.unit()), true},
               {"REPORTED", true},
               {"PROMOTED", true},
               {"BEST", true}});
  for (int i = 0; i < search.brackets_size(); ++i) {
    for (const auto& rung : search.brackets(i).rungs()) {
      table.AddRow({absl::StrCat(i + 1), FormatPlainNumber(rung.length()),
                    absl::StrCat(rung.reported()), absl::StrCat(rung.continued()),
                    rung.has_best() ? FormatNumber(rung.best()) : "-"});
    }
  }
  return table.empty() ? "" : absl::StrCat("\n", table.Render(style));
}

std::string FrontTable(const Search& search, const Style& style) {
  if (search.front().empty()) return "";
  std::vector<Column> columns = {{"TRIAL", true}, {"BATCHES", true}};
  for (const auto& objective : search.objectives()) columns.push_back({objective.metric(), true});
  columns.push_back({"HYPERPARAMETERS", false, true});
  Table table(columns);
  for (const auto& point : search.front()) {
    std::vector<Cell> row = {absl::StrCat(point.trial_id()), absl::StrCat(point.steps_completed())};
    for (const double metric : point.metrics()) row.emplace_back(FormatNumber(metric));
    row.emplace_back(FormatStruct(point.hparams()));
    table.AddRow(std::move(row));
  }
  return absl::StrCat("\nPareto front\n", table.Render(style));
}

}  // namespace

absl::StatusOr<std::string> SearchText(const ApiClient& api, const api::v1::Experiment& experiment,
                                       const Style& style) {
  if (experiment.searcher_type() == "single") return "";
  api::v1::GetSearchRequest request;
  request.set_experiment_id(experiment.id());
  api::v1::GetSearchResponse response;
  DET_RETURN_IF_ERROR(api.Call("SearchService.GetSearch", request, &response));
  const api::v1::Search& search = response.search();
  std::string text;
  if (search.has_best_hparams()) {
    text = RenderFields({{"best trial", absl::StrCat(search.best_trial_id(), "  ",
                                                     FormatStruct(search.best_hparams()))}},
                        style);
  }
  return absl::StrCat(text, RungTable(search, style), FrontTable(search, style));
}

}  // namespace det::cli
