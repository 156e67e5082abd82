// Measures the cost of a scheduling pass on an empty and on a full cluster. Prints each measurement
// with its target; the exit code is 1 if one is missed. Arguments: the cases to measure (default:
// all).
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/rng.h"
#include "master/core/scheduler/scheduler.h"

namespace det::scheduler {
namespace {

struct Case {
  const char* name;
  model::SchedulingPolicy policy;
  bool preemption;
};

constexpr Case kCases[] = {
    {"priority", model::SchedulingPolicy::kPriority, false},
    {"priority, preemption", model::SchedulingPolicy::kPriority, true},
    {"fair_share", model::SchedulingPolicy::kFairShare, false},
    {"fair_share, preemption", model::SchedulingPolicy::kFairShare, true},
};

struct Size {
  int nodes;
  int gangs;
  double full_ms;
  double incremental_ms;
};

bool missed = false;

void Print(const std::string& what, double ms, double bound) {
  if (bound > 0 && ms > bound) missed = true;
  std::printf("  %-58s %9.3f ms", what.c_str(), ms);
  if (bound > 0) std::printf("   (under %g)%s", bound, ms > bound ? "   MISSED" : "");
  std::printf("\n");
}

// CPU time of this thread, which never waits, so that other load on the machine does not count.
double CpuMilliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

template <class Work>
double Milliseconds(Work work) {
  const double start = CpuMilliseconds();
  work();
  return CpuMilliseconds() - start;
}

double Least(const std::vector<double>& times) {
  return *std::min_element(times.begin(), times.end());
}

double Median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

// Jobs with twenty gangs of the same shape: half with one slot, others up to 64 slots, some on one
// node.
Snapshot MakeSnapshot(const Case& c, int nodes, int gangs) {
  base::Rng rng(7);
  Snapshot snapshot;
  snapshot.now = absl::UnixEpoch() + absl::Hours(1);
  model::ResourcePool pool;
  pool.name = "default";
  pool.policy = c.policy;
  pool.preemption = c.preemption;
  snapshot.pools.push_back(pool);
  for (int i = 0; i < nodes; ++i) {
    Node node{.id = model::AgentId(absl::StrCat("agent-", i)), .resource_pool = "default"};
    for (int s = 0; s < 8; ++s) {
      node.slots.push_back(
          {.id = s, .type = model::DeviceType::kCuda, .model = "NVIDIA H200", .island = s / 4});
    }
    node.network_switch = absl::StrCat("switch-", i / 32);
    snapshot.nodes.push_back(std::move(node));
  }
  constexpr int kSlots[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 64};
  for (int i = 0; i < gangs / 20; ++i) {
    Job job;
    job.id = model::JobId(absl::StrCat(i));
    job.priority = static_cast<int>(rng.UniformInt(40, 44));
    job.position = i;
    const int64_t user = rng.UniformInt(0, 199);
    job.user = absl::StrCat("user-", user);
    job.workspace = absl::StrCat("workspace-", user % 20);
    snapshot.jobs.push_back(job);
    Gang gang;
    gang.job = job.id;
    gang.resource_pool = "default";
    gang.slots = kSlots[rng.UniformInt(0, 11)];
    gang.single_node = gang.slots <= 8 && rng.UniformInt(0, 1) == 0;
    gang.queued_at = snapshot.now - absl::Minutes(rng.UniformInt(0, 60));
    for (int trial = 0; trial < 20; ++trial) {
      gang.id = model::AllocationId(absl::StrCat(i, ".", trial, ".1"));
      gang.submitted = i * 20 + trial;
      snapshot.gangs.push_back(gang);
    }
  }
  return snapshot;
}

void PutAll(const Snapshot& snapshot, Scheduler& scheduler) {
  for (const auto& pool : snapshot.pools) scheduler.Put(pool);
  for (const Node& node : snapshot.nodes) scheduler.Put(node);
  for (const Job& job : snapshot.jobs) scheduler.Put(job);
  for (const Gang& gang : snapshot.gangs) scheduler.Put(gang);
}

using Gangs = absl::flat_hash_map<model::AllocationId, Gang>;

void ApplyPlan(const Plan& plan, absl::Time now, Gangs& gangs, Scheduler& scheduler) {
  for (const Assignment& assignment : plan.assign) {
    Gang& gang = gangs.at(assignment.gang);
    gang.running_on = assignment.on;
    gang.started_at = gang.saved_at = now;
    scheduler.Put(gang);
  }
  for (const Preemption& preemption : plan.preempt) {
    Gang& gang = gangs.at(preemption.victim);
    gang.terminating = true;
    scheduler.Put(gang);
  }
}

// Ends one running gang, runs a pass, and applies what it starts.
std::vector<double> EndOneByOne(const Plan& first, absl::Time now, Gangs& gangs,
                                Scheduler& scheduler) {
  std::vector<double> times;
  for (size_t i = 0; i < std::min<size_t>(200, first.assign.size()); ++i) {
    scheduler.RemoveGang(first.assign[first.assign.size() - 1 - i * 7 % first.assign.size()].gang);
    now += absl::Milliseconds(10);
    Plan plan;
    times.push_back(Milliseconds([&] { plan = scheduler.Pass(now); }));
    ApplyPlan(plan, now, gangs, scheduler);
  }
  return times;
}

// More important gangs, of a workspace that holds no slots, arrive at once when the running gangs
// are old enough to be preempted.
void PreemptRunningGangs(const Snapshot& snapshot, Gangs& gangs, Scheduler& scheduler) {
  for (int i = 0; i < 100; ++i) {
    Job job;
    job.id = model::JobId(absl::StrCat("urgent-", i));
    job.priority = 1;
    job.user = absl::StrCat("urgent-user-", i);
    job.workspace = "urgent";
    scheduler.Put(job);
    Gang gang = snapshot.gangs.front();
    gang.id = model::AllocationId(absl::StrCat("urgent-", i, ".1.1"));
    gang.job = job.id;
    gang.slots = 8;
    gang.submitted = 1'000'000 + i;
    gangs[gang.id] = gang;
    scheduler.Put(gang);
  }
  Plan plan;
  const double ms = Milliseconds([&] { plan = scheduler.Pass(snapshot.now + absl::Minutes(20)); });
  Print(absl::StrCat("100 urgent gangs of 8 slots arrive: ", plan.preempt.size(), " preempted"), ms,
        0);
}

double Measure(const Case& c, const Size& size) {
  std::printf("%s: %d agents x 8 slots, %d waiting gangs\n", c.name, size.nodes, size.gangs);
  const Snapshot snapshot = MakeSnapshot(c, size.nodes, size.gangs);
  std::vector<double> whole, passes;
  for (int i = 0; i < 5; ++i) {
    Scheduled scheduled;
    whole.push_back(Milliseconds([&] { scheduled = Schedule(snapshot); }));
    Scheduler scheduler;
    PutAll(snapshot, scheduler);
    passes.push_back(Milliseconds([&] { scheduler.Pass(snapshot.now); }));
  }
  Scheduler scheduler;
  PutAll(snapshot, scheduler);
  Gangs gangs;
  for (const Gang& gang : snapshot.gangs) gangs[gang.id] = gang;
  const Plan first = scheduler.Pass(snapshot.now);
  Print(absl::StrCat("Schedule(snapshot), reasons included: ", first.assign.size(), " start"),
        Least(whole), size.full_ms);
  Print("Pass of a Scheduler with all gangs added", Least(passes), size.full_ms);
  Print("updating it with the started gangs",
        Milliseconds([&] { ApplyPlan(first, snapshot.now, gangs, scheduler); }), 0);
  const double incremental = Median(EndOneByOne(first, snapshot.now, gangs, scheduler));
  Print("Pass after one gang ended, median of 200", incremental, size.incremental_ms);
  if (c.preemption) PreemptRunningGangs(snapshot, gangs, scheduler);
  return incremental;
}

}  // namespace
}  // namespace det::scheduler

int main(int argc, char** argv) {
  using namespace det::scheduler;
  for (const Case& c : kCases) {
    if (argc > 1 && std::find(argv + 1, argv + argc, std::string_view(c.name)) == argv + argc) {
      continue;
    }
    Measure(c, {1'000, 10'000, 5, 0.2});
    Measure(c, {10'000, 100'000, 50, 2});
    // The same gangs on a tenth of the cluster, to measure the cost per waiting gang.
    const double small = Measure(c, {1'000, 100'000, 0, 0});
    const double large = Measure(c, {10'000, 100'000, 0, 0});
    std::printf("  100,000 gangs: a pass on 10 times the agents costs %.2f times as much\n\n",
                large / small);
  }
  return missed ? 1 : 0;
}
