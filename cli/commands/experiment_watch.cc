// det experiment watch
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/experiment.h"
#include "cli/commands/search_text.h"
#include "cli/commands/watch_frame.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "cli/retry_policy.h"
#include "cli/terminal_input.h"

namespace det::cli {
namespace {

using api::v1::Experiment;

constexpr absl::Duration kPollInterval = absl::Seconds(1);

// Returns whether the search minimizes its metric.
bool SmallerIsBetter(const Experiment& experiment) {
  const auto& config = experiment.config().fields();
  const auto searcher = config.find("searcher");
  if (searcher == config.end()) return true;
  const auto& fields = searcher->second.struct_value().fields();
  const auto value = fields.find("smaller_is_better");
  return value == fields.end() || value->second.bool_value();
}

absl::StatusOr<Experiment> GetExperiment(const ApiClient& api, int id) {
  api::v1::GetExperimentRequest request;
  request.set_experiment_id(id);
  api::v1::GetExperimentResponse response;
  DET_RETURN_IF_ERROR(api.Call("ExperimentService.GetExperiment", request, &response));
  return response.experiment();
}

absl::StatusOr<Watched> FetchWatched(const ApiClient& api, int id, int trials,
                                     const std::string& group, const Style& style) {
  Watched watched;
  DET_ASSIGN_OR_RETURN(watched.experiment, GetExperiment(api, id));
  api::v1::GetExperimentTrialsRequest request;
  request.set_experiment_id(id);
  request.set_sort_by(api::v1::GetExperimentTrialsRequest::SORT_BY_BEST_VALIDATION_METRIC);
  request.set_order_by(SmallerIsBetter(watched.experiment) ? api::v1::ORDER_BY_ASC
                                                           : api::v1::ORDER_BY_DESC);
  request.set_limit(trials);
  api::v1::GetExperimentTrialsResponse best;
  DET_RETURN_IF_ERROR(api.Call("TrialService.GetExperimentTrials", request, &best));
  watched.trials.assign(best.trials().begin(), best.trials().end());
  api::v1::GetMetricsRequest metrics;
  metrics.set_group(group);
  for (const api::v1::Trial& trial : watched.trials) metrics.add_trial_ids(trial.id());
  if (!watched.trials.empty()) {
    api::v1::GetMetricsResponse some;
    DET_RETURN_IF_ERROR(api.Stream("TrialService.GetMetrics", metrics, &some, [&] {
      watched.reports.insert(watched.reports.end(), some.metrics().begin(), some.metrics().end());
      return true;
    }));
  }
  DET_ASSIGN_OR_RETURN(watched.search, SearchText(api, watched.experiment, style));
  return watched;
}

// Draws each frame over the previous one.
class Display {
 public:
  explicit Display(Screen* screen) : screen_(screen) {}

  // Other output was written below the frame, so the next frame starts below it.
  void Restart() { shown_.clear(); }

  void Show(const std::vector<std::string>& lines) {
    const std::string text = absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
    if (text == shown_) return;
    const size_t up = static_cast<size_t>(std::count(shown_.begin(), shown_.end(), '\n'));
    const std::string back = up == 0 ? "" : absl::StrCat("\x1b[", up, "A\r\x1b[J");
    screen_->Print(back + text);
    shown_ = text;
  }

 private:
  Screen* const screen_;
  std::string shown_;
};

// Returns the name after `metric`; the first name after the last.
std::string NextMetric(const std::set<std::string>& names, const std::string& metric) {
  const auto next = names.upper_bound(metric);
  if (next != names.end()) return *next;
  return names.empty() ? metric : *names.begin();
}

// Draws frames on a terminal until the experiment ends or the user quits.
absl::StatusOr<Experiment> WatchOnTerminal(Invocation& run, const ApiClient& api, int id,
                                           int trials, const std::string& group) {
  const NoEchoInput keys(/*keys=*/true);
  Display display(run.screen);
  RetryPolicy retry(run.screen);
  std::string metric = run.args.Get("metric").value_or("");
  while (true) {
    Style style = Style::ForStream(STDOUT_FILENO);  // The size may have changed.
    style.colour = run.screen->out().colour;
    const absl::StatusOr<Watched> watched = FetchWatched(api, id, trials, group, style);
    if (!watched.ok()) {
      DET_RETURN_IF_ERROR(retry.WaitBeforeRetry(watched.status()));
      display.Restart();
      continue;
    }
    retry.OnResponse();
    if (metric.empty()) metric = watched->experiment.searcher_metric();
    display.Show(WatchFrame(*watched, metric, absl::Now(), style));
    if (IsTerminal(Experiment::State_Name(watched->experiment.state()))) {
      return watched->experiment;
    }
    DET_ASSIGN_OR_RETURN(const char key, NextKey(kPollInterval));
    if (key == 'q') return watched->experiment;
    if (key == 'm' || key == '\t') metric = NextMetric(MetricNames(*watched), metric);
  }
}

absl::StatusOr<int> RunWatch(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("EXPERIMENT"));
  DET_ASSIGN_OR_RETURN(const int trials, run.args.GetInt("trials", 8, 1, 100));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const bool draws = run.screen->out().in_place && !run.json();
  const absl::StatusOr<Experiment> last =
      draws ? WatchOnTerminal(run, *api, id, trials, run.args.Get("group").value_or("validation"))
            : FollowExperiment(*api, id, run.screen, [](const Experiment&) {});
  if (absl::IsCancelled(last.status())) {
    run.screen->PrintNotice(absl::StrCat("det: experiment ", id,
                                         " is still running; stop it with `det experiment ",
                                         "kill ", id, "`"));
  }
  DET_RETURN_IF_ERROR(last.status());
  if (run.json()) DET_RETURN_IF_ERROR(run.PrintJson(*last));
  // The user quit; the experiment is still running.
  if (!IsTerminal(Experiment::State_Name(last->state()))) return kExitOk;
  return ReportFinalState(*last, run);
}

}  // namespace

Command ExperimentWatchCommand() {
  return {{"experiment", "watch"},
          "Watch an experiment: state, metric curves, best trials, rungs",
          {{"EXPERIMENT", "Experiment ID"}},
          {{"metric", 0, "NAME", "Metric to plot (default: the searcher metric)"},
           {"group", 0, "GROUP", "Metric group (default: validation)"},
           {"trials", 0, "N", "Number of trials to plot (default: 8)"}},
          RunWatch,
          "Keys: m shows the next metric, q quits. In a pipe, each change is a line on "
          "stderr.\nCtrl-C leaves the experiment running (exit code 3)."};
}

}  // namespace det::cli
