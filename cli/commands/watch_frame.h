// What `det experiment watch` shows on a terminal: state, curves, best trials, rungs.
// Called by experiment_watch.cc. Does no I/O; the clock is the caller's.
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
  std::vector<api::v1::Trial> trials;           // the best first, as many as have curves
  std::vector<api::v1::MetricsReport> reports;  // of these trials, by steps
  std::string search;                           // best hyperparameters and rungs, as lines
};

// The numbers that were reported, by name.
std::set<std::string> MetricNames(const Watched& watched);

// Lines that fit the terminal, one less than it has; curves of `metric`.
std::vector<std::string> WatchFrame(const Watched& watched, const std::string& metric,
                                    absl::Time now, const Style& style);

}  // namespace det::cli

#endif  // CLI_COMMANDS_WATCH_FRAME_H_
