#include "master/searcher/search_method.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "master/searcher/full_length.h"

namespace det::searcher {
namespace {

using Method = absl::StatusOr<std::unique_ptr<SearchMethod>>;
using model::SearcherConfig;

// Enough to get past an unlucky region, few enough to notice a space without a valid point.
constexpr int64_t kMinReplacements = 16;

Method MakeFullLength(const SearcherConfig& config, const std::string& sampler) {
  DET_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> points, MakeSampler(sampler, config));
  return std::make_unique<FullLengthSearch>(
      FullLengthSearch::Options{.max_trials = config.max_trials,
                                .max_concurrent_trials = config.max_concurrent_trials,
                                .max_replacements = std::max(kMinReplacements, config.max_trials),
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

struct Entry {
  const char* name;
  Method (*make)(const SearcherConfig&);
};
constexpr Entry kMethods[] = {
    {"bayesian", MakeBayesian}, {"random", MakeRandom}, {"single", MakeSingle}, {"tpe", MakeTpe}};

}  // namespace

absl::StatusOr<std::vector<Operation>> SearchMethod::OnPosted(Context, const OperationsPosted&) {
  return absl::FailedPreconditionError(
      "this search is driven by its own method; only searcher.name custom takes operations");
}

std::vector<std::string> SearchMethodNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kMethods) names.emplace_back(entry.name);
  return names;
}

Method MakeSearchMethod(const SearcherConfig& config) {
  for (const Entry& entry : kMethods) {
    if (config.name == entry.name) return entry.make(config);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no searcher is named \"", config.name,
                   "\"; known: ", absl::StrJoin(SearchMethodNames(), ", ")));
}

}  // namespace det::searcher
