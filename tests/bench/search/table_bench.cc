// Searches on the recorded learning curves of Fashion-MNIST (data/), at full speed: how many units
// of training each method needs to come as far as random search at full budget.
//
// Usage: table_bench CURVES.csv [--seeds N]      after: bazel build
// //tests/bench/search:table_bench
//        table_bench --speed                     10,000 trials of adaptive_asha
// Prints a table; exit code 1 where a ratio is above the one that is asked for.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/file.h"
#include "master/searcher/recorded_curves.h"
#include "master/searcher/simulate.h"

namespace det::bench {
namespace {

using searcher::Simulation;

constexpr int64_t kUnits = 64;         // of a trial in full
constexpr int64_t kRandomTrials = 64;  // of random search
constexpr int64_t kAtOnce = 8;
constexpr double kNever = std::numeric_limits<double>::infinity();

// The space that record_curves.py draws from.
model::SearchSpace Space() {
  using model::CategoricalHparam;
  using model::DoubleHparam;
  model::SearchSpace space = {
      {"batch_size", {CategoricalHparam{{16, 32, 64, 128}}}},
      {"dropout", {DoubleHparam{0, 0.6, {}}}},
      {"learning_rate", {model::LogHparam{10, -4, -0.5, {}}}},
      {"momentum", {DoubleHparam{0, 0.99, {}}}},
      {"optimizer", {CategoricalHparam{{"adam", "sgd"}}}},
      {"weight_decay", {model::LogHparam{10, -6, -2, {}}}},
      {"width", {model::IntHparam{4, 16, {}}}},
  };
  space.at("momentum")
      .when.push_back({.path = "optimizer", .any_of = {"sgd"}, .minval = {}, .maxval = {}});
  return space;
}

model::ExperimentConfig Config(const std::string& name, const std::string& sampler, int64_t trials,
                               uint32_t seed) {
  model::ExperimentConfig config;
  config.hyperparameters = Space();
  config.experiment_seed = seed;
  config.searcher.name = name;
  config.searcher.sampler = sampler;
  config.searcher.metric = "loss";
  config.searcher.max_length = model::Length{model::Length::Unit::kBatches, kUnits};
  config.searcher.max_trials = trials;
  config.searcher.max_concurrent_trials = kAtOnce;
  config.searcher.divisor = 4;
  config.searcher.num_rungs = 4;
  return config;
}

Simulation Run(const model::ExperimentConfig& config, const searcher::LearningCurve& curve) {
  absl::StatusOr<Simulation> simulation = searcher::Simulate(config, curve);
  DET_CHECK_OK(simulation);
  return *std::move(simulation);
}

// Units spent until the best value was as good as `target`.
double UnitsTo(const Simulation& simulation, double target) {
  for (const searcher::BestSoFar& best : simulation.best) {
    if (best.metric <= target) return static_cast<double>(best.units);
  }
  return kNever;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Method {
  const char* title;
  const char* name;
  const char* sampler;
  int64_t trials;
};
constexpr Method kMethods[] = {
    {"random", "random", "random", kRandomTrials},
    {"tpe", "tpe", "random", kRandomTrials},
    {"adaptive_asha", "adaptive_asha", "random", 256},
    {"adaptive_asha + tpe", "adaptive_asha", "tpe", 256},
    {"asha", "asha", "random", 256},
    {"asha + tpe", "asha", "tpe", 256},
    {"asha + bayesian", "asha", "bayesian", 256},
    {"hyperband", "hyperband", "random", 256},
};

// True where `ratio` is at most `bound`.
bool Judge(const char* what, double ratio, double bound) {
  std::printf("%-58s %.3f (asked for: at most %.2f)%s\n", what, ratio, bound,
              ratio <= bound ? "" : "  MISSED");
  return ratio <= bound;
}

int CompareOnTable(const std::string& path, int seeds) {
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  DET_CHECK_OK(text);
  const auto curves = searcher::RecordedCurves::Parse(*text, path);
  DET_CHECK_OK(curves);
  const searcher::LearningCurve curve = [&](const model::Hparams& point, int64_t length) {
    return std::vector<double>{curves->At(point, static_cast<double>(length))[0]};
  };
  std::vector<double> random_best;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto config = Config("random", "random", kRandomTrials, static_cast<uint32_t>(seed));
    random_best.push_back(Run(config, curve).best.back().metric);
  }
  const double target = Median(random_best);
  std::printf("%zu recorded configurations; random: %lld trials of %lld units, best loss %.4f\n\n",
              curves->configurations(), static_cast<long long>(kRandomTrials),
              static_cast<long long>(kUnits), target);
  std::printf("%-24s %16s %12s %12s   medians of %d seeds\n", "method", "units to target",
              "all units", "final best", seeds);
  std::map<std::string, double> to_target;
  for (const Method& method : kMethods) {
    std::vector<double> to, all, best;
    for (int seed = 0; seed < seeds; ++seed) {
      const auto config =
          Config(method.name, method.sampler, method.trials, static_cast<uint32_t>(1000 + seed));
      const Simulation simulation = Run(config, curve);
      to.push_back(UnitsTo(simulation, target));
      all.push_back(static_cast<double>(simulation.units));
      best.push_back(simulation.best.back().metric);
    }
    to_target[method.title] = Median(to);
    std::printf("%-24s %16.0f %12.0f %12.4f\n", method.title, Median(to), Median(all),
                Median(best));
  }
  std::printf("\n");
  const double budget = static_cast<double>(kRandomTrials * kUnits);
  bool good = Judge("adaptive_asha to random's best, of random's full budget",
                    to_target["adaptive_asha"] / budget, 0.1);
  good = Judge("asha with tpe, of asha with random sampling",
               to_target["asha + tpe"] / to_target["asha"], 0.7) &&
         good;
  return good ? 0 : 1;
}

int Speed() {
  const absl::Time began = absl::Now();
  const auto config = Config("adaptive_asha", "random", 10'000, 1);
  const Simulation simulation = Run(config, [](const model::Hparams& point, int64_t length) {
    const double rate = *point.at("learning_rate").AsNumber();
    return std::vector<double>{rate + 1.0 / static_cast<double>(length)};
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - began);
  std::printf("adaptive_asha: %zu trials simulated in %.3f s (asked for: under 2 s)%s\n",
              simulation.trials.size(), seconds, seconds < 2 ? "" : "  MISSED");
  return seconds < 2 ? 0 : 1;
}

}  // namespace
}  // namespace det::bench

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--speed") return det::bench::Speed();
  const bool seeds = argc == 4 && std::string(argv[2]) == "--seeds";
  if (first.empty() || (argc > 2 && !seeds)) {
    std::fprintf(stderr, "usage: table_bench CURVES.csv [--seeds N] | --speed\n");
    return 2;
  }
  return det::bench::CompareOnTable(first, seeds ? std::atoi(argv[3]) : 40);
}
