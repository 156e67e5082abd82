// Configurations and helpers for tests of search methods. Test only.
#ifndef MASTER_CORE_SEARCHER_TESTING_H_
#define MASTER_CORE_SEARCHER_TESTING_H_

#include <string>
#include <variant>
#include <vector>

#include "master/core/model/experiment_config.h"
#include "master/core/searcher/operation.h"

namespace det::searcher {

// Returns the configuration of a method over one real hyperparameter x in [0, 1], with lengths in
// batches and the metric `loss`.
inline model::ExperimentConfig TestConfig(const std::string& method, int64_t max_length,
                                          int64_t max_trials, int64_t max_concurrent_trials) {
  model::ExperimentConfig config;
  config.searcher.name = method;
  config.searcher.metric = "loss";
  config.searcher.max_length = model::Length{model::Length::Unit::kBatches, max_length};
  config.searcher.max_trials = max_trials;
  config.searcher.max_concurrent_trials = max_concurrent_trials;
  config.hyperparameters = {{"x", {model::DoubleHparam{0, 1, {}}}}};
  config.experiment_seed = 42;
  return config;
}

inline ValidationReported MakeValidation(const std::string& request, int64_t length,
                                         double metric) {
  return {model::RequestId(request), length, static_cast<double>(length), {metric}};
}

inline TrialExited MakeExit(const std::string& request, TrialEnd end = TrialEnd::kCompleted) {
  return {model::RequestId(request), end};
}

// Formats operations as "create 3, pause 1, resume 2, stop 4, shutdown", in order.
inline std::string Describe(const std::vector<Operation>& operations) {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const Operation& operation : operations) {
    if (const auto* create = std::get_if<CreateTrial>(&operation)) {
      add("create " + create->request.value());
    } else if (const auto* stop = std::get_if<StopTrial>(&operation)) {
      add("stop " + stop->request.value());
    } else if (const auto* pause = std::get_if<PauseTrial>(&operation)) {
      add("pause " + pause->request.value());
    } else if (const auto* resume = std::get_if<ResumeTrial>(&operation)) {
      add("resume " + resume->request.value());
    } else {
      const auto& shutdown = std::get<Shutdown>(operation);
      add(shutdown.failed     ? "shutdown failed"
          : shutdown.canceled ? "shutdown canceled"
                              : "shutdown");
    }
  }
  return text;
}

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_TESTING_H_
