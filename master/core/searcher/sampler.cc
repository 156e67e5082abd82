#include "master/core/searcher/sampler.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/searcher/bayesian.h"
#include "master/core/searcher/random_sampler.h"
#include "master/core/searcher/tpe.h"

namespace det::searcher {
namespace {

std::unique_ptr<Sampler> RandomFrom(const model::SearcherConfig&) {
  return std::make_unique<RandomSampler>();
}

std::unique_ptr<Sampler> TpeFrom(const model::SearcherConfig& config) {
  return std::make_unique<TpeSampler>(model::Objectives(config).size());
}

std::unique_ptr<Sampler> BayesianFrom(const model::SearcherConfig& config) {
  return std::make_unique<BayesianSampler>(model::Objectives(config).size());
}

struct SamplerEntry {
  const char* name;
  std::unique_ptr<Sampler> (*make)(const model::SearcherConfig&);
};
constexpr SamplerEntry kSamplers[] = {
    {"bayesian", BayesianFrom}, {"random", RandomFrom}, {"tpe", TpeFrom}};

}  // namespace

std::vector<std::string> SamplerNames() {
  std::vector<std::string> names;
  for (const SamplerEntry& entry : kSamplers) names.emplace_back(entry.name);
  return names;
}

absl::StatusOr<std::unique_ptr<Sampler>> MakeSampler(const std::string& name,
                                                     const model::SearcherConfig& config) {
  for (const SamplerEntry& entry : kSamplers) {
    if (name == entry.name) return entry.make(config);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no sampler is named \"", name, "\"; known: ", absl::StrJoin(SamplerNames(), ", ")));
}

CreateTrial MakeTrial(Context context, Sampler& sampler, int64_t number,
                      const std::string& prefix) {
  base::Rng rng = context.rng.Split(static_cast<uint64_t>(number));
  CreateTrial trial;
  trial.request = model::RequestId(absl::StrCat(prefix, number));
  // 31 bits: some libraries take a seed as a signed integer.
  trial.seed = static_cast<uint32_t>(rng.UniformInt(0, std::numeric_limits<int32_t>::max()));
  trial.hparams = sampler.Next(context.space, trial.request, rng);
  return trial;
}

}  // namespace det::searcher
