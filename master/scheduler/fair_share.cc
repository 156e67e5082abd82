#include "master/scheduler/fair_share.h"

#include <algorithm>

#include "master/scheduler/shape.h"

namespace det::scheduler {
namespace {

Usage Sum(const Usage& a, const Usage& b, int sign) {
  return {a.slots + sign * b.slots, a.cpus + sign * b.cpus, a.memory + sign * b.memory};
}

template <class Map, class Key>
Usage Find(const Map& map, const Key& key) {
  const auto it = map.find(key);
  return it == map.end() ? Usage() : it->second;
}

}  // namespace

double DominantShare(const Usage& usage, const Usage& total) {
  const auto part = [](int64_t used, int64_t all) {
    return all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 0;
  };
  return std::max({part(usage.slots, total.slots), part(usage.cpus, total.cpus),
                   part(usage.memory, total.memory)});
}

double WeightOf(const JobState& job) { return std::max(1e-6, job.job.weight); }

Usage UsageOf(const GangState& gang, int slots) {
  const Shape& shape = gang.gang_class->shape;
  const int64_t times = shape.slots == 0 ? 1 : slots;
  return {slots * shape.fraction, times * shape.cpus, times * shape.memory};
}

Shares::Shares(const PoolState& pool) : total_(pool.Total()) {
  for (const auto& [job, usage] : pool.usage) Add(*job, usage, +1);
  for (const auto& [job, usage] : pool.leaving_usage) Add(*job, usage, -1);
  for (const auto& [job, usage] : pool.usage) Raise(*job);
}

void Shares::Add(const JobState& job, const Usage& usage, int sign) {
  const auto add = [&](Usage& sum) { sum = Sum(sum, usage, sign); };
  add(workspaces_[job.workspace]);
  add(users_[{job.workspace, job.user}]);
  add(jobs_[&job]);
}

void Shares::Count(const GangState& gang, int slots, int sign) {
  Add(*gang.job, UsageOf(gang, slots), sign);
}

void Shares::Promise(const GangState& gang) {
  Count(gang, gang.gang_class->shape.slots, +1);
  Raise(*gang.job);
}

void Shares::Raise(const JobState& job) {
  const auto raise = [&](double& most, const Usage& usage, double weight) {
    most = std::max(most, DominantShare(usage, total_) / weight);
  };
  const UserOf user(job.workspace, job.user);
  raise(most_of_workspaces_, workspaces_[job.workspace], 1);
  raise(most_of_users_[job.workspace], users_[user], 1);
  raise(most_of_jobs_[user], jobs_[&job], WeightOf(job));
}

bool Shares::IsFairerThanSome(const GangState& gang) const {
  const JobState& job = *gang.job;
  const UserOf user(job.workspace, job.user);
  const Usage more = UsageOf(gang, gang.gang_class->shape.slots);
  const auto with = [&](const Usage& usage) { return DominantShare(Sum(usage, more, +1), total_); };
  const auto most_of_users = most_of_users_.find(job.workspace);
  const auto most_of_jobs = most_of_jobs_.find(user);
  return with(Find(workspaces_, job.workspace)) <= most_of_workspaces_ + 1e-9 ||
         (most_of_users != most_of_users_.end() &&
          with(Find(users_, user)) <= most_of_users->second + 1e-9) ||
         (most_of_jobs != most_of_jobs_.end() &&
          with(Find(jobs_, &job)) / WeightOf(job) <= most_of_jobs->second + 1e-9);
}

bool Shares::IsFairer(const GangState& gang, const GangState& other) const {
  const JobState& a = *gang.job;
  const JobState& b = *other.job;
  const Usage more = UsageOf(gang, gang.gang_class->shape.slots);
  const Usage less = UsageOf(other, other.slots());
  const auto compare = [&](const Usage& with, const Usage& without, double wa, double wb) {
    return DominantShare(Sum(with, more, +1), total_) / wa <=
           DominantShare(Sum(without, less, -1), total_) / wb + 1e-9;
  };
  if (a.workspace != b.workspace) {
    return compare(Find(workspaces_, a.workspace), Find(workspaces_, b.workspace), 1, 1);
  }
  if (a.user != b.user) {
    return compare(Find(users_, UserOf(a.workspace, a.user)),
                   Find(users_, UserOf(b.workspace, b.user)), 1, 1);
  }
  return &a != &b && compare(Find(jobs_, &a), Find(jobs_, &b), WeightOf(a), WeightOf(b));
}

}  // namespace det::scheduler
