#include "master/core/scheduler/fair_share.h"

#include <algorithm>

#include "master/core/scheduler/shape.h"

namespace det::scheduler {
namespace {

bool IsFair(double mine, const Branch& other, const Usage& victim, const Usage& total) {
  return mine <= DominantShare(other.expected - victim, total) / other.weight + 1e-9;
}

}  // namespace

FairVictims::FairVictims(PoolState& pool, const GangState& gang)
    : pool_(pool), gang_(gang), more_(ComputeUsage(gang, gang.gang_class->shape.slots)) {
  FindSources();
}

FairVictims::~FairVictims() {
  for (GangState* victim : taken_) {
    pool_.tree.UpdateExpected(*victim->branch, ComputeUsage(*victim, victim->slots()), +1);
  }
}

bool FairVictims::Later(const Source& a, const Source& b) { return VictimOrder()(*b.at, *a.at); }

double FairVictims::Mine(const Branch& own) const {
  return DominantShare(own.expected + more_, pool_.tree.total()) / own.weight;
}

void FairVictims::AddSources(const Branch& other, double mine) {
  for (const Victims& victims : other.victims) {
    if (!IsFair(mine, other, victims.each, pool_.tree.total())) continue;
    unsettled_ += victims.unsettled;
    const auto at =
        taken_.empty() ? victims.settled.begin() : victims.settled.upper_bound(taken_.back());
    if (at != victims.settled.end()) sources_.push_back({at, victims.settled.end()});
  }
}

// The victims after the one that was taken last, by the current shares.
void FairVictims::FindSources() {
  sources_.clear();
  unsettled_ = 0;
  const JobBranch& job = *gang_.branch;
  const UserBranch& user = *job.user;
  const WorkspaceBranch& workspace = *user.workspace;
  const double workspace_has = Mine(workspace);
  for (const auto& [owner, other] : pool_.tree.workspaces()) {
    if (other.get() != &workspace) AddSources(*other, workspace_has);
  }
  const double user_has = Mine(user);
  for (const auto& [owner, other] : workspace.users) {
    if (other.get() != &user) AddSources(*other, user_has);
  }
  const double job_has = Mine(job);
  for (const auto& other : user.jobs) {
    if (other.get() != &job) AddSources(*other, job_has);
  }
  std::make_heap(sources_.begin(), sources_.end(), Later);
  if (unsettled_ > 0) RecordUnsettled();
}

bool FairVictims::IsFairer(const GangState& other) const {
  const JobBranch& a = *gang_.branch;
  const JobBranch& b = *other.branch;
  const auto compare = [&](const Branch& own, const Branch& theirs) {
    return IsFair(Mine(own), theirs, ComputeUsage(other, other.slots()), pool_.tree.total());
  };
  if (a.user->workspace != b.user->workspace) {
    return compare(*a.user->workspace, *b.user->workspace);
  }
  if (a.user != b.user) return compare(*a.user, *b.user);
  return &a != &b && compare(a, b);
}

void FairVictims::RecordUnsettled() {
  for (const GangState* other : pool_.tree.settling()) {
    const absl::Time settled = other->started_at + kMinRunBeforePreemption;
    if (settled >= first_settled_) return;
    if (IsFairer(*other)) first_settled_ = settled;
  }
}

GangState* FairVictims::Next() {
  while (!sources_.empty()) {
    std::pop_heap(sources_.begin(), sources_.end(), Later);
    Source& least = sources_.back();
    GangState* victim = *least.at;
    // The other victims of a source have the same size and branch.
    const bool fair = IsFairer(*victim);
    if (!fair || ++least.at == least.end) {
      sources_.pop_back();
    } else {
      std::push_heap(sources_.begin(), sources_.end(), Later);
    }
    if (fair) return victim;
  }
  return nullptr;
}

void FairVictims::Take(GangState& victim) {
  pool_.tree.UpdateExpected(*victim.branch, ComputeUsage(victim, victim.slots()), -1);
  taken_.push_back(&victim);
  // A victim of another workspace reduces only that branch, which Next takes into account. A victim
  // of its own workspace reduces its own side as well, so more victims may qualify.
  if (victim.branch->user->workspace == gang_.branch->user->workspace) FindSources();
}

}  // namespace det::scheduler
