#include "master/searcher/search_method.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/searcher/random.h"

namespace det::searcher {
namespace {

// Enough to get past an unlucky region, few enough to notice a space without a valid point.
constexpr int64_t kMinReplacements = 16;

std::unique_ptr<SearchMethod> MakeSingle(const model::SearcherConfig&) {
  return std::make_unique<RandomSearch>(
      RandomSearch::Options{.max_trials = 1, .max_concurrent_trials = 1, .max_replacements = 0});
}

std::unique_ptr<SearchMethod> MakeRandom(const model::SearcherConfig& config) {
  return std::make_unique<RandomSearch>(
      RandomSearch::Options{.max_trials = config.max_trials,
                            .max_concurrent_trials = config.max_concurrent_trials,
                            .max_replacements = std::max(kMinReplacements, config.max_trials)});
}

struct Entry {
  const char* name;
  std::unique_ptr<SearchMethod> (*make)(const model::SearcherConfig&);
};
constexpr Entry kMethods[] = {{"random", MakeRandom}, {"single", MakeSingle}};

}  // namespace

std::vector<std::string> SearchMethodNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kMethods) names.emplace_back(entry.name);
  return names;
}

absl::StatusOr<std::unique_ptr<SearchMethod>> MakeSearchMethod(
    const model::SearcherConfig& config) {
  for (const Entry& entry : kMethods) {
    if (config.name == entry.name) return entry.make(config);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no searcher is named \"", config.name,
                   "\"; known: ", absl::StrJoin(SearchMethodNames(), ", ")));
}

}  // namespace det::searcher
