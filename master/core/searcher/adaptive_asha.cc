#include "master/core/searcher/adaptive_asha.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/searcher/asha.h"
#include "master/core/searcher/multi_bracket.h"
#include "master/core/searcher/rungs.h"

namespace det::searcher {

using model::SearcherConfig;
using model::SearchMode;

std::vector<int64_t> BracketRungs(const SearcherConfig& config) {
  std::vector<int64_t> rungs = config.bracket_rungs;
  if (rungs.empty()) {
    const int64_t most = UsefulRungs(config);
    const int64_t least = config.mode == SearchMode::kAggressive ? most
                          : config.mode == SearchMode::kStandard ? (most - 1) / 2 + 1
                                                                 : 1;
    for (int64_t r = least; r <= most; ++r) rungs.push_back(r);
  }
  std::sort(rungs.begin(), rungs.end(), std::greater<>());
  return rungs;
}

std::vector<int64_t> Apportion(int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> parts;
  for (const double weight : weights) {
    const double part = std::floor(static_cast<double>(total) * weight / sum);
    parts.push_back(std::max<int64_t>(1, static_cast<int64_t>(part)));
  }
  int64_t left = total - std::accumulate(parts.begin(), parts.end(), int64_t{0});
  if (left > 0) parts.front() += left;
  for (; left < 0; ++left) {
    const auto largest = std::max_element(parts.begin(), parts.end());
    if (*largest > 1) {
      --*largest;
    } else {
      parts.pop_back();
    }
  }
  return parts;
}

std::vector<int64_t> BracketTrials(int64_t max_trials, double divisor,
                                   const std::vector<int64_t>& rungs) {
  std::vector<double> weights;
  for (const int64_t r : rungs) {
    // Relative to the first, which is the largest, because the power itself may overflow.
    weights.push_back(std::pow(divisor, static_cast<double>(r - rungs.front())) /
                      static_cast<double>(r));
  }
  return Apportion(max_trials, weights);
}

std::vector<int64_t> BracketConcurrency(int64_t max_concurrent_trials, double divisor,
                                        const std::vector<int64_t>& trials) {
  const auto brackets = static_cast<int64_t>(trials.size());
  if (max_concurrent_trials == 0) {
    const auto least = static_cast<int64_t>(divisor);
    return std::vector<int64_t>(trials.size(), std::max(trials.back(), least));
  }
  std::vector<int64_t> limits(trials.size(), max_concurrent_trials / brackets);
  for (int64_t i = 0; i < max_concurrent_trials % brackets; ++i) ++limits[static_cast<size_t>(i)];
  return limits;
}

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeAdaptiveAsha(const SearcherConfig& config) {
  DET_RETURN_IF_ERROR(CheckHalving(config));
  for (const int64_t r : config.bracket_rungs) {
    if (r >= 1 && r <= kMaxRungs) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "searcher.bracket_rungs: expected numbers from 1 to ", kMaxRungs, ", found ", r));
  }
  DET_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> sampler, MakeSampler(config.sampler, config));
  const std::vector<int64_t> rungs = BracketRungs(config);
  const std::vector<int64_t> trials = BracketTrials(config.max_trials, config.divisor, rungs);
  const std::vector<int64_t> limits =
      BracketConcurrency(config.max_concurrent_trials, config.divisor, trials);
  std::vector<MultiBracketSearch::BracketOptions> brackets;
  for (size_t b = 0; b < trials.size(); ++b) {
    brackets.push_back({.halving = AshaBracket(config, rungs[b], trials[b]), .share = limits[b]});
  }
  return std::make_unique<MultiBracketSearch>(brackets, std::move(sampler));
}

}  // namespace det::searcher
