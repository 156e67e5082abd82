#include "master/core/experiment/retention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace det::experiment {
namespace {

using Pointers = std::vector<const RetentionCandidate*>;

bool Newer(const RetentionCandidate* a, const RetentionCandidate* b) {
  return std::tie(a->steps, a->time, a->id) > std::tie(b->steps, b->time, b->id);
}

void KeepFirst(const Pointers& sorted, int most, std::set<model::CheckpointId>& kept) {
  for (size_t i = 0; i < sorted.size() && static_cast<int64_t>(i) < most; ++i) {
    kept.insert(sorted[i]->id);
  }
}

void KeepBest(Pointers all, int most, bool smaller_is_better, std::set<model::CheckpointId>& kept) {
  std::erase_if(
      all, [](const RetentionCandidate* c) { return !c->metric || !std::isfinite(*c->metric); });
  std::sort(all.begin(), all.end(), [&](const RetentionCandidate* a, const RetentionCandidate* b) {
    if (*a->metric != *b->metric) return (*a->metric < *b->metric) == smaller_is_better;
    return Newer(a, b);
  });
  KeepFirst(all, most, kept);
}

std::set<model::CheckpointId> Kept(const RetentionPolicy& policy, bool smaller_is_better,
                                   const Pointers& pointers) {
  std::map<model::TrialId, Pointers> trials;
  for (const RetentionCandidate* each : pointers) trials[each->trial].push_back(each);
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

RetentionPolicy GetRetentionPolicy(const model::CheckpointStorageConfig& storage) {
  return {storage.save_experiment_best, storage.save_trial_best, storage.save_trial_latest};
}

void SetRetentionPolicy(model::CheckpointStorageConfig& storage, const RetentionPolicy& policy) {
  storage.save_experiment_best = policy.experiment_best;
  storage.save_trial_best = policy.trial_best;
  storage.save_trial_latest = policy.trial_latest;
}

std::vector<model::CheckpointId> SelectForRemoval(const RetentionPolicy& policy,
                                                  bool smaller_is_better,
                                                  const std::vector<RetentionCandidate>& all) {
  Pointers pointers, whole;
  for (const RetentionCandidate& each : all) {
    pointers.push_back(&each);
    if (each.whole) whole.push_back(&each);
  }
  const auto kept = Kept(policy, smaller_is_better, whole);
  const auto among_all = Kept(policy, smaller_is_better, pointers);
  std::vector<model::CheckpointId> drop;
  for (const RetentionCandidate& each : all) {
    const bool stays = each.held || (each.whole ? kept : among_all).contains(each.id);
    if (!stays) drop.push_back(each.id);
  }
  return drop;
}

}  // namespace det::experiment
