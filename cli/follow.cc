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
#include "proto/http_rule.h"

namespace det::cli {
namespace {

using api::v1::Experiment;

std::string StateName(const Experiment& experiment) {
  return Experiment::State_Name(experiment.state());
}

// What is left at the speed so far.
std::string Eta(const Experiment& experiment, absl::Time now) {
  const double progress = experiment.progress();
  if (progress < 0.02 || progress >= 1 || experiment.start_time().seconds() == 0) return "";
  const absl::Duration spent = now - ToTime(experiment.start_time());
  return absl::StrCat("   ETA ", Span(spent * ((1 - progress) / progress)));
}

Paint PaintOf(const Style& style, absl::string_view word) {
  if (!style.colour) return Paint::kPlain;
  return StateCell(word).paint;
}

}  // namespace

std::string ProgressLine(const Experiment& experiment, absl::Time now, const Style& style) {
  const std::string name = StateName(experiment);
  const bool over = IsTerminal(name);
  std::string line = absl::StrCat(Painted(StateMark(name), PaintOf(style, name), style), " ",
                                  experiment.id(), " ", experiment.name(), "   ");
  if (over) {
    absl::StrAppend(&line, StateWord(name));
  } else {
    absl::StrAppend(&line, Percent(experiment.progress()), "  ",
                    absl::AsciiStrToLower(StateWord(name)));
  }
  if (experiment.num_trials() > 1) absl::StrAppend(&line, "  ", experiment.num_trials(), " trials");
  if (experiment.has_best_trial_searcher_metric()) {
    absl::StrAppend(
        &line, "  best ",
        experiment.searcher_metric().empty() ? "" : absl::StrCat(experiment.searcher_metric(), " "),
        Number(experiment.best_trial_searcher_metric()), " (trial ", experiment.best_trial_id(),
        ")");
  }
  if (over && experiment.start_time().seconds() != 0 && experiment.end_time().seconds() != 0) {
    absl::StrAppend(&line, "   in ",
                    Span(ToTime(experiment.end_time()) - ToTime(experiment.start_time())));
  }
  if (!over) absl::StrAppend(&line, Eta(experiment, now));
  if (!experiment.state_reason().empty() && !over) {
    absl::StrAppend(&line, "   ", experiment.state_reason());
  }
  return line;
}

absl::StatusOr<Experiment> FollowExperiment(const ApiClient& api, int id, Screen* screen,
                                            absl::FunctionRef<void(const Experiment&)> changed) {
  api::v1::WatchExperimentRequest request;
  request.set_experiment_id(id);
  api::v1::WatchExperimentResponse update;
  Experiment last;
  absl::Duration pause = absl::Milliseconds(100);
  while (true) {
    const absl::Status watched =
        api.Stream("ExperimentService.WatchExperiment", request, &update, [&] {
          last = update.experiment();
          pause = absl::Milliseconds(100);
          screen->Progress(ProgressLine(last, absl::Now(), screen->err()));
          changed(last);
          return !IsTerminal(StateName(last));
        });
    if (IsTerminal(StateName(last))) break;
    const bool passing = watched.ok() || absl::IsAborted(watched) ||
                         (last.id() != 0 && absl::IsUnavailable(watched));
    if (!passing || pause > absl::Seconds(30)) {
      screen->EndProgress(/*keep=*/true);
      return watched.ok() ? absl::AbortedError("the master ended the watch") : watched;
    }
    // The master restarts, or the stream broke: what was missed comes with its first element.
    if (const absl::Status waited = WaitFor(-1, 0, pause); absl::IsCancelled(waited)) {
      screen->EndProgress(true);
      return waited;
    }
    pause *= 2;
  }
  screen->EndProgress(true);
  return last;
}

absl::StatusOr<Experiment> FollowWithLogs(const ApiClient& api, int id, LogForm form,
                                          Screen* screen) {
  std::thread logs;
  std::atomic<bool> started = false;
  const auto start_logs = [&](int trial_id) {
    started = true;
    logs = std::thread([&api, form, screen, trial_id] {
      api::v1::TrialLogsRequest request;
      request.set_trial_id(trial_id);
      request.set_follow(true);
      const absl::Status status = PrintLogs(api, request, form, screen);
      if (!status.ok() && !absl::IsCancelled(status)) {
        screen->Note(absl::StrCat("det: the log ends here: ", status.message()));
      }
    });
  };
  absl::StatusOr<Experiment> last =
      FollowExperiment(api, id, screen, [&](const Experiment& experiment) {
        if (started || experiment.num_trials() == 0) return;
        const absl::StatusOr<int> trial = FirstTrial(api, id, /*wait=*/false);
        if (trial.ok() && *trial != 0) start_logs(*trial);
      });
  // A followed log ends by itself with its trial, and with an interrupt.
  if (logs.joinable()) logs.join();
  return last;
}

std::string LogText(const api::v1::TrialLogsResponse& line, const Style& style) {
  const std::string time =
      absl::FormatTime("%H:%M:%S ", ToTime(line.timestamp()), absl::LocalTimeZone());
  const std::string& text = !line.message().empty() ? line.message() : line.log();
  const bool alarm = line.level() >= api::v1::LOG_LEVEL_ERROR;
  const absl::string_view end = absl::EndsWith(text, "\n") ? "" : "\n";
  return absl::StrCat(Painted(time, Paint::kFaint, style),
                      Painted(text, alarm ? Paint::kFailed : Paint::kPlain, style), end);
}

absl::Status PrintLogs(const ApiClient& api, const api::v1::TrialLogsRequest& request, LogForm form,
                       Screen* screen) {
  api::v1::TrialLogsResponse line;
  absl::Status printed;
  const absl::Status streamed = api.Stream("TrialService.TrialLogs", request, &line, [&] {
    if (form == LogForm::kAside) {
      screen->Note(absl::StripSuffix(LogText(line, Style()), "\n"));
      return true;
    }
    if (form == LogForm::kText) {
      screen->Print(LogText(line, screen->out()));
      return true;
    }
    const absl::StatusOr<std::string> text = proto::ToJson(line);
    printed = text.status();
    if (text.ok()) screen->Print(*text + "\n");
    return printed.ok();
  });
  return printed.ok() ? streamed : printed;
}

absl::StatusOr<int> FirstTrial(const ApiClient& api, int experiment_id, bool wait) {
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
  api::v1::WatchExperimentRequest request;
  request.set_experiment_id(experiment_id);
  api::v1::WatchExperimentResponse update;
  DET_RETURN_IF_ERROR(api.Stream("ExperimentService.WatchExperiment", request, &update, [&] {
    return update.experiment().num_trials() == 0 && !IsTerminal(StateName(update.experiment()));
  }));
  return ask();
}

}  // namespace det::cli
