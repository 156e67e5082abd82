// Workloads: the arrivals, sizes and lengths of jobs. Read from CSV or YAML, written as CSV;
// docs/scheduling.md, "Workloads", documents the format.
// Called by main and by benchmarks, on any thread. Reads no files.
#ifndef MASTER_SIMULATE_WORKLOAD_H_
#define MASTER_SIMULATE_WORKLOAD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::simulate {

// An experiment with one trial.
struct Job {
  absl::Duration arrival;  // since the beginning
  int slots = 1;
  absl::Duration length;  // of the work, from its first start and without interruption
  std::string user = "user";
  std::string workspace = "Uncategorized";
  int priority = 42;
  double weight = 1;
  std::optional<absl::Duration> max_run_time;
  std::string pool = {};  // empty: the first of the cluster
  bool preemptible = true;
  friend bool operator==(const Job&, const Job&) = default;
};
using Workload = std::vector<Job>;  // by arrival

// Parses CSV with a header line (lines that begin with # are comments), or a YAML list of jobs,
// possibly below `jobs:`. Times are seconds or durations such as 90m. Absent columns have their
// defaults; arrival, slots and length are required. INVALID_ARGUMENT with all problems, a line
// each:
//   trace.csv:12: slots: expected an integer >= 0, found "two"
absl::StatusOr<Workload> ParseWorkload(std::string_view text, const std::string& name);

// Formats the columns that are not all defaults. `comment` becomes lines that begin with #.
std::string ToCsv(const Workload& workload, std::string_view comment);

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_WORKLOAD_H_
