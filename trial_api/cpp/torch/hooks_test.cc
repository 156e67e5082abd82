// Tests of callbacks, metric reducers and learning rate schedules.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/controller.h"
#include "trial_api/cpp/torch/testing/fake_context.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::FakeContext;
using testing::RunRanks;
using Unit = Length::Unit;

constexpr int64_t kRecords = 16;  // two batches of eight

// Records its calls, and counts epochs in its state.
class Listener : public Callback {
 public:
  void on_training_start() override { observed += "start; "; }
  void on_training_epoch_start(int64_t epoch) override { Record("epoch ", epoch); }
  void on_training_epoch_end(int64_t epoch) override {
    Record("end of epoch ", epoch);
    ++ended;
  }
  void on_training_report(int64_t steps, const MetricMap& metrics) override {
    Record("report ", steps, metrics.count("loss") ? " with loss" : "");
  }
  void on_validation_start() override { observed += "validating; "; }
  void on_validation_end(int64_t steps, const MetricMap& metrics) override {
    Record("validated ", steps, metrics.count("range") ? " with range" : "");
  }
  void on_checkpoint_start(int64_t steps) override { Record("saving ", steps); }
  // The fake context writes on this thread.
  void on_checkpoint_write_end(int64_t steps, const std::string& dir) override {
    Record("wrote ", steps, std::filesystem::is_empty(dir) ? "" : " files");
  }
  void on_checkpoint_load_start(const std::string& dir) override {
    observed += std::filesystem::exists(dir + "/state.json") ? "loading; " : "loading nothing; ";
  }
  void on_checkpoint_upload_end(int64_t steps, const std::string& uuid) override {
    Record("stored ", steps, " as " + uuid);
  }
  void on_training_end() override { observed += "finished; "; }
  void on_trial_shutdown() override { observed += "over; "; }
  void save_state(torch::serialize::OutputArchive& archive) const override {
    archive.write("ended", c10::IValue(ended));
  }
  void load_state(torch::serialize::InputArchive& archive) override {
    c10::IValue value;
    archive.read("ended", value);
    ended = value.toInt();
  }

  std::string observed;
  int64_t ended = 0;

 private:
  void Record(const std::string& what, int64_t number, const std::string& more = "") {
    observed += what + std::to_string(number) + more + "; ";
  }
};

// The range of the values, which is not a mean over records.
class Range : public MetricReducer {
 public:
  explicit Range(std::string name = "range") : name_(std::move(name)) {}
  void Update(const torch::Tensor& values) { values_.push_back(values.flatten().clone()); }
  void reset() override { values_.clear(); }
  // Ranks may have seen different numbers of values.
  torch::Tensor per_rank() override {
    return values_.empty() ? torch::empty({0}) : torch::cat(values_);
  }
  std::map<std::string, double> across_ranks(const std::vector<torch::Tensor>& parts) override {
    const torch::Tensor all = torch::cat(parts);
    if (all.numel() == 0) return {{name_, 0.0}};
    return {{name_, (all.max() - all.min()).item<double>()}, {name_ + "_of", all.numel()}};
  }

 private:
  const std::string name_;
  std::vector<torch::Tensor> values_;
};

class HookedTrial : public Trial {
 public:
  explicit HookedTrial(TrialContext& context)
      : context_(context),
        line_(context.wrap_model(torch::nn::Linear(1, 1))),
        sgd_(context.wrap_optimizer(torch::optim::SGD(line_->parameters(), 0.5))),
        range(context.wrap_reducer(std::make_shared<Range>())) {}

  DataLoader build_training_data_loader() override { return Records(kRecords); }
  DataLoader build_validation_data_loader() override { return Records(13); }
  Callbacks build_callbacks() override { return {{name, listener}}; }

  BatchMetrics train_batch(const Batch& batch, int64_t, int64_t) override {
    if (fails) throw Error("out of data");
    rates.push_back(
        static_cast<const torch::optim::SGDOptions&>(sgd_->param_groups()[0].options()).lr());
    range->Update(batch.data());
    const torch::Tensor loss = torch::mse_loss(line_(batch.data()), batch.data());
    context_.backward(0.0 * loss);
    context_.step_optimizer(sgd_);
    return {{"loss", loss}};
  }
  BatchMetrics evaluate_batch(const Batch& batch) override {
    range->Update(batch.data());
    return {{"error", 1.0}};
  }

