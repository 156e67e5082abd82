#include "master/core/searcher/asha.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/searcher/multi_bracket.h"
#include "master/core/searcher/rungs.h"

namespace det::searcher {
namespace {

using model::SearcherConfig;

// The default concurrency limit.
int64_t DefaultConcurrency(double divisor, int64_t rungs, int64_t max_trials) {
  const double concurrency = std::pow(divisor, static_cast<double>(rungs - 1));
  return concurrency < static_cast<double>(max_trials)
             ? std::max<int64_t>(1, static_cast<int64_t>(concurrency))
             : max_trials;
}

}  // namespace

absl::Status CheckHalving(const SearcherConfig& config) {
  if (!(config.divisor > 1) || !std::isfinite(config.divisor)) {
    return absl::InvalidArgumentError(
        absl::StrCat("searcher.divisor: expected a number greater than 1, found ", config.divisor));
  }
  if (model::MaxLength(config) < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("searcher.max_length: ", config.name,
                     " compares trials at fractions of it; set it, or max_time with time_metric"));
  }
  for (const auto& [field, least, value] :
       {std::tuple("max_trials", 1, config.max_trials),
        std::tuple("max_rungs", 1, config.max_rungs), std::tuple("num_rungs", 0, config.num_rungs),
        std::tuple("max_concurrent_trials", 0, config.max_concurrent_trials)}) {
    if (value >= least) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("searcher.", field, ": expected ", least, " or more, found ", value));
  }
  if (config.num_rungs > kMaxRungs) {
    return absl::InvalidArgumentError(absl::StrCat("searcher.num_rungs: expected at most ",
                                                   kMaxRungs, ", found ", config.num_rungs));
  }
  return absl::OkStatus();
}

int64_t UsefulRungs(const SearcherConfig& config) {
  const int64_t most = std::min(config.max_rungs, kMaxRungs);
  return std::min(RungsWithin(config.divisor, model::MaxLength(config), most),
                  RungsWithin(config.divisor, config.max_trials, most));
}

Halving::Options AshaBracket(const SearcherConfig& config, int64_t rungs, int64_t trials) {
  return {.rule = config.stop_once ? Halving::Rule::kStop : Halving::Rule::kPromote,
          .divisor = config.divisor,
          .lengths = RungLengths(rungs, model::MaxLength(config), config.divisor),
          .max_trials = trials,
          .max_replacements = MaxReplacements(trials)};
}

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeAsha(const SearcherConfig& config) {
  DET_RETURN_IF_ERROR(CheckHalving(config));
  DET_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> sampler, MakeSampler(config.sampler, config));
  const int64_t rungs = config.num_rungs > 0 ? config.num_rungs : UsefulRungs(config);
  const int64_t limit = config.max_concurrent_trials > 0
                            ? config.max_concurrent_trials
                            : DefaultConcurrency(config.divisor, rungs, config.max_trials);
  return std::make_unique<MultiBracketSearch>(
      std::vector<MultiBracketSearch::BracketOptions>{
          {.halving = AshaBracket(config, rungs, config.max_trials), .share = limit}},
      std::move(sampler));
}

}  // namespace det::searcher
