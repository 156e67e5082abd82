#include "master/core/searcher/hyperband.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/searcher/adaptive_asha.h"
#include "master/core/searcher/asha.h"
#include "master/core/searcher/rungs.h"
#include "master/core/searcher/tournament.h"

namespace det::searcher {
namespace {

using model::SearcherConfig;

// Beyond it the set of brackets is a mistake: of a max_length in small units, and a large
// max_rungs.
constexpr double kMostTrials = 1e6;

}  // namespace

std::vector<int64_t> HyperbandTrials(int64_t s_max, double divisor) {
  std::vector<int64_t> trials;
  for (int64_t s = s_max; s >= 0; --s) {
    // Exact up to the division, so that ceil sees an integer where there is one.
    const double dividend = static_cast<double>(s_max + 1) * std::pow(divisor, s);
    const double n = std::ceil(dividend / static_cast<double>(s + 1));
    trials.push_back(static_cast<int64_t>(std::min(n, 2 * kMostTrials)));
  }
  return trials;
}

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeHyperband(const SearcherConfig& given) {
  SearcherConfig config = given;
  if (given.max_trials == 0) config.max_trials = 1;  // its own number
  DET_RETURN_IF_ERROR(CheckHalving(config));
  DET_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> sampler, MakeSampler(config.sampler, config));
  const int64_t most = std::min(config.max_rungs, kMostRungs);
  const int64_t most_rungs = RungsWithin(config.divisor, model::MaxLength(config), most);
  std::vector<int64_t> trials = HyperbandTrials(most_rungs - 1, config.divisor);
  int64_t total = std::accumulate(trials.begin(), trials.end(), int64_t{0});
  if (given.max_trials > 0 && given.max_trials < total) {
    total = given.max_trials;
    trials = Apportion(total, std::vector<double>(trials.begin(), trials.end()));
  } else if (static_cast<double>(total) > kMostTrials) {
    return absl::InvalidArgumentError(absl::StrCat(
        "searcher.max_trials: hyperband with ", most_rungs,
        " rungs makes more than a million trials; set max_trials, or lower max_rungs"));
  }
  std::vector<Tournament::Entrant> brackets;
  for (size_t b = 0; b < trials.size(); ++b) {
    Halving::Options bracket = AshaBracket(config, most_rungs - static_cast<int64_t>(b), trials[b]);
    bracket.rule = Halving::Rule::kSynchronous;
    brackets.push_back({.halving = bracket, .share = 0});
  }
  brackets.front().share = config.max_concurrent_trials > 0 ? config.max_concurrent_trials : total;
  return std::make_unique<Tournament>(brackets, std::move(sampler));
}

}  // namespace det::searcher