  const std::shared_ptr<torch::optim::SGD>& sgd() const { return sgd_; }

  std::vector<double> rates;
  std::string name = "listener";
  bool fails = false;
  std::shared_ptr<Listener> listener = std::make_shared<Listener>();

 private:
  static DataLoader Records(int64_t count) {
    return TensorDataset({torch::arange(count, torch::kFloat32).unsqueeze(1)});
  }

  TrialContext& context_;
  torch::nn::Linear line_;
  std::shared_ptr<torch::optim::SGD> sgd_;

 public:
  std::shared_ptr<Range> range;
};

class HooksTest : public ::testing::Test {
 protected:
  FakeContext::Options Options(int64_t batches) const {
    FakeContext::Options options;
    options.directory = directory_;
    options.training.max_length = {Unit::kBatches, batches};
    options.training.reporting_period = 3;
    options.training.validation_period = {Unit::kEpochs, 1};
    options.training.searcher_metric = "error";
    return options;
  }

  const base::TempDir folder_ = *base::TempDir::Create();
  const std::string& directory_ = folder_.path();
};

TEST_F(HooksTest, CallsCallbacksInOrderOnEveryRank) {
  for (const std::string& observed : RunRanks(2, [&](Communicator& communicator) {
         FakeContext core(communicator, Options(4));
         TrialContext context(core);
         HookedTrial trial(context);
         Controller(context, trial).Run();
         return trial.listener->observed;
       })) {
    EXPECT_EQ(observed,
              "start; epoch 0; end of epoch 0; report 2 with loss; validating; validated 2 with "
              "range; saving 2; wrote 2 files; epoch 1; report 3 with loss; end of epoch 1; "
              "report 4 with loss; validating; validated 4 with range; saving 4; "
              "stored 2 as steps-2; wrote 4 files; stored 4 as steps-4; finished; over; ");
  }
}

TEST_F(HooksTest, RestoresStateOfCallback) {
  const auto results = RunRanks(1, [&](Communicator& communicator) {
    FakeContext::Options options = Options(5);
    std::string observed;
    for (const bool preempted : {true, false}) {
      FakeContext core(communicator, options);
      core.preempt = preempted;
      TrialContext context(core);
      HookedTrial trial(context);
      for (int run = 0; run < (preempted ? 3 : 1); ++run) {
        trial.listener->observed.clear();
        Controller(context, trial).Run();
        options.latest = core.last_checkpoint;
        if (!preempted) break;
      }
      observed += trial.listener->observed + std::to_string(trial.listener->ended) + "| ";
    }
    return observed;
  });
  EXPECT_NE(results[0].find("over; 0| loading; start; "), std::string::npos) << results[0];
  EXPECT_NE(results[0].find("finished; over; 2| "), std::string::npos) << results[0];
}

TEST_F(HooksTest, CallsShutdown_AfterFailure) {
  const auto results = RunRanks(1, [&](Communicator& communicator) {
    FakeContext core(communicator, Options(4));
    TrialContext context(core);
    HookedTrial trial(context);
    trial.fails = true;
    try {
      Controller(context, trial).Run();
    } catch (const Error& error) {
      return trial.listener->observed + error.what();
    }
    return std::string("nothing was thrown");
  });
  EXPECT_EQ(results[0], "start; epoch 0; over; out of data");
}

TEST_F(HooksTest, ReducesValuesOfAllRanksSinceLastReport) {
  for (const int size : {1, 2, 4}) {
    const auto results = RunRanks(size, [&](Communicator& communicator) -> std::string {
      FakeContext core(communicator, Options(4));
      TrialContext context(core);
      HookedTrial trial(context);
      Controller(context, trial).Run();
      std::string text;
      for (const auto* reports : {&core.training_reports, &core.validation_reports}) {
        for (const auto& [steps, metrics] : *reports) {
          text += std::to_string(steps) + ": " + std::to_string(metrics.at("range")) + " of " +
                  std::to_string(static_cast<int>(metrics.at("range_of"))) + "; ";
        }
      }
      return text;
    });
    for (const std::string& text : results) {
      EXPECT_EQ(text,
                "2: 15.000000 of 16; 3: 7.000000 of 8; 4: 7.000000 of 8; "
                "2: 12.000000 of 13; 4: 12.000000 of 13; ")
          << size;
    }
  }
}

