// The terminal frame of `det experiment watch`: state, curves, best trials, rungs. Used by
// experiment_watch.cc. Does no I/O; the caller passes the time.
#ifndef CLI_COMMANDS_WATCH_FRAME_H_
#define CLI_COMMANDS_WATCH_FRAME_H_

#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/terminal.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

struct Watched {
  api::v1::Experiment experiment;
  std::vector<api::v1::Trial> trials;           // trials to plot, best first
  std::vector<api::v1::MetricsReport> reports;  // reports of these trials, sorted by step
  std::string search;                           // best hyperparameters and rungs, as lines
};

// Returns the names of the reported numeric metrics.
std::set<std::string> MetricNames(const Watched& watched);

// Returns lines that fit the terminal, one less than its height, with curves of `metric`.
std::vector<std::string> WatchFrame(const Watched& watched, const std::string& metric,
                                    absl::Time now, const Style& style);

}  // namespace det::cli

#endif  // CLI_COMMANDS_WATCH_FRAME_H_
