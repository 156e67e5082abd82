#include "master/core/experiment/retention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace det::experiment {
namespace {

using Pointers = std::vector<const Retainable*>;

bool Newer(const Retainable* a, const Retainable* b) {
  return std::tie(a->steps, a->time, a->id) > std::tie(b->steps, b->time, b->id);
}

void KeepFirst(const Pointers& sorted, int most, std::set<model::CheckpointId>& kept) {
  for (size_t i = 0; i < sorted.size() && static_cast<int64_t>(i) < most; ++i) {
    kept.insert(sorted[i]->id);
  }
}

void KeepBest(Pointers all, int most, bool smaller_is_better, std::set<model::CheckpointId>& kept) {
  std::erase_if(all, [](const Retainable* c) { return !c->metric || std::isnan(*c->metric); });
  std::sort(all.begin(), all.end(), [&](const Retainable* a, const Retainable* b) {
    if (*a->metric != *b->metric) return (*a->metric < *b->metric) == smaller_is_better;
    return Newer(a, b);
  });
  KeepFirst(all, most, kept);
}

std::set<model::CheckpointId> Kept(const RetentionPolicy& policy, bool smaller_is_better,
                                   const Pointers& pointers) {
  std::map<model::TrialId, Pointers> trials;
  for (const Retainable* each : pointers) trials[each->trial].push_back(each);
  std::set<model::CheckpointId> kept;
  KeepBest(pointers, policy.experiment_best, smaller_is_better, kept);
  for (auto& [trial, of] : trials) {
    KeepBest(of, policy.trial_best, smaller_is_better, kept);
    std::sort(of.begin(), of.end(), Newer);
    KeepFirst(of, policy.trial_latest, kept);
  }
  return kept;
}

}  // namespace

RetentionPolicy PolicyOf(const model::CheckpointStorageConfig& storage) {
  return {storage.save_experiment_best, storage.save_trial_best, storage.save_trial_latest};
}

void SetPolicy(model::CheckpointStorageConfig& storage, const RetentionPolicy& policy) {
  storage.save_experiment_best = policy.experiment_best;
  storage.save_trial_best = policy.trial_best;
  storage.save_trial_latest = policy.trial_latest;
}

std::vector<model::CheckpointId> NotRetained(const RetentionPolicy& policy, bool smaller_is_better,
                                             const std::vector<Retainable>& all) {
  Pointers pointers, whole;
  for (const Retainable& each : all) {
    pointers.push_back(&each);
    if (each.whole) whole.push_back(&each);
  }
  const auto kept = Kept(policy, smaller_is_better, whole);
  const auto among_all = Kept(policy, smaller_is_better, pointers);
  std::vector<model::CheckpointId> drop;
  for (const Retainable& each : all) {
    const bool stays = each.held || (each.whole ? kept : among_all).contains(each.id);
    if (!stays) drop.push_back(each.id);
  }
  return drop;
}

}  // namespace det::experiment
