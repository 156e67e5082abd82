// A Context for tests of the training loop: given hyperparameters and lengths, checkpoints in a
// directory, and a trace of everything that is reported.
//
// Called by tests, on one thread.
#ifndef TRIAL_API_CPP_TORCH_TESTING_FAKE_CONTEXT_H_
#define TRIAL_API_CPP_TORCH_TESTING_FAKE_CONTEXT_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/context.h"

namespace det::trial::testing {

class FakeContext : public Context,
                    private Metrics,
                    private Checkpoints,
                    private Preemption,
                    private Tensorboard,
                    private Profiler {
 public:
  struct Options {
    std::string hparams = R"({"global_batch_size": 8})";
    std::string config = "{}";
    TrainingConfig training;
    std::string directory;              // for checkpoints
    std::optional<std::string> latest;  // a checkpoint in that directory
    bool warm_start = false;
    uint32_t seed = 7;
  };

  FakeContext(Communicator& communicator, const Options& options)
      : communicator_(communicator), options_(options), hparams_(options.hparams) {}

  // The actions of the chief: "train 10", "validate 10", "save 10", "progress 0.5", "acknowledge".
  std::vector<std::string> trace;
  std::vector<std::pair<int64_t, MetricMap>> training_reports;
  std::vector<std::pair<int64_t, MetricMap>> validation_reports;
  std::string last_checkpoint;
  bool preempt = false;  // whether this rank has received a preemption request

  bool on_cluster() const override { return true; }
  int experiment_id() const override { return 1; }
  int trial_id() const override { return 1; }
  uint32_t seed() const override { return options_.seed; }
  bool warm_start() const override { return options_.warm_start; }
  const Hparams& hparams() const override { return hparams_; }
  const TrainingConfig& training() const override { return options_.training; }
  std::string config_json() const override { return options_.config; }
  std::string data_json() const override { return "{}"; }
  const Ranks& ranks() const override { return communicator_.ranks(); }
  Communicator& communicator() override { return communicator_; }
  Metrics& metrics() override { return *this; }
  Checkpoints& checkpoints() override { return *this; }
  Preemption& preemption() override { return *this; }
  Tensorboard& tensorboard() override { return *this; }
  Profiler& profiler() override { return *this; }
  void ReportInvalidHp(const std::string& message) override { Trace("invalid hp: " + message); }
  void ReportFailure(const std::string& message) override { Trace("failure: " + message); }

 private:
  void Trace(const std::string& line) {
    if (ranks().is_chief()) trace.push_back(line);
  }

  void ReportTraining(int64_t steps, const MetricMap& metrics) override {
    Trace("train " + std::to_string(steps));
    training_reports.emplace_back(steps, metrics);
  }
  bool ReportValidation(int64_t steps, const MetricMap& metrics) override {
    Trace("validate " + std::to_string(steps));
    validation_reports.emplace_back(steps, metrics);
    const auto metric = metrics.find(options_.training.searcher_metric);
    if (!ranks().is_chief() || metric == metrics.end()) return false;
    const bool best = !best_ || (options_.training.smaller_is_better ? metric->second < *best_
                                                                     : metric->second > *best_);
    if (best) best_ = metric->second;
    return best;
  }
  void Report(const std::string& group, int64_t steps, const MetricMap&) override {
    Trace(group + " " + std::to_string(steps));
  }
  void ReportProgress(double fraction) override { progress_ = fraction; }
  void Flush() override {}

  void StartSave(int64_t steps, const std::string&, Writer write) override {
    last_checkpoint = "steps-" + std::to_string(steps);
    const std::string directory = options_.directory + "/" + last_checkpoint;
    std::filesystem::create_directories(directory);
    unfinished_ = last_checkpoint;
    write(directory);
    communicator_.Barrier();
    Trace("save " + std::to_string(steps));
  }
  std::string FinishSave() override { return std::exchange(unfinished_, ""); }
  std::optional<std::string> Latest() const override { return options_.latest; }
  std::string Open(const std::string& uuid) override { return options_.directory + "/" + uuid; }
  std::optional<Opened> OpenLatest() override {
    if (!options_.latest) return std::nullopt;
    return Opened{*options_.latest, Open(*options_.latest)};
  }

  bool Requested() const override { return preempt; }
  void Acknowledge() override { Trace("acknowledge"); }

  std::string Folder() override { return options_.directory + "/tensorboard"; }
  void AddScalar(const std::string&, int64_t, double) override {}
  void AddText(const std::string&, int64_t, const std::string&) override {}
  void Upload() override {}
  void Finish() override {}

  void On(std::chrono::milliseconds, int) override {}
  void Off() override {}

  Communicator& communicator_;
  const Options options_;
  const Hparams hparams_;
  std::optional<double> best_;
  double progress_ = 0.0;
  std::string unfinished_;  // checkpoint
};

}  // namespace det::trial::testing

#endif  // TRIAL_API_CPP_TORCH_TESTING_FAKE_CONTEXT_H_
