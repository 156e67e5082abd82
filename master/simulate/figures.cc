#include "master/simulate/figures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace det::simulate {
namespace {

double Work(const Job& job, absl::Duration by = absl::InfiniteDuration()) {
  const absl::Duration time = std::clamp(by - job.arrival, absl::ZeroDuration(), job.length);
  return job.slots * absl::ToDoubleSeconds(time);
}

// Returns the slot seconds of its runs before `by`, without lost work.
double Served(const Job& job, const JobRecord& record,
              absl::Duration by = absl::InfiniteDuration()) {
  absl::Duration sum;
  for (const Run& run : record.runs) {
    const absl::Duration kept = run.end - run.lost;
    sum += std::max(absl::ZeroDuration(), std::min(kept, by) - std::min(run.begin, by));
  }
  return job.slots * absl::ToDoubleSeconds(sum);
}

Waits MakeWaits(std::string group, std::vector<absl::Duration> waits, double slot_seconds) {
  std::sort(waits.begin(), waits.end());
  // Jobs that never started are last.
  while (!waits.empty() && waits.back() == absl::InfiniteDuration()) waits.pop_back();
  Waits out{.group = std::move(group), .jobs = static_cast<int64_t>(waits.size())};
  out.slot_hours = slot_seconds / 3600;
  out.median = Quantile(waits, 0.5);
  out.p90 = Quantile(waits, 0.9);
  out.p99 = Quantile(waits, 0.99);
  out.max = Quantile(waits, 1);
  return out;
}

// Groups waits by a key; the result is sorted by key.
template <class Key>
std::vector<Waits> GroupWaits(const Workload& workload, const Simulation& simulation,
                              const std::function<Key(const Job&)>& key,
                              const std::function<std::string(const Key&)>& name) {
  std::map<Key, std::pair<std::vector<absl::Duration>, double>> groups;
  for (size_t i = 0; i < workload.size(); ++i) {
    auto& [waits, work] = groups[key(workload[i])];
    waits.push_back(simulation.jobs[i].FirstWait(workload[i]));
    work += Work(workload[i]);
  }
  std::vector<Waits> out;
  for (auto& [k, group] : groups) {
    out.push_back(MakeWaits(name(k), std::move(group.first), group.second));
  }
  return out;
}

// The upper bounds of the size classes: 0, 1, 2-4, 5-8, 9-64, 65 and more.
constexpr int kClasses[] = {0, 1, 4, 8, 64};
int GetSizeClass(const Job& job) {
  return static_cast<int>(std::lower_bound(std::begin(kClasses), std::end(kClasses), job.slots) -
                          std::begin(kClasses));
}
std::string GetSizeClassName(int index) {
  if (index == std::ssize(kClasses)) return absl::StrCat("> ", kClasses[index - 1], " slots");
  const int high = kClasses[index];
  const int low = index == 0 ? 0 : kClasses[index - 1] + 1;
  if (low == high) return absl::StrCat(high, high == 1 ? " slot" : " slots");
  return absl::StrCat(low, "-", high, " slots");
}

double Fairness(const Workload& workload, const Simulation& simulation, absl::Duration window) {
  std::map<std::string, std::pair<double, double>> users;  // served, and possible
  for (size_t i = 0; i < workload.size(); ++i) {
    auto& [served, requested_work] = users[workload[i].user];
    served += Served(workload[i], simulation.jobs[i], window);
    requested_work += Work(workload[i], window);
  }
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const auto& [user, share] : users) {
    if (share.second <= 0) continue;
    const double part = share.first / share.second;
    sum += part;
    squares += part * part;
    ++count;
  }
  return squares > 0 ? sum * sum / (count * squares) : 1;
}

// Returns the slots and jobs of each pool.
struct PoolWork {
  double slots = 0;
  Workload jobs;
};
std::map<std::string, PoolWork> ByPool(const Workload& workload, const Options& options) {
  std::map<std::string, PoolWork> pools;
  for (const AgentGroup& group : options.agents) {
    pools[group.pool].slots += static_cast<double>(group.agents) * group.slots;
  }
  for (const Job& job : workload) {
    PoolWork& pool = pools[job.pool.empty() ? options.agents[0].pool : job.pool];
    if (job.slots <= pool.slots) pool.jobs.push_back(job);
  }
  return pools;
}

}  // namespace