TEST_F(HooksTest, RestoresPartOfReducer) {
  for (const auto& result : RunRanks(2, [&](Communicator& communicator) -> std::string {
         FakeContext::Options options = Options(4);
         options.training.reporting_period = 100;
         options.training.validation_period = {Unit::kBatches, 100};
         std::string of;
         for (const bool preempted : {true, false}) {
           FakeContext core(communicator, options);
           core.preempt = preempted;
           TrialContext context(core);
           HookedTrial trial(context);
           Controller(context, trial).Run();
           options.latest = core.last_checkpoint;
           for (const auto& [steps, metrics] : core.training_reports) {
             of += std::to_string(steps) + ": " + std::to_string(int(metrics.at("range_of"))) + " ";
           }
         }
         return of;
       })) {
    EXPECT_EQ(result, "4: 32 ") << "one batch before the restart, three after it";
  }
}

TEST_F(HooksTest, LearningRateFollowsSchedule_AfterRestart) {
  const auto results = RunRanks(1, [&](Communicator& communicator) -> std::string {
    FakeContext::Options options = Options(5);
    options.training.checkpoint_period = {Unit::kBatches, 3};
    const auto run = [&](std::vector<double>& rates) {
      FakeContext core(communicator, options);
      TrialContext context(core);
      HookedTrial trial(context);
      context.schedule_lr(trial.sgd(), lr::warmup(2, lr::polynomial()));
      Controller(context, trial).Run();
      rates = trial.rates;
    };
    std::vector<double> whole, rest;
    run(whole);
    options.latest = "steps-3";
    run(rest);
    std::string text;
    for (const double rate : whole) text += std::to_string(rate) + " ";
    text += "|";
    for (const double rate : rest) text += " " + std::to_string(rate);
    return text;
  });
  EXPECT_EQ(results[0], "0.250000 0.500000 0.500000 0.333333 0.166667 | 0.333333 0.166667");
}

TEST_F(HooksTest, LearningRateChangesAfterOptimizerSteps_WhenGradientsAreAggregated) {
  const auto results = RunRanks(1, [&](Communicator& communicator) -> std::string {
    FakeContext::Options options = Options(6);
    options.config = R"({"optimizations": {"aggregation_frequency": 2}})";
    FakeContext core(communicator, options);
    TrialContext context(core);
    HookedTrial trial(context);
    context.schedule_lr(trial.sgd(), lr::polynomial());
    Controller(context, trial).Run();
    std::string text;
    for (const double rate : trial.rates) text += std::to_string(rate) + " ";
    return text;
  });
  EXPECT_EQ(results[0], "0.500000 0.500000 0.333333 0.333333 0.166667 0.166667 ");
}

TEST_F(HooksTest, RejectsInvalidNames) {
  const auto results = RunRanks(1, [&](Communicator& communicator) -> std::string {
    std::string observed;
    const auto note = [&](auto run) {
      try {
        run();
      } catch (const Error& error) {
        observed += std::string(error.what()) + "; ";
      }
    };
    FakeContext core(communicator, Options(2));
    TrialContext context(core);
    HookedTrial trial(context);
    trial.name = "a.b";
    note([&] { Controller(context, trial); });
    trial.name = "ab";
    context.wrap_reducer(std::make_shared<Range>("loss"), {.validation = false});
    note([&] { Controller(context, trial).Run(); });
    return observed;
  });
  EXPECT_NE(results[0].find("callback \"a.b\": a name may contain only letters, digits and _; "),
            std::string::npos)
      << results[0];
  EXPECT_NE(results[0].find("metric \"loss\" of a reducer has the same name as another metric; "),
            std::string::npos)
      << results[0];
}

}  // namespace
}  // namespace det::trial
