// det dev schedule, det cluster simulate, det cluster workload: the master's own decisions, made by
// its program resolute-simulate. det knows their options, for its help, and hands them on.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/program.h"

namespace det::cli {
namespace {

// What resolute-simulate is told: `command`, and each option as it was given to det.
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
    return UsageError("dev schedule: --snapshot is missing; `det cluster snapshot` writes one");
  }
  return RunClusterSimulate(run, "schedule");
}
absl::StatusOr<int> RunCluster(Invocation& run) { return RunClusterSimulate(run, "cluster"); }

absl::StatusOr<int> RunWorkload(Invocation& run) {
  if (run.json()) return UsageError("cluster workload: prints CSV; there is no --json");
  return RunClusterSimulate(run, "workload");
}

std::vector<Option> TraceOptions() {
  return {{"jobs", 0, "N", "jobs of a synthetic workload (5000)"},
          {"load", 0, "SHARE", "slot hours that they want, of those there are (0.9)"},
          {"seed", 0, "N", "another seed, another workload (1)"}};
}

Option AgentsOption() {
  return {"agents", 0, "NxSLOTS[:POOL]", "agents and their slots; may be given again (1000x8)"};
}

std::vector<Option> SimulateOptions() {
  std::vector<Option> options = {
      {"workload", 0, "FILE", "jobs (CSV or YAML), - for stdin; without: a synthetic workload"},
      AgentsOption(),
      {"policy", 0, "POLICY", "priority, fair_share or fifo (priority)"},
      {"preemption", 0, "", "more important jobs make less important ones leave"},
      {"no-backfill", 0, "", "nobody starts behind one who waits for slots: strict order"},
      {"fit", 0, "FIT", "best or worst (best)"},
      {"checkpoint-every", 0, "TIME", "what a preempted job keeps: all up to a multiple (10m)"},
      {"jobs-out", 0, "FILE", "write what became of each job (CSV)"},
  };
  for (Option& option : TraceOptions()) options.push_back(std::move(option));
  return options;
}

std::vector<Option> WorkloadOptions() {
  std::vector<Option> options = TraceOptions();
  options.push_back(AgentsOption());
  const std::vector<Option> shape = {
      {"users", 0, "N", "users, the k-th with 1/k of the jobs of the first (64)"},
      {"workspaces", 0, "N", "workspaces to which the users belong (8)"},
      {"max-slots", 0, "N", "slots of the largest job (an eighth of the cluster, 8 to 512)"},
      {"median-length", 0, "TIME", "of jobs of one slot, without the tail (4m)"},
      {"max-length", 0, "TIME", "of any job (72h)"},
      {"tail", 0, "SHARE", "of the jobs whose length is of the heavy tail (0.12)"},
      {"run-times", 0, "SHARE", "of the jobs that say a max_run_time (0)"}};
  options.insert(options.end(), shape.begin(), shape.end());
  return options;
}

}  // namespace

std::vector<Command> SimulateCommands() {
  return {
      {{"cluster", "simulate"},
       "run a workload on a cluster in virtual time: utilisation, waits, preemptions, fairness",
       {},
       SimulateOptions(),
       RunCluster,
       "Needs no master. The decisions are those of a master with these agents.\n"
       "  det cluster simulate --workload examples/workloads/week.csv --agents 64x8 --preemption"},
      {{"cluster", "workload"},
       "print a synthetic workload (CSV) with a heavy tail of sizes and lengths",
       {},
       WorkloadOptions(),
       RunWorkload,
       "Needs no master. `det cluster simulate --workload` reads it."},
      {{"dev", "schedule"},
       "one pass of the scheduler on a snapshot: its plan, with a reason for each decision",
       {},
       {{"snapshot", 0, "FILE", "what `det cluster snapshot` wrote (JSON); - for stdin"}},
       RunSchedule,
       "Needs no master. docs/scheduling.md has the format."},
  };
}

}  // namespace det::cli
