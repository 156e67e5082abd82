// Simulates a heavy-tailed trace at 90 % offered load in virtual time: utilization relative to the
// offline bound, waits relative to strict order, and waits of priority 1 with preemption. Prints
// one line per measurement with its target; the exit code is 1 if one is missed.
//   simulate_bench [JOBS [SEED [HOLD...]]]
// Default: 40,000 jobs on 1000 agents with 8 slots, seed 1. With HOLD values (30s, 5m), prints only
// the waits and the utilization for each of them as `hold_after`, under both policies.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "master/simulate/figures.h"
#include "master/simulate/simulation.h"
#include "master/simulate/trace.h"

namespace det::simulate {
namespace {

bool Show(const std::string& what, double value, const char* unit, const char* sign, double bound) {
  const bool good = *sign == '<' ? value <= bound : value >= bound;
  std::printf("  %-58s%10.3f %-3s %s= %g %s\n", what.c_str(), value, unit, sign, bound,
              good ? "ok" : "MISSED");
  return good;
}

Simulation Play(const std::string& name, const Workload& workload, const Options& options) {
  const absl::Time before = absl::Now();
  auto simulation = Simulate(workload, options);
  DET_CHECK_OK(simulation.status());
  const double seconds = absl::ToDoubleSeconds(absl::Now() - before);
  const Figures f = MakeFigures(workload, options, *simulation);
  DET_CHECK(f.completed == f.jobs) << "jobs did not complete";
  std::printf(
      "%s: %lld passes and %lld events in %.1f s; waits: median %s, p99 %s, max %s; "
      "%lld preemptions, %.0f slot hours lost, fairness %.3f\n",
      name.c_str(), static_cast<long long>(simulation->passes),
      static_cast<long long>(simulation->events), seconds,
      absl::FormatDuration(f.all.median).c_str(), absl::FormatDuration(f.all.p99).c_str(),
      absl::FormatDuration(f.all.max).c_str(), static_cast<long long>(f.preemptions),
      f.lost_slot_hours, f.fairness);
  return *std::move(simulation);
}

bool ShowUtilization(const Workload& workload, const Options& options, const Simulation& s) {
  const Figures f = MakeFigures(workload, options, s);
  std::printf("  offered %.3f over %s; busy %.4f, bound %.4f\n", f.offered_load,
              absl::FormatDuration(f.window).c_str(), f.in_window.reached, f.in_window.bound);
  return Show("utilization while jobs arrive, relative to the bound", f.in_window.GetRatioToBound(),
              "", ">", 0.97);
}

// The largest ratio of the wait of a gang to its wait under strict order. Waits below the floor
// count as the floor, because ratios of a few seconds are meaningless.
bool ShowWorst(const Workload& workload, const Simulation& ours, const Simulation& strict,
               absl::Duration floor) {
  double worst = 0;
  size_t at = 0, more = 0;
  for (size_t i = 0; i < workload.size(); ++i) {
    const absl::Duration wait = std::max(floor, ours.jobs[i].FirstWait(workload[i]));
    const absl::Duration other = std::max(floor, strict.jobs[i].FirstWait(workload[i]));
    const double factor = absl::FDivDuration(wait, other);
    more += factor > 3 ? 1 : 0;
    if (factor <= worst) continue;
    worst = factor;
    at = i;
  }
  std::printf("  %zu gangs wait more than 3 times longer; worst: %d slots, %s instead of %s\n",
              more, workload[at].slots,
              absl::FormatDuration(ours.jobs[at].FirstWait(workload[at])).c_str(),
              absl::FormatDuration(strict.jobs[at].FirstWait(workload[at])).c_str());
  return Show("longest wait relative to strict order, floor " + absl::FormatDuration(floor), worst,
              "x", "<", 3);
}

bool ShowMostImportant(const Workload& workload, const Options& options, const Simulation& s) {
  const Figures f = MakeFigures(workload, options, s);
  for (const Waits& w : f.by_priority) {
    if (w.group != "priority 1") continue;
    std::printf("  of %lld jobs of priority 1: p90 %s, max %s\n", static_cast<long long>(w.jobs),
                absl::FormatDuration(w.p90).c_str(), absl::FormatDuration(w.max).c_str());
    return Show("median wait of priority 1 with preemption", absl::ToDoubleSeconds(w.median), "s",
                "<", 10);
  }
  return false;
}

bool CompareHolds(const Workload& workload, const std::vector<absl::Duration>& holds) {
  bool good = true;
  for (const auto policy : {model::SchedulingPolicy::kFifo, model::SchedulingPolicy::kPriority}) {
    const std::string name(model::ToString(policy));
    Options options;
    options.settings.policy = policy;
    options.settings.backfill = false;
    const Simulation strict = Play(name + ", strict order", workload, options);
    options.settings.backfill = true;
    for (const absl::Duration hold : holds) {
      options.settings.hold_after = hold;
      const Simulation ours =
          Play(name + ", hold_after " + absl::FormatDuration(hold), workload, options);
      good &= ShowUtilization(workload, options, ours);
      good &= ShowWorst(workload, ours, strict, absl::Seconds(60));
    }
  }
  return good;
}

int Main(int argc, char** argv) {
  TraceOptions trace;
  trace.jobs = 40'000;
  // Much shorter than the window of three days, so that most of the offered work can be done in it.
  trace.max_length = absl::Hours(24);
  if (argc > 1) DET_CHECK(absl::SimpleAtoi(argv[1], &trace.jobs));
  if (argc > 2) DET_CHECK(absl::SimpleAtoi(argv[2], &trace.seed));
  const Workload workload = MakeTrace(trace);
  std::vector<absl::Duration> holds(std::max(0, argc - 3));
  for (size_t i = 0; i < holds.size(); ++i) {
    DET_CHECK(absl::ParseDuration(argv[3 + i], &holds[i])) << argv[3 + i];
  }
  if (!holds.empty()) return CompareHolds(workload, holds) ? 0 : 1;
  bool good = true;
  for (const auto policy : {model::SchedulingPolicy::kFifo, model::SchedulingPolicy::kPriority}) {
    const std::string name(model::ToString(policy));
    Options options;
    options.settings.policy = policy;
    const Simulation ours = Play(name, workload, options);
    good &= ShowUtilization(workload, options, ours);
    options.settings.backfill = false;
    const Simulation strict = Play(name + ", strict order", workload, options);
    good &= ShowWorst(workload, ours, strict, absl::Seconds(60));
  }
  Options options;
  options.settings.preemption = true;
  good &= ShowMostImportant(workload, options, Play("priority, preemption", workload, options));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace det::simulate

int main(int argc, char** argv) { return det::simulate::Main(argc, argv); }
