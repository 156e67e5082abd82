// det dev schedule, det cluster simulate, det cluster workload: run by the program
// resolute-simulate, which uses the scheduler of the master. det declares their options for its
// help and passes them on.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/program.h"

namespace det::cli {
namespace {

// Runs resolute-simulate with `command` and all options that det was given.
absl::StatusOr<int> RunClusterSimulate(const Invocation& run, const std::string& command) {
  DET_ASSIGN_OR_RETURN(const std::string program,
                       FindProgram("master/simulate", "resolute-simulate"));
  std::vector<std::string> argv = {command};
  for (const auto& [option, values] : run.args.options) {
    if (option == "master") continue;
    for (const std::string& value : values) {
      argv.push_back(value.empty() ? absl::StrCat("--", option)
                                   : absl::StrCat("--", option, "=", value));
    }
  }
  DET_RETURN_IF_ERROR(ExecProgram(program, argv));
  return kExitError;
}

absl::StatusOr<int> RunSchedule(Invocation& run) {
  if (!run.args.Has("snapshot")) {
    return UsageError(
        "dev schedule: --snapshot is required; create one with `det cluster snapshot`");
  }
  return RunClusterSimulate(run, "schedule");
}
absl::StatusOr<int> RunCluster(Invocation& run) { return RunClusterSimulate(run, "cluster"); }

absl::StatusOr<int> RunWorkload(Invocation& run) {
  if (run.json()) return UsageError("cluster workload: --json is not supported");
  return RunClusterSimulate(run, "workload");
}

std::vector<Option> TraceOptions() {
  return {{"jobs", 0, "N", "Number of jobs of a synthetic workload (default: 5000)"},
          {"load", 0, "SHARE", "Requested share of the available slot hours (default: 0.9)"},
          {"seed", 0, "N", "Random seed of the workload (default: 1)"}};
}

Option AgentsOption() {
  return {"agents", 0, "NxSLOTS[:POOL]", "Agents and their slots; repeatable (default: 1000x8)"};
}

std::vector<Option> SimulateOptions() {
  std::vector<Option> options = {
      {"workload", 0, "FILE", "Jobs (CSV or YAML), - for stdin (default: a synthetic workload)"},
      AgentsOption(),
      {"policy", 0, "POLICY", "Policy: priority, fair_share or fifo (default: priority)"},
      {"preemption", 0, "", "Let jobs of higher priority preempt others"},
      {"no-backfill", 0, "", "Start no job ahead of one that waits for slots"},
      {"fit", 0, "FIT", "Fitting policy: best or worst (default: best)"},
      {"checkpoint-every", 0, "TIME", "Interval at which jobs checkpoint (default: 10m)"},
      {"jobs-out", 0, "FILE", "Write the result of each job (CSV)"},
  };
  for (Option& option : TraceOptions()) options.push_back(std::move(option));
  return options;
}

std::vector<Option> WorkloadOptions() {
  std::vector<Option> options = TraceOptions();
  options.push_back(AgentsOption());
  const std::vector<Option> shape = {
      {"users", 0, "N", "Number of users; user k has 1/k of the jobs of user 1 (64)"},
      {"workspaces", 0, "N", "Number of workspaces that the users belong to (default: 8)"},
      {"max-slots", 0, "N", "Slots of the largest job (default: 1/8 of cluster, 8 to 512)"},
      {"median-length", 0, "TIME", "Median length of jobs of one slot without the tail (4m)"},
      {"max-length", 0, "TIME", "Maximum length of a job (default: 72h)"},
      {"tail", 0, "SHARE", "Share of jobs in the heavy tail of lengths (default: 0.12)"},
      {"run-times", 0, "SHARE", "Share of jobs that set max_run_time (default: 0)"}};
  options.insert(options.end(), shape.begin(), shape.end());
  return options;
}

}  // namespace

std::vector<Command> SimulateCommands() {
  return {
      {{"cluster", "simulate"},
       "Simulate a workload on a cluster in virtual time",
       {},
       SimulateOptions(),
       RunCluster,
       "No master is needed. The report has utilization, wait times, preemptions and fairness. The "
       "decisions are those of a master with these agents.\n  det cluster simulate --workload "
       "examples/workloads/week.csv --agents 64x8 --preemption"},
      {{"cluster", "workload"},
       "Print a synthetic workload (CSV) with heavy-tailed sizes",
       {},
       WorkloadOptions(),
       RunWorkload,
       "No master is needed. Use the output with `det cluster simulate --workload`."},
      {{"dev", "schedule"},
       "Run one scheduling pass on a snapshot and print its plan",
       {},
       {{"snapshot", 0, "FILE", "Output of `det cluster snapshot` (JSON); - for stdin"}},
       RunSchedule,
       "No master is needed. The plan has a reason for each decision. docs/scheduling.md describes "
       "the format."},
  };
}

}  // namespace det::cli
