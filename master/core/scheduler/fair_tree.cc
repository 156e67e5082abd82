#include "master/core/scheduler/fair_tree.h"

#include <algorithm>
#include <utility>

#include "master/core/scheduler/shape.h"

namespace det::scheduler {
namespace {

template <class Visit>
void ForEachBranch(JobBranch& branch, Visit visit) {
  visit(branch);
  visit(*branch.user);
  visit(*branch.user->workspace);
}

Victims& GetVictims(Branch& branch, const Usage& each) {
  for (Victims& victims : branch.victims) {
    if (victims.each == each) return victims;
  }
  branch.victims.push_back({.each = each, .settled = {}});
  return branch.victims.back();
}

void DropIfEmpty(Branch& branch, const Victims& victims) {
  if (victims.unsettled > 0 || !victims.settled.empty()) return;
  branch.victims.erase(branch.victims.begin() + (&victims - branch.victims.data()));
}

bool IsSettled(const GangState& gang, absl::Time now) {
  return gang.started_at + kMinRunBeforePreemption <= now;
}

}  // namespace

double DominantShare(const Usage& usage, const Usage& total) {
  const auto part = [](int64_t used, int64_t all) {
    return all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 0;
  };
  return std::max({part(usage.slots, total.slots), part(usage.cpus, total.cpus),
                   part(usage.memory, total.memory)});
}

Usage ComputeUsage(const GangState& gang, int slots) {
  const Shape& shape = gang.gang_class->shape;
  const int64_t times = shape.slots == 0 ? 1 : slots;
  return {slots * shape.fraction, times * shape.cpus, times * shape.memory};
}

bool OwnerByName::operator()(const Owner* a, const Owner* b) const {
  if (a == nullptr || b == nullptr) return a == nullptr && b != nullptr;
  return a->name < b->name;
}

bool FairTree::EarliestStart::operator()(const GangState* a, const GangState* b) const {
  if (a->started_at != b->started_at) return a->started_at < b->started_at;
  return a != b && a->gang->id < b->gang->id;
}

UserBranch& FairTree::GetUserBranch(const JobState& job) {
  auto& workspace = workspaces_[job.workspace];
  if (workspace == nullptr) {
    workspace = std::make_unique<WorkspaceBranch>();
    workspace->owner = job.workspace;
  }
  auto& user = workspace->users[job.user];
  if (user == nullptr) {
    user = std::make_unique<UserBranch>();
    user->owner = job.user;
    user->workspace = workspace.get();
  }
  return *user;
}

void FairTree::Attach(std::unique_ptr<JobBranch> owned) {
  JobBranch& branch = *owned;
  branch.user = &GetUserBranch(*branch.job);
  branch.weight = std::max(1e-6, branch.job->job.weight);
  branch.at = branch.user->jobs.size();
  branch.user->jobs.push_back(std::move(owned));
  for (Branch* above :
       {static_cast<Branch*>(branch.user), static_cast<Branch*>(branch.user->workspace)}) {
    above->usage = above->usage + branch.usage;
    above->expected = above->expected + branch.expected;
  }
  ForEachBranch(branch, [&](Branch& b) { MarkStale(b); });
}

std::unique_ptr<JobBranch> FairTree::Detach(JobBranch& branch) {
  UserBranch& user = *branch.user;
  WorkspaceBranch& workspace = *user.workspace;
  for (Branch* above : {static_cast<Branch*>(&user), static_cast<Branch*>(&workspace)}) {
    above->usage = above->usage - branch.usage;
    above->expected = above->expected - branch.expected;
    MarkStale(*above);
  }
  Forget(branch);
  std::swap(user.jobs[branch.at], user.jobs.back());
  user.jobs[branch.at]->at = branch.at;
  std::unique_ptr<JobBranch> owned = std::move(user.jobs.back());
  user.jobs.pop_back();
  if (!user.jobs.empty()) return owned;
  Forget(user);
  workspace.users.erase(user.owner);
  if (!workspace.users.empty()) return owned;
  Forget(workspace);
  workspaces_.erase(workspace.owner);
  return owned;
}

JobBranch& FairTree::Enter(JobState& job) {
  for (JobBranch* branch : job.branches) {
    if (branch->tree != this) continue;
    ++branch->members;
    return *branch;
  }
  auto owned = std::make_unique<JobBranch>();
  JobBranch& branch = *owned;
  branch.job = &job;
  branch.tree = this;
  branch.members = 1;
  job.branches.push_back(&branch);
  Attach(std::move(owned));
  return branch;
}

void FairTree::Leave(JobBranch& branch) {
  if (--branch.members > 0) return;
  auto& branches = branch.job->branches;
  branches.erase(std::find(branches.begin(), branches.end(), &branch));
  Detach(branch);
}

void FairTree::Move(JobBranch& branch) { Attach(Detach(branch)); }

void FairTree::MarkStale(Branch& branch) {
  if (branch.stale_at >= 0) return;
  branch.stale_at = static_cast<int>(stale_.size());
  stale_.push_back(&branch);
}

void FairTree::Forget(Branch& branch) {
  if (branch.stale_at < 0) return;
  const auto at = static_cast<size_t>(std::exchange(branch.stale_at, -1));
  stale_[at] = stale_.back();
  stale_.pop_back();
  if (at < stale_.size()) stale_[at]->stale_at = static_cast<int>(at);
}

void FairTree::UpdateUsage(const GangState& gang, int sign) {
  const Usage usage = ComputeUsage(gang, gang.slots());
  ForEachBranch(*gang.branch, [&](Branch& branch) {
    branch.usage = sign > 0 ? branch.usage + usage : branch.usage - usage;
    MarkStale(branch);
  });
  if (!gang.terminating) UpdateExpected(*gang.branch, usage, sign);
}

void FairTree::UpdateExpected(JobBranch& branch, const Usage& usage, int sign) {
  ForEachBranch(
      branch, [&](Branch& b) { b.expected = sign > 0 ? b.expected + usage : b.expected - usage; });
}

void FairTree::UpdateVictims(GangState& gang, int sign) {
  const Usage each = ComputeUsage(gang, gang.slots());
  ForEachBranch(*gang.branch, [&](Branch& branch) {
    Victims& victims = GetVictims(branch, each);
    if (!gang.settled) {
      victims.unsettled += sign;
    } else if (sign > 0) {
      victims.settled.insert(&gang);
    } else {
      victims.settled.erase(&gang);
    }
    DropIfEmpty(branch, victims);
  });
}

// Gangs without slots are never preempted.
void FairTree::AddVictim(GangState& gang) {
  if (gang.held == 0) return;
  gang.settled = IsSettled(gang, now_);
  UpdateVictims(gang, +1);
  if (!gang.settled) settling_.insert(&gang);
}

void FairTree::RemoveVictim(GangState& gang) {
  if (gang.held == 0) return;
  UpdateVictims(gang, -1);
  if (!gang.settled) settling_.erase(&gang);
  gang.settled = false;
}

void FairTree::Settle(absl::Time now) {
  now_ = now;
  while (!settling_.empty() && IsSettled(**settling_.begin(), now)) {
    GangState& gang = **settling_.begin();
    RemoveVictim(gang);
    AddVictim(gang);
  }
}

void FairTree::UpdateShares(const Usage& total) {
  const auto update = [&](Branch& branch) {
    branch.share = DominantShare(branch.usage, total) / branch.weight;
  };
  for (Branch* branch : stale_) {
    branch->stale_at = -1;
    update(*branch);
  }
  stale_.clear();
  if (total == total_) return;
  total_ = total;
  for (const auto& [name, workspace] : workspaces_) {
    update(*workspace);
    for (const auto& [owner, user] : workspace->users) {
      update(*user);
      for (const auto& job : user->jobs) update(*job);
    }
  }
}

}  // namespace det::scheduler
