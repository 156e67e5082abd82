#include "master/core/searcher/search_method.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "master/core/searcher/adaptive_asha.h"
#include "master/core/searcher/asha.h"
#include "master/core/searcher/custom.h"
#include "master/core/searcher/full_length.h"
#include "master/core/searcher/grid.h"
#include "master/core/searcher/hyperband.h"
#include "master/core/searcher/pbt.h"

namespace det::searcher {
namespace {

using Method = absl::StatusOr<std::unique_ptr<SearchMethod>>;
using model::SearcherConfig;

Method MakeFullLength(const SearcherConfig& config, const std::string& sampler) {
  DET_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> points, MakeSampler(sampler, config));
  return std::make_unique<FullLengthSearch>(
      FullLengthSearch::Options{.max_trials = config.max_trials,
                                .max_concurrent_trials = config.max_concurrent_trials,
                                .max_replacements = MaxReplacements(config.max_trials),
                                .max_length = model::MaxLength(config)},
      std::move(points));
}

Method MakeSingle(const SearcherConfig& config) {
  DET_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> points, MakeSampler("random", config));
  return std::make_unique<FullLengthSearch>(
      FullLengthSearch::Options{.max_trials = 1,
                                .max_concurrent_trials = 1,
                                .max_replacements = 0,
                                .max_length = model::MaxLength(config)},
      std::move(points));
}

Method MakeRandom(const SearcherConfig& config) { return MakeFullLength(config, config.sampler); }

Method MakeTpe(const SearcherConfig& config) { return MakeFullLength(config, "tpe"); }
Method MakeBayesian(const SearcherConfig& config) { return MakeFullLength(config, "bayesian"); }

Method MakeGrid(const model::ExperimentConfig& config) {
  DET_ASSIGN_OR_RETURN(Grid grid, Grid::Make(config.hyperparameters));
  FullLengthSearch::Options options{.max_trials = grid.size(),
                                    .max_concurrent_trials = config.searcher.max_concurrent_trials,
                                    .max_replacements = 0,
                                    .max_length = model::MaxLength(config.searcher)};
  return std::make_unique<FullLengthSearch>(options,
                                            std::make_unique<GridSampler>(std::move(grid)));
}

Method MakePopulation(const SearcherConfig& config) {
  PopulationSearch::Options options{.population = config.population,
                                    .max_length = model::MaxLength(config),
                                    .max_concurrent_trials = config.max_concurrent_trials,
                                    .max_replacements = MaxReplacements(config.population.size),
                                    .objectives = model::Objectives(config).size()};
  if (options.max_length < 1) {
    return absl::InvalidArgumentError(
        "pbt compares trials at lengths; set searcher.max_length or searcher.max_time");
  }
  // A generation trains at least one unit.
  int64_t& generations = options.population.generations;
  generations = std::clamp(generations, int64_t{1}, options.max_length);
  options.population.size = std::max(options.population.size, int64_t{1});
  return std::make_unique<PopulationSearch>(options);
}

Method MakeCustom(const SearcherConfig& config) {
  CustomSearch::Options options{.max_concurrent_trials = config.max_concurrent_trials,
                                .metrics = {}};
  for (const model::Objective& objective : model::Objectives(config)) {
    options.metrics.push_back(objective.metric);
  }
  return std::make_unique<CustomSearch>(std::move(options));
}

// Most methods do not depend on the space.
template <auto kMake>
Method Of(const model::ExperimentConfig& config) {
  return kMake(config.searcher);
}

// The maximum concurrency limit: a step of the cluster creates all trials of a search.
constexpr int64_t kMaxConcurrent = 10'000;

model::ExperimentConfig GetBoundedConfig(model::ExperimentConfig config) {
  SearcherConfig& searcher = config.searcher;
  int64_t& concurrent = searcher.max_concurrent_trials;
  concurrent = std::min(concurrent, kMaxConcurrent);
  // For asynchronous halving, 0 means its own default, which is at most max_trials.
  const std::string& name = searcher.name;
  const bool own = name == "asha" || name == "async_halving" || name == "adaptive_asha";
  if (concurrent == 0 && !(own && searcher.max_trials <= kMaxConcurrent)) {
    concurrent = kMaxConcurrent;
  }
  return config;
}

struct Entry {
  const char* name;
  Method (*make)(const model::ExperimentConfig&);
};
constexpr Entry kMethods[] = {
    {"adaptive_asha", Of<MakeAdaptiveAsha>},
    {"asha", Of<MakeAsha>},
    {"async_halving", Of<MakeAsha>},
    {"bayesian", Of<MakeBayesian>},
    {"custom", Of<MakeCustom>},
    {"grid", MakeGrid},
    {"hyperband", Of<MakeHyperband>},
    {"pbt", Of<MakePopulation>},
    {"random", Of<MakeRandom>},
    {"single", Of<MakeSingle>},
    {"tpe", Of<MakeTpe>},
};

}  // namespace

int64_t MaxReplacements(int64_t trials) {
  // Enough to leave an invalid region, few enough to detect a space without a valid point.
  return std::max<int64_t>(16, trials);
}

absl::StatusOr<std::vector<Operation>> SearchMethod::OnPosted(Context, const OperationsPosted&) {
  return absl::FailedPreconditionError(
      "this searcher does not accept operations; only the searcher custom does");
}

std::vector<std::string> SearchMethodNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kMethods) names.emplace_back(entry.name);
  return names;
}

Method MakeSearchMethod(const model::ExperimentConfig& config) {
  const std::string& name = config.searcher.name;
  for (const Entry& entry : kMethods) {
    if (name == entry.name) return entry.make(GetBoundedConfig(config));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown searcher \"", name,
                                                 "\"; expected one of ",
                                                 absl::StrJoin(SearchMethodNames(), ", ")));
}

}  // namespace det::searcher
