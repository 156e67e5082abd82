#include "cli/commands/watch_frame.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/commands/struct_text.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/plot.h"
#include "cli/table.h"

namespace det::cli {
namespace {

using api::v1::MetricsReport;
using api::v1::Trial;

constexpr int kDefaultWidth = 80;
constexpr int kDefaultHeight = 24;
constexpr int kMaxPlotRows = 20;
constexpr int kMinPlotRows = 6;

// The metrics of a report by name.
const google::protobuf::Map<std::string, google::protobuf::Value>& GetValues(
    const MetricsReport& report) {
  static const google::protobuf::Struct none;
  for (const char* part : {"avg_metrics", "validation_metrics"}) {
    const auto found = report.metrics().fields().find(part);
    if (found != report.metrics().fields().end()) return found->second.struct_value().fields();
  }
  return none.fields();
}

std::vector<Curve> MakeCurves(const Watched& watched, const std::string& metric) {
  std::map<int, size_t> places;
  std::vector<Curve> curves(watched.trials.size());
  for (size_t i = 0; i < watched.trials.size(); ++i) {
    places[watched.trials[i].id()] = i;
    curves[i].paint = SeriesPaint(i);
  }
  for (const MetricsReport& report : watched.reports) {
    const auto place = places.find(report.trial_id());
    const auto value = GetValues(report).find(metric);
    if (place == places.end() || value == GetValues(report).end()) continue;
    if (!value->second.has_number_value()) continue;
    curves[place->second].points.emplace_back(report.total_batches(), value->second.number_value());
  }
  // A restarted trial reports some steps twice.
  for (Curve& curve : curves) std::stable_sort(curve.points.begin(), curve.points.end());
  return curves;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string BestTable(const Watched& watched, const Style& style) {
  if (watched.trials.empty()) return "no trials yet\n";
  Table table({{""},
               {"TRIAL", true},
               {"STATE"},
               {"BATCHES", true},
               {"BEST", true},
               {"RESTARTS", true},
               {"HYPERPARAMETERS", false, true}});
  for (size_t i = 0; i < watched.trials.size(); ++i) {
    const Trial& trial = watched.trials[i];
    table.AddRow({Cell("━━", SeriesPaint(i)), absl::StrCat(trial.id()),
                  MakeStateCell(Trial::State_Name(trial.state())),
                  absl::StrCat(trial.total_batches_processed()),
                  trial.has_best_validation() ? FormatNumber(trial.searcher_metric_value()) : "-",
                  absl::StrCat(trial.restarts()), FormatStruct(trial.hparams())});
  }
  return table.Render(style);
}

}  // namespace

std::set<std::string> MetricNames(const Watched& watched) {
  std::set<std::string> names;
  for (const MetricsReport& report : watched.reports) {
    for (const auto& [name, value] : GetValues(report)) {
      if (value.has_number_value()) names.insert(name);
    }
  }
  return names;
}

std::vector<std::string> WatchFrame(const Watched& watched, const std::string& metric,
                                    absl::Time now, const Style& style) {
  const int width = style.width > 0 ? style.width : kDefaultWidth;
  const int height = (style.height > 0 ? style.height : kDefaultHeight) - 1;
  Style fitting = style;
  fitting.width = width;
  const std::vector<std::string> trials = Lines(BestTable(watched, fitting));
  const std::vector<std::string> search = Lines(watched.search);
  std::vector<std::string> lines = {ProgressLine(watched.experiment, now, fitting), ""};
  // The plot gets the lines that the tables leave; if those are few, the tables are cut.
  const int tables = static_cast<int>(trials.size() + search.size()) + 2;
  const int room = height - static_cast<int>(lines.size()) - 1;
  const int rows = std::clamp(room - tables, kMinPlotRows, kMaxPlotRows);
  const std::vector<std::string> plot =
      Plot(MakeCurves(watched, metric), width, rows, "batches", style);
  if (!plot.empty()) {
    lines.push_back(ApplyPaint(RemoveControlCharacters(metric), Paint::kBold, style));
    lines.insert(lines.end(), plot.begin(), plot.end());
    lines.emplace_back();
  }
  lines.insert(lines.end(), trials.begin(), trials.end());
  if (!search.empty()) lines.emplace_back();
  lines.insert(lines.end(), search.begin(), search.end());
  if (static_cast<int>(lines.size()) > height)
    lines.resize(static_cast<size_t>(std::max(1, height)));
  for (std::string& line : lines) line = Truncate(line, width);
  return lines;
}

}  // namespace det::cli