double ComputeSlotSecondsBound(const Workload& jobs_of_pool, double slots, absl::Duration until) {
  double done = 0;
  double waiting = 0;
  absl::Duration now;
  const auto serve_to = [&](absl::Duration time) {
    const double served = std::min(waiting, slots * absl::ToDoubleSeconds(time - now));
    done += served;
    waiting -= served;
    now = time;
  };
  for (const Job& job : jobs_of_pool) {
    if (job.arrival >= until) break;
    serve_to(job.arrival);
    waiting += Work(job, until);
  }
  if (until > now) serve_to(until);
  return done;
}

absl::Duration ComputeMakespanBound(const Workload& jobs_of_pool, double slots) {
  absl::Duration free, last;
  for (const Job& job : jobs_of_pool) {
    free = std::max(free, job.arrival);
    if (slots > 0) free += absl::Seconds(Work(job) / slots);
    last = std::max(last, job.arrival + job.length);
  }
  return std::max(free, last);
}

absl::Duration Quantile(const std::vector<absl::Duration>& sorted, double q) {
  if (sorted.empty()) return absl::ZeroDuration();
  const double rank = std::ceil(q * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

Figures MakeFigures(const Workload& workload, const Options& options,
                    const Simulation& simulation) {
  Figures f;
  f.jobs = static_cast<int64_t>(workload.size());
  for (const AgentGroup& g : options.agents) f.slots += static_cast<int64_t>(g.agents) * g.slots;
  if (workload.empty()) return f;
  const absl::Duration first = workload.front().arrival, last = workload.back().arrival;
  absl::Duration end = last;
  double served = 0;
  double served_in_window = 0;
  double offered = 0;
  std::vector<absl::Duration> waits;
  for (size_t i = 0; i < workload.size(); ++i) {
    const JobRecord& record = simulation.jobs[i];
    f.completed += record.completed ? 1 : 0;
    f.preemptions += record.preemptions;
    f.lost_slot_hours += workload[i].slots * absl::ToDoubleHours(record.lost);
    served += Served(workload[i], record);
    served_in_window += Served(workload[i], record, last);
    offered += Work(workload[i]);
    if (!record.runs.empty()) end = std::max(end, record.runs.back().end);
    waits.push_back(record.FirstWait(workload[i]));
  }
  f.window = last - first;
  f.makespan = end - first;
  double bound_in_window = 0;
  absl::Duration bound_end = last;
  for (const auto& [name, pool] : ByPool(workload, options)) {
    bound_in_window += ComputeSlotSecondsBound(pool.jobs, pool.slots, last);
    bound_end = std::max(bound_end, ComputeMakespanBound(pool.jobs, pool.slots));
  }
  const auto there = [&](absl::Duration span) {
    return std::max(1e-9, static_cast<double>(f.slots) * absl::ToDoubleSeconds(span));
  };
  f.offered_load = offered / there(f.window);
  f.in_window = {served_in_window / there(f.window), bound_in_window / there(f.window)};
  // The same work in the shortest possible time.
  f.in_makespan = {served / there(f.makespan), served / there(bound_end - first)};
  f.all = MakeWaits("all", std::move(waits), offered);
  f.by_size = GroupWaits<int>(workload, simulation, GetSizeClass, GetSizeClassName);
  f.by_priority = GroupWaits<int>(
      workload, simulation, [](const Job& job) { return job.priority; },
      [](const int& priority) { return absl::StrCat("priority ", priority); });
  f.by_user = GroupWaits<std::string>(
      workload, simulation, [](const Job& job) { return job.user; },
      [](const std::string& user) { return user; });
  std::stable_sort(f.by_user.begin(), f.by_user.end(),
                   [](const Waits& a, const Waits& b) { return a.slot_hours > b.slot_hours; });
  f.fairness = Fairness(workload, simulation, last);
  return f;
}

}  // namespace det::simulate
