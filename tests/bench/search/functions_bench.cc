// Measures the regret of the samplers on the functions of functions.h, and the cost of a decision.
//
// Usage: functions_bench [--seeds N] [--evaluations N] [--samplers A,B] [--functions A,B]
//            prints a line `function sampler seed regret` per search
//        functions_bench --cost
//            prints a line per sampler: a decision and a snapshot with 10,000 trials
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/rng.h"
#include "master/core/searcher/sampler.h"
#include "tests/bench/search/functions.h"

namespace det::bench {
namespace {

using searcher::Context;
using searcher::CreateTrial;
using searcher::Sampler;

std::unique_ptr<Sampler> Make(const std::string& name) {
  auto sampler = searcher::MakeSampler(name, model::SearcherConfig{});
  DET_CHECK_OK(sampler);
  return *std::move(sampler);
}

// Runs the trials sequentially; returns the regret of the best one.
double Search(const Function& function, const std::string& name, uint64_t seed, int evaluations) {
  const std::unique_ptr<Sampler> sampler = Make(name);
  const base::Rng rng(seed);
  const Context context{.space = function.space, .rng = rng};
  double best = std::numeric_limits<double>::infinity();
  for (int i = 1; i <= evaluations; ++i) {
    const CreateTrial trial = searcher::MakeTrial(context, *sampler, i);
    const double regret = function.regret(trial.hparams);
    sampler->OnReport({.request = trial.request, .length = 1, .losses = {regret}});
    sampler->OnExited(trial.request, searcher::TrialEnd::kCompleted);
    best = std::min(best, regret);
  }
  return best;
}

// CPU time of this thread, which never waits, so that other load on the machine does not count.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// 16 trials at a time, as on a cluster.
void PrintCost(const Function& function, const std::string& name, int trials) {
  const std::unique_ptr<Sampler> sampler = Make(name);
  const base::Rng rng(1);
  const Context context{.space = function.space, .rng = rng};
  std::vector<double> seconds;
  std::vector<CreateTrial> running;
  for (int i = 1; i <= trials; ++i) {
    const double start = CpuSeconds();
    running.push_back(searcher::MakeTrial(context, *sampler, i));
    seconds.push_back(CpuSeconds() - start);
    if (running.size() < 16) continue;
    const CreateTrial done = running.front();
    running.erase(running.begin());
    sampler->OnReport(
        {.request = done.request, .length = 1, .losses = {function.regret(done.hparams)}});
    sampler->OnExited(done.request, searcher::TrialEnd::kCompleted);
  }
  const auto last = seconds.end() - std::min<std::ptrdiff_t>(100, trials / 2);
  std::nth_element(last, last + (seconds.end() - last) / 2, seconds.end());
  const double median = *(last + (seconds.end() - last) / 2);
  std::printf("%s, %d trials of %s: a decision %.0f us, a snapshot %.0f KB\n", name.c_str(), trials,
              function.name.c_str(), 1e6 * median,
              static_cast<double>(sampler->Snapshot().ToJson().size()) / 1e3);
}

void Run(const std::map<std::string, std::string>& options) {
  const auto option = [&options](const std::string& name, const std::string& otherwise) {
    const auto it = options.find(name);
    return it == options.end() ? otherwise : it->second;
  };
  const int seeds = std::stoi(option("--seeds", "40"));
  const int evaluations = std::stoi(option("--evaluations", "100"));
  const std::vector<std::string> samplers =
      absl::StrSplit(option("--samplers", "random,tpe,bayesian"), ',');
  const std::vector<std::string> wanted = absl::StrSplit(option("--functions", "all"), ',');
  for (const Function& function : Functions()) {
    if (wanted[0] != "all" && std::count(wanted.begin(), wanted.end(), function.name) == 0)
      continue;
    for (const std::string& sampler : samplers) {
      for (int seed = 0; seed < seeds; ++seed) {
        const double regret = Search(function, sampler, static_cast<uint64_t>(seed), evaluations);
        std::printf("%s %s %d %.17g\n", function.name.c_str(), sampler.c_str(), seed, regret);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace det::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--cost") {
    for (const auto& function : det::bench::Functions()) {
      if (function.name != "hartmann6") continue;
      det::bench::PrintCost(function, "random", 10'000);
      det::bench::PrintCost(function, "tpe", 10'000);
      det::bench::PrintCost(function, "bayesian", 300);
    }
    return 0;
  }
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  det::bench::Run(options);
}
