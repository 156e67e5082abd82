// Runs searches on the recorded learning curves of Fashion-MNIST (data/): how many units of
// training each method needs to reach the result of random search with the same number of trials,
// each trained in full.
//
// Usage: table_bench CURVES.csv [--seeds N]
//            prints a table; the exit code is 1 if a ratio misses its target
//        table_bench CURVES.csv --losses BUDGET,BUDGET [--seeds N]
//            prints a line `budget method seed loss` per search: the lowest loss found
//        table_bench CURVES.csv --samples N
//            prints a JSON line per random point: the point, and its losses at the rungs
//        table_bench --speed
//            runs 10,000 trials of adaptive_asha
// after: bazel build //tests/bench/search:table_bench
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/file.h"
#include "base/rng.h"
#include "master/core/searcher/preview.h"
#include "master/core/searcher/recorded_curves.h"
#include "master/core/searcher/searcher.h"
#include "master/core/searcher/simulate.h"
#include "master/core/searcher/space.h"

namespace det::bench {
namespace {

using searcher::LearningCurve;
using searcher::Simulation;

constexpr int64_t kUnits = 64;  // per fully trained trial
constexpr int64_t kTrials = 256;
constexpr int64_t kFewTrials = 64;
constexpr int64_t kAtOnce = 8;
constexpr double kNever = std::numeric_limits<double>::infinity();

// The search space of record_curves.py.
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

struct Method {
  const char* title;
  const char* name;
  const char* sampler;
};
constexpr Method kRandom = {"random", "random", "random"};
constexpr Method kMethods[] = {
    kRandom,
    {"tpe", "tpe", "tpe"},
    {"asha", "asha", "random"},
    {"asha+tpe", "asha", "tpe"},
    {"adaptive_asha", "adaptive_asha", "random"},
    {"adaptive_asha+tpe", "adaptive_asha", "tpe"},
    {"hyperband", "hyperband", "random"},
};

// Rungs at 1, 4, 16 and 64 units; adaptive_asha has brackets that start at the first three, by
// default.
model::ExperimentConfig Config(const Method& method, int64_t trials, int64_t at_once, int seed) {
  model::ExperimentConfig config;
  config.hyperparameters = Space();
  config.experiment_seed = static_cast<uint32_t>(seed);
  config.searcher.name = method.name;
  config.searcher.sampler = method.sampler;
  config.searcher.metric = "loss";
  config.searcher.max_length = model::Length{model::Length::Unit::kBatches, kUnits};
  config.searcher.max_trials = trials;
  config.searcher.max_concurrent_trials = at_once;
  config.searcher.divisor = 4;
  config.searcher.num_rungs = 4;
  return config;
}

Simulation Run(const model::ExperimentConfig& config, const LearningCurve& curve) {
  absl::StatusOr<Simulation> simulation = searcher::Simulate(config, curve);
  DET_CHECK_OK(simulation);
  return *std::move(simulation);
}

// Units spent until the best value reached `target`.
double CountUnitsUntil(const Simulation& simulation, double target) {
  for (const searcher::BestSoFar& best : simulation.best) {
    if (best.metric <= target) return static_cast<double>(best.units);
  }
  return kNever;
}

// The lowest loss found within `units`.
double BestWithin(const Simulation& simulation, int64_t units) {
  double best = kNever;
  for (const searcher::BestSoFar& so_far : simulation.best) {
    if (so_far.units <= units) best = so_far.metric;
  }
  return best;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// ---- units to the best of random search ----

double RandomBest(const LearningCurve& curve, int64_t trials, int seeds) {
  std::vector<double> best;
  for (int seed = 0; seed < seeds; ++seed) {
    best.push_back(Run(Config(kRandom, trials, kAtOnce, seed), curve).best.back().metric);
  }
  return Median(best);
}

// Whether `units` are at most `bound` times `others`. False if the target was not reached.
bool CheckRatio(const char* what, double units, double others, double bound) {
  const double ratio = units / others;
  if (units == kNever) {
    std::printf("%-58s not reached (target: at most %.2f)  MISSED\n", what, bound);
    return false;
  }
  std::printf("%-58s %.3f (target: at most %.2f)%s\n", what, ratio, bound,
              ratio <= bound ? "" : "  MISSED");
  return ratio <= bound;
}

struct Medians {
  double to_target = 0;
  double to_few = 0;  // to the best result of random with fewer trials
};

Medians Compare(const LearningCurve& curve, const Method& method, double target, double few,
                int seeds) {
  std::vector<double> to_target, to_few, all, best;
  for (int seed = 0; seed < seeds; ++seed) {
    const Simulation simulation = Run(Config(method, kTrials, kAtOnce, seed), curve);
    to_target.push_back(CountUnitsUntil(simulation, target));
    to_few.push_back(CountUnitsUntil(simulation, few));
    all.push_back(static_cast<double>(simulation.units));
    best.push_back(simulation.best.back().metric);
  }
  std::printf("%-20s %12.0f %12.0f %12.0f %12.4f\n", method.title, Median(to_target),
              Median(to_few), Median(all), Median(best));
  return {.to_target = Median(to_target), .to_few = Median(to_few)};
}

int CompareOnTable(const LearningCurve& curve, int seeds) {
  const double target = RandomBest(curve, kTrials, seeds);
  const double few = RandomBest(curve, kFewTrials, seeds);
  std::printf("random: best loss %.4f with %lld trials, %.4f with %lld\n\n", target,
              static_cast<long long>(kTrials), few, static_cast<long long>(kFewTrials));
  std::printf("%-20s %12s %12s %12s %12s   medians of %d seeds\n", "method",
              absl::StrCat("to ", target).c_str(), absl::StrCat("to ", few).c_str(), "all units",
              "final best", seeds);
  std::map<std::string, Medians> medians;
  for (const Method& method : kMethods) {
    medians[method.title] = Compare(curve, method, target, few, seeds);
  }
  std::printf("\n");
  const Medians& asha = medians["asha"];
  const Medians& with_tpe = medians["asha+tpe"];
  const Medians& adaptive = medians["adaptive_asha"];
  std::printf("to the best result of random with the same number of trials (%lld):\n",
              static_cast<long long>(kTrials));
  bool good = CheckRatio("units of adaptive_asha relative to random", adaptive.to_target,
                         kTrials * kUnits, 0.1);
  good = CheckRatio("units of asha with tpe relative to asha", with_tpe.to_target, asha.to_target,
                    0.7) &&
         good;
  std::printf("for information, to its best result with %lld:\n",
              static_cast<long long>(kFewTrials));
  CheckRatio("units of adaptive_asha relative to random", adaptive.to_few, kFewTrials * kUnits,
             0.1);
  CheckRatio("units of asha with tpe relative to asha", with_tpe.to_few, asha.to_few, 0.7);
  return good ? 0 : 1;
}

// ---- losses within a budget ----

// Runs as many trials as the budget allows, sequentially.
int64_t TrialsFor(const Method& method, int64_t budget) {
  int64_t trials = 1;
  for (int64_t step = budget; step > 0; step /= 2) {
    const auto search = searcher::Searcher::Make(Config(method, trials + step, 1, 0));
    DET_CHECK_OK(search);
    const double units = searcher::SumPlan(search->Preview()).units;
    if (units <= static_cast<double>(budget)) trials += step;
  }
  return trials;
}

int PrintLosses(const LearningCurve& curve, const std::string& budgets, int seeds) {
  for (const Method& method : kMethods) {
    for (const absl::string_view text : absl::StrSplit(budgets, ',')) {
      int64_t budget = 0;
      DET_CHECK(absl::SimpleAtoi(text, &budget)) << "--losses: expected budgets, found " << budgets;
      const int64_t trials = TrialsFor(method, budget);
      for (int seed = 0; seed < seeds; ++seed) {
        const Simulation simulation = Run(Config(method, trials, 1, seed), curve);
        std::printf("%lld %s %d %.17g\n", static_cast<long long>(budget), method.title, seed,
                    BestWithin(simulation, budget));
        std::fflush(stdout);
      }
    }
  }
  return 0;
}

int PrintSamples(const LearningCurve& curve, int samples) {
  base::Rng rng(1);
  for (int i = 0; i < samples; ++i) {
    const model::Hparams point = searcher::Sample(Space(), rng);
    model::Value::Object losses;
    for (int64_t length = 1; length <= kUnits; length *= 4) {
      const double loss = curve(point, length)[0];
      losses[absl::StrCat(length)] = std::isfinite(loss) ? model::Value(loss) : model::Value();
    }
    const model::Value line = model::Value::Object{{"point", point}, {"losses", losses}};
    std::printf("%s\n", line.ToJson().c_str());
  }
  return 0;
}

int MeasureSpeed() {
  const absl::Time began = absl::Now();
  const auto config = Config({"", "adaptive_asha", "random"}, 10'000, kAtOnce, 1);
  const Simulation simulation = Run(config, [](const model::Hparams& point, int64_t length) {
    const double rate = *point.at("learning_rate").AsNumber();
    return std::vector<double>{rate + 1.0 / static_cast<double>(length)};
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - began);
  std::printf("adaptive_asha: %zu trials simulated in %.3f s (target: under 2 s)%s\n",
              simulation.trials.size(), seconds, seconds < 2 ? "" : "  MISSED");
  return seconds < 2 ? 0 : 1;
}

}  // namespace
}  // namespace det::bench

int main(int argc, char** argv) {
  using namespace det;
  std::map<std::string, std::string> options;
  for (int i = 2; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  if (argc == 2 && std::string(argv[1]) == "--speed") return bench::MeasureSpeed();
  if (argc < 2 || argc % 2 != 0) {
    std::fprintf(stderr,
                 "usage: table_bench CURVES.csv [--losses BUDGETS | --samples N] [--seeds N] | "
                 "--speed\n");
    return 2;
  }
  const absl::StatusOr<std::string> text = base::ReadFile(std::string(argv[1]));
  DET_CHECK_OK(text);
  const auto curves = searcher::RecordedCurves::Parse(*text, argv[1]);
  DET_CHECK_OK(curves);
  const searcher::LearningCurve curve = [&](const model::Hparams& point, int64_t length) {
    return std::vector<double>{curves->At(point, static_cast<double>(length))[0]};
  };
  if (options.contains("--samples")) {
    return bench::PrintSamples(curve, std::stoi(options["--samples"]));
  }
  const int seeds = options.contains("--seeds") ? std::stoi(options["--seeds"]) : 40;
  if (options.contains("--losses")) return bench::PrintLosses(curve, options["--losses"], seeds);
  return bench::CompareOnTable(curve, seeds);
}
