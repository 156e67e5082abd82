#include "cli/follow.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {
namespace {

using api::v1::Experiment;

std::string StateName(const Experiment& experiment) {
  return Experiment::State_Name(experiment.state());
}

// Estimates the remaining time from the progress so far.
std::string Eta(const Experiment& experiment, absl::Time now) {
  const double progress = experiment.progress().value();
  if (progress < 0.02 || progress >= 1 || experiment.start_time().seconds() == 0) return "";
  const absl::Duration spent = now - ToTime(experiment.start_time());
  return absl::StrCat("   ETA ", FormatSpan(spent * ((1 - progress) / progress)));
}

Paint GetPaint(const Style& style, absl::string_view word) {
  if (!style.colour) return Paint::kPlain;
  return MakeStateCell(word).paint;
}

// Calls `more` with each state of the experiment, the current one first, until it returns false.
absl::Status Watch(const ApiClient& api, int id, Screen* screen,
                   absl::FunctionRef<bool(const Experiment&)> more) {
  api::v1::WatchExperimentRequest request;
  request.set_experiment_id(id);
  api::v1::WatchExperimentResponse update;
  RetryPolicy retry(screen);
  bool enough = false;
  while (true) {
    absl::Status watched = api.Stream("ExperimentService.WatchExperiment", request, &update, [&] {
      retry.OnResponse();
      if (!update.has_experiment()) return true;
      enough = !more(update.experiment());
      return !enough;
    });
    if (enough) return absl::OkStatus();
    if (watched.ok()) watched = absl::AbortedError("the master ended the stream");
    // The first message of the next stream has the current state, so nothing is lost.
    DET_RETURN_IF_ERROR(retry.WaitBeforeRetry(watched));
  }
}

// Returns the name, shortened to the width that `rest` columns and the "…" leave free.
std::string FittingName(const Experiment& experiment, int rest, const Style& style) {
  const std::string name = RemoveControlCharacters(experiment.name());
  return style.width > 0 ? ShortenMiddle(name, std::max(1, style.width - 2 - rest)) : name;
}

}  // namespace

std::string ProgressText(const Experiment& experiment) {
  const std::string name = StateName(experiment);
  const bool failed = absl::EndsWith(name, "ERROR") || absl::EndsWith(name, "CANCELED") ||
                      absl::EndsWith(name, "KILLED");
  const double progress = experiment.progress().value();
  return failed && progress >= 1 ? "-" : FormatPercent(progress);
}

std::string ProgressLine(const Experiment& experiment, absl::Time now, const Style& style) {
  const std::string name = StateName(experiment);
  const bool over = IsTerminal(name);
  const std::string state =
      over ? std::string(TrimStatePrefix(name))
           : absl::StrCat(style.in_place && (style.width == 0 || style.width >= 80)
                              ? MakeProgressBar(experiment.progress().value()) + " "
                              : "",
                          ProgressText(experiment), "  ",
                          absl::AsciiStrToLower(TrimStatePrefix(name)));
  const std::string id = absl::StrCat(" ", experiment.id(), " ");
  const int rest = 1 + DisplayWidth(id) + 3 + DisplayWidth(state);
  std::string line = absl::StrCat(ApplyPaint(GetStateSymbol(name), GetPaint(style, name), style),
                                  id, FittingName(experiment, rest, style), "   ", state);
  if (experiment.num_trials() > 1) {
    absl::StrAppend(&line, "  ", FormatCount(experiment.num_trials(), "trial"));
  }
  if (experiment.has_best_trial_searcher_metric()) {
    absl::StrAppend(
        &line, "  best ",
        experiment.searcher_metric().empty() ? "" : absl::StrCat(experiment.searcher_metric(), " "),
        FormatNumber(experiment.best_trial_searcher_metric()), " (trial ",
        experiment.best_trial_id(), ")");
  }
  if (over && experiment.start_time().seconds() != 0 && experiment.end_time().seconds() != 0) {
    absl::StrAppend(&line, "   in ",
                    FormatSpan(ToTime(experiment.end_time()) - ToTime(experiment.start_time())));
  }
  if (!over) absl::StrAppend(&line, Eta(experiment, now));
  if (!experiment.state_reason().empty() && !over) {
    absl::StrAppend(&line, "   ", RemoveControlCharacters(experiment.state_reason()));
  }
  return line;
}

absl::StatusOr<Experiment> FollowExperiment(const ApiClient& api, int id, Screen* screen,
                                            absl::FunctionRef<void(const Experiment&)> changed) {
  Experiment last;
  const absl::Status watched = Watch(api, id, screen, [&](const Experiment& experiment) {
    last = experiment;
    screen->ShowProgress(ProgressLine(last, absl::Now(), screen->err()));
    changed(last);
    return !IsTerminal(StateName(last));
  });
  screen->EndProgress(/*keep=*/true);
  DET_RETURN_IF_ERROR(watched);
  return last;
}

absl::StatusOr<Experiment> FollowWithLogs(const ApiClient& api, int id, LogFormat form,
                                          Screen* screen) {
  std::thread logs;
  std::atomic<bool> started = false;
  const auto start_logs = [&](int trial_id) {
    started = true;
    logs = std::thread([&api, form, screen, trial_id] {
      api::v1::TrialLogsRequest request;
      request.set_trial_id(trial_id);
      request.set_follow(true);
      RetryPolicy quiet(nullptr);  // Only the other thread prints that it waits.
      quiet.OnResponse();
      const absl::Status status = PrintLogs(api, request, form, screen, quiet);
      if (!status.ok() && !absl::IsCancelled(status)) {
        screen->PrintNotice(absl::StrCat("det: log stream failed: ", status.message()));
      }
      // If stdout is closed, the other thread does not need to wait for the end of the experiment.
      if (screen->output_error() != 0) Interrupt();
    });
  };
  absl::StatusOr<Experiment> last =
      FollowExperiment(api, id, screen, [&](const Experiment& experiment) {
        if (started || experiment.num_trials() == 0) return;
        const absl::StatusOr<int> trial = FirstTrial(api, id, /*wait=*/false, screen);
        if (trial.ok() && *trial != 0) start_logs(*trial);
      });
  // A followed log ends with its trial or with an interrupt.
  if (logs.joinable()) logs.join();
  return last;
}

absl::StatusOr<int> FirstTrial(const ApiClient& api, int experiment_id, bool wait, Screen* screen) {
  const auto ask = [&]() -> absl::StatusOr<int> {
    api::v1::GetExperimentTrialsRequest request;
    request.set_experiment_id(experiment_id);
    request.set_sort_by(api::v1::GetExperimentTrialsRequest::SORT_BY_ID);
    request.set_limit(1);
    api::v1::GetExperimentTrialsResponse trials;
    DET_RETURN_IF_ERROR(api.Call("TrialService.GetExperimentTrials", request, &trials));
    return trials.trials().empty() ? 0 : trials.trials(0).id();
  };
  DET_ASSIGN_OR_RETURN(int trial, ask());
  if (trial != 0 || !wait) return trial;
  DET_RETURN_IF_ERROR(Watch(api, experiment_id, screen, [](const Experiment& experiment) {
    return experiment.num_trials() == 0 && !IsTerminal(StateName(experiment));
  }));
  return ask();
}

}  // namespace det::cli
