#include "trial_api/cpp/torch/controller.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/random_source.h"
#include "trial_api/cpp/torch/testing/fake_context.h"
#include "trial_api/cpp/torch/testing/forked_ranks.h"
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace det::trial {
namespace {

using testing::FakeContext;
using testing::RunRanks;
using Unit = Length::Unit;

constexpr int64_t kRecords = 52;  // six batches of eight; four records remain

TensorDataset LineRecords(int64_t records) {
  const torch::Tensor x = torch::arange(records * 3, torch::kFloat32).view({records, 3}).sin();
  return TensorDataset({x, x.matmul(torch::tensor({1.0F, -2.0F, 0.5F})).unsqueeze(1)});
}

// Fits a line. With `noise`, each batch draws random numbers, like dropout.
class LineTrial : public Trial {
 public:
  explicit LineTrial(TrialContext& context, bool noise = false)
      : context_(context),
        noise_(noise),
        line_(context.wrap_model(torch::nn::Linear(3, 1))),
        adam_(context.wrap_optimizer(
            torch::optim::Adam(line_->parameters(), context.hparams().GetOr("lr", 0.05)))) {}

  double LearningRate() const {
    return static_cast<const torch::optim::AdamOptions&>(adam_->param_groups()[0].options()).lr();
  }
  bool HasMoments() const { return !adam_->state().empty(); }

  DataLoader build_training_data_loader() override {
    return {LineRecords(kRecords), {.shuffle = true}};
  }
  DataLoader build_validation_data_loader() override { return LineRecords(13); }

  BatchMetrics train_batch(const Batch& batch, int64_t epoch, int64_t batch_idx) override {
    positions += std::to_string(epoch) + "." + std::to_string(batch_idx) + " ";
    if (on_batch) on_batch(context_.steps_completed());
    torch::Tensor out = line_(batch.data());
    if (noise_) out = out + 0.1 * torch::randn_like(out);
    const torch::Tensor loss = torch::mse_loss(out, batch.target());
    context_.backward(loss);
    context_.step_optimizer(adam_);
    return {{"loss", loss}};
  }

  BatchMetrics evaluate_batch(const Batch& batch) override {
    return {{"error", torch::mse_loss(line_(batch.data()), batch.target())}, {"one", 1.0}};
  }

  std::string Weights() const {
    std::ostringstream text;
    for (const torch::Tensor& parameter : line_->parameters()) {
      for (int64_t i = 0; i < parameter.numel(); ++i) {
        char number[40];
        std::snprintf(number, sizeof number, "%a ", parameter.flatten()[i].item<double>());
        text << number;
      }
    }
    return text.str();
  }

  std::function<void(int64_t steps_before)> on_batch;
  std::string positions;

 private:
  TrialContext& context_;
  const bool noise_;
  torch::nn::Linear line_;
  std::shared_ptr<torch::optim::Adam> adam_;
};

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "; ";
  return text;
}

class ControllerTest : public ::testing::Test {
 protected:
  FakeContext::Options Options(Length max_length) const {
    FakeContext::Options options;
    options.directory = directory_;
    options.training.max_length = max_length;
    options.training.reporting_period = 4;
    options.training.searcher_metric = "error";
    return options;
  }

  const base::TempDir folder_ = *base::TempDir::Create();
  const std::string& directory_ = folder_.path();
};

// Returns the results of one process of a run as text.
struct Outcome {
  std::string trace;
  std::string weights;
  std::string metrics;
};

Outcome RunOnce(Communicator& communicator, const FakeContext::Options& options, bool noise,
                int64_t preempt_before = -1, int preempted_rank = 0) {
  SeedTorch(options.seed, communicator.ranks().rank);
  FakeContext core(communicator, options);
  TrialContext context(core);
  LineTrial trial(context, noise);
  trial.on_batch = [&](int64_t steps_before) {
    core.preempt =
        steps_before + 1 == preempt_before && communicator.ranks().rank == preempted_rank;
  };
  const Controller::End end = Controller(context, trial).Run();
  std::ostringstream metrics;
  for (const auto* reports : {&core.training_reports, &core.validation_reports}) {
    for (const auto& [steps, values] : *reports) {
      for (const auto& [name, value] : values) {
        char number[40];
        std::snprintf(number, sizeof number, "%a", value);
        metrics << steps << " " << name << " " << number << "; ";
      }
    }
  }
  core.trace.push_back(end == Controller::End::kFinished ? "finished" : "preempted");
  core.trace.push_back("steps " + std::to_string(context.steps_completed()));
  return {Join(core.trace), trial.Weights(), metrics.str()};
}

TEST_F(ControllerTest, TrainsReportsValidatesAndSaves) {
  const auto results = RunRanks(1, [&](Communicator& communicator) {
    FakeContext::Options options = Options({Unit::kEpochs, 2});
    options.training.checkpoint_policy = TrainingConfig::CheckpointPolicy::kNone;
    options.training.checkpoint_period = {Unit::kBatches, 5};
    options.training.initial_validation = true;
    options.training.validation_period = {Unit::kEpochs, 1};
    return RunOnce(communicator, options, false).trace;
  });
  EXPECT_EQ(results[0],
            "validate 0; train 4; save 5; train 6; validate 6; train 8; save 10; train 12; "
            "validate 12; save 12; finished; steps 12; ");
}

TEST_F(ControllerTest, WarnsOnce_WhenRecordsPerEpochDiffersFromData) {
  for (const int64_t records : {40, 48, 52}) {
    const auto results = RunRanks(2, [&](Communicator& communicator) {
      FakeContext::Options options = Options({Unit::kEpochs, 1});
      options.training.records_per_epoch = records;
      ::testing::internal::CaptureStderr();
      const std::string trace = RunOnce(communicator, options, false).trace;
      return trace + ::testing::internal::GetCapturedStderr();
    });
    EXPECT_NE(results[0].find("steps 6; "), std::string::npos) << results[0];
    const bool warned = results[0].find(
                            "WARNING: records_per_epoch is 40 and is ignored: an epoch is one pass "
                            "over the training data, 6 batches of 8 records") != std::string::npos;
    EXPECT_EQ(warned, records == 40) << results[0];
    EXPECT_EQ(results[1].find("WARNING"), std::string::npos) << results[1];
  }
}

// Its metrics show how batches are weighted: 13 records in batches of 8 and 5.
class WeighedTrial : public LineTrial {
 public:
  WeighedTrial(TrialContext& context, ValidationAverage average)
      : LineTrial(context), average_(average) {}
  DataLoader build_validation_data_loader() override {
    return TensorDataset({torch::arange(13, torch::kFloat64)});
  }
  BatchMetrics evaluate_batch(const Batch& batch) override {
    return {{"mean", batch.data().mean()}, {"elements", batch.data()}};
  }
  ValidationAverage validation_average() const override { return average_; }

 private:
  const ValidationAverage average_;
};

TEST_F(ControllerTest, WeighsValidationBatchesAsTheTrialAsks) {
  struct Case {
    ValidationAverage average;
    double mean;
  };
  // The means of the batches are 3.5 and 10, that of all records is 6.
  for (const Case& c :
       {Case{ValidationAverage::kOverBatches, 6.75}, Case{ValidationAverage::kOverRecords, 6.0}}) {
    for (const int size : {1, 2, 4}) {
      const auto results = RunRanks(size, [&](Communicator& communicator) {
        FakeContext::Options options = Options({Unit::kBatches, 1});
        options.training.searcher_metric = "mean";
        FakeContext core(communicator, options);
        TrialContext context(core);
        WeighedTrial trial(context, c.average);
        Controller(context, trial).Run();
        const MetricMap& metrics = core.validation_reports.back().second;
        return std::to_string(metrics.at("mean")) + " " + std::to_string(metrics.at("elements"));
      });
      for (const std::string& result : results) {
        EXPECT_EQ(result, std::to_string(c.mean) + " " + std::to_string(c.mean)) << size;
      }
    }
  }
}

TEST_F(ControllerTest, FailsAtFirstValidation_WhenSearcherMetricIsMissing) {
  const auto results = RunRanks(2, [&](Communicator& communicator) -> std::string {
    FakeContext::Options options = Options({Unit::kBatches, 4});
    options.training.searcher_metric = "accuracy";
    options.training.validation_period = {Unit::kBatches, 2};
    try {
      return RunOnce(communicator, options, false).trace;
    } catch (const Error& error) {
      return error.what();
    }
  });
  for (const std::string& result : results) {
    EXPECT_EQ(result,
              "the validation has no metric 'accuracy', which searcher.metric of the experiment "
              "config names; it has: 'error', 'one'; report 'accuracy', or set searcher.metric to "
              "one of these");
  }
}

TEST_F(ControllerTest, SavesBestAndLast_WhenPolicyIsBest) {
  const auto results = RunRanks(2, [&](Communicator& communicator) {
    FakeContext::Options options = Options({Unit::kBatches, 9});
    // The "error" is to be maximized: the first one remains the best, because training reduces it.
    options.training.smaller_is_better = false;
    options.training.validation_period = {Unit::kBatches, 3};
    options.training.reporting_period = 100;
    return RunOnce(communicator, options, false).trace;
  });
  EXPECT_EQ(results[0],
            "train 3; validate 3; save 3; train 6; validate 6; train 9; validate 9; save 9; "
            "finished; steps 9; ");
}

TEST_F(ControllerTest, SeveralRanksTrainLikeOneAndValidateEachRecordOnce) {
  struct Numbers {
    double loss = 0.0;
    double error = 0.0;
    double one = 0.0;
  };
  const auto train = [&](int size) {
    std::vector<Numbers> all;
    for (const std::string& result : RunRanks(size, [&](Communicator& communicator) {
           FakeContext::Options options = Options({Unit::kBatches, 50});
           options.training.reporting_period = 1;
           FakeContext core(communicator, options);
           SeedTorch(7, communicator.ranks().rank);
           TrialContext context(core);
           LineTrial trial(context);
           Controller(context, trial).Run();
           const MetricMap& last = core.validation_reports.back().second;
           std::ostringstream text;
           text.precision(17);
           text << core.training_reports.back().second.at("loss") << " " << last.at("error") << " "
                << last.at("one");
           return text.str();
         })) {
      Numbers& numbers = all.emplace_back();
      std::istringstream(result) >> numbers.loss >> numbers.error >> numbers.one;
    }
    return all;
  };
  const Numbers alone = train(1)[0];
  ASSERT_GT(alone.loss, 0.0);
  for (const int size : {2, 4}) {
    for (const Numbers& numbers : train(size)) {
      EXPECT_NEAR(numbers.loss, alone.loss, 1e-4 * alone.loss);
      EXPECT_NEAR(numbers.error, alone.error, 1e-4 * alone.error);
      EXPECT_EQ(numbers.one, 1.0);
    }
  }
}

TEST_F(ControllerTest, ResumedRunIsBitwiseEqual) {
  for (const int size : {1, 2}) {
    for (const int64_t stop_at : {1, 6, 8, 15}) {
      SCOPED_TRACE(std::to_string(size) + " ranks, preempted after " + std::to_string(stop_at));
      const auto straight = RunRanks(size, [&](Communicator& communicator) {
        const Outcome outcome = RunOnce(communicator, Options({Unit::kEpochs, 3}), true);
        return outcome.weights + outcome.metrics;
      });
      const auto in_parts = RunRanks(size, [&](Communicator& communicator) {
        FakeContext::Options options = Options({Unit::kEpochs, 3});
        const Outcome first = RunOnce(communicator, options, true, stop_at, size - 1);
        const std::string end = "preempted; steps " + std::to_string(stop_at) + "; ";
        if (first.trace.find(end) == std::string::npos) return first.trace;
        options.latest = "steps-" + std::to_string(stop_at);
        const Outcome second = RunOnce(communicator, options, true);
        return second.weights + "| " + first.metrics + "| " + second.metrics;
      });
      for (int rank = 0; rank < size; ++rank) {
        const std::string& parts = in_parts[static_cast<size_t>(rank)];
        const std::string& whole = straight[static_cast<size_t>(rank)];
        const size_t bar = parts.find('|');
        ASSERT_NE(bar, std::string::npos) << parts;
        EXPECT_EQ(whole.substr(0, bar), parts.substr(0, bar));
        std::istringstream reports(whole.substr(bar));
        for (std::string report; std::getline(reports, report, ';');) {
          EXPECT_NE(parts.find(report), std::string::npos) << report;
        }
      }
    }
  }
}

TEST_F(ControllerTest, ResumedRunKeepsAggregatedGradients) {
  for (const int size : {1, 2}) {
    SCOPED_TRACE(std::to_string(size) + " ranks");
    FakeContext::Options options = Options({Unit::kEpochs, 2});
    options.config = R"({"optimizations": {"aggregation_frequency": 4}})";
    // After two of the four batches of the second step.
    options.training.checkpoint_period = {Unit::kBatches, 6};
    const auto run = [&](Communicator& communicator) {
      return RunOnce(communicator, options, true).weights;
    };
    const auto straight = RunRanks(size, run);
    options.latest = "steps-6";
    const auto resumed = RunRanks(size, run);
    EXPECT_EQ(resumed, straight);
  }
}

TEST_F(ControllerTest, StopsAllRanksAtSameBatch) {
  const auto results = RunRanks(3, [&](Communicator& communicator) {
    FakeContext::Options options = Options({Unit::kEpochs, 2});
    options.hparams = R"({"global_batch_size": 6})";
    return RunOnce(communicator, options, false, 5, 2).trace;
  });
  for (const std::string& result : results) {
    EXPECT_NE(result.find("preempted; steps 5; "), std::string::npos) << result;
  }
  EXPECT_EQ(results[0], "train 4; save 5; acknowledge; preempted; steps 5; ");
}

TEST_F(ControllerTest, SnapshotDoesNotChangeDuringTraining) {
  const auto results = RunRanks(1, [&](Communicator& communicator) -> std::string {
    const FakeContext::Options options = Options({Unit::kBatches, 3});
    FakeContext core(communicator, options);
    TrialContext context(core);
    LineTrial trial(context);
    MetricsSum sums;
    StateSnapshot snapshot;
    std::string observed;
    // Twice, because the second snapshot reuses the memory of the first.
    for (int round = 1; round <= 2; ++round) {
      Controller(context, trial).Run();
      const std::string then = trial.Weights();
      snapshot.Take(context, trial, {.steps_completed = round}, sums);
      Controller(context, trial).Run();
      if (trial.Weights() == then) observed += "not trained; ";
      snapshot.Write(directory_);
      MetricsSum read;
      TrialContext fresh_context(core);
      LineTrial fresh(fresh_context);
      const Progress progress = LoadState(directory_, fresh_context, fresh, read);
      if (fresh.Weights() != then) observed += "other weights; ";
      if (!fresh.HasMoments()) observed += "no moments; ";
      if (progress.steps_completed != round) observed += "other progress; ";
    }
    return observed;
  });
  EXPECT_EQ(results[0], "");
}

TEST_F(ControllerTest, DoesNotTrainFinishedTrialAgain) {
  const auto results = RunRanks(1, [&](Communicator& communicator) {
    FakeContext::Options options = Options({Unit::kBatches, 5});
    RunOnce(communicator, options, false);
    options.latest = "steps-5";
    return RunOnce(communicator, options, false).trace;
  });
  EXPECT_EQ(results[0], "finished; steps 5; ");
}

TEST_F(ControllerTest, WarmStartLoadsWeightsAndStartsAtZero) {
  const auto results = RunRanks(1, [&](Communicator& communicator) -> std::string {
    FakeContext::Options options = Options({Unit::kEpochs, 1});
    const std::string learned = RunOnce(communicator, options, false).weights;
    options.latest = "steps-6";
    options.warm_start = true;
    options.seed = 8;
    options.hparams = R"({"global_batch_size": 8, "lr": 0.001})";
    options.training.initial_validation = true;
    FakeContext core(communicator, options);
    TrialContext context(core);
    LineTrial trial(context);
    trial.on_batch = [&](int64_t steps_before) {
      if (steps_before > 0) return;
      if (trial.Weights() != learned) core.trace.push_back("other weights");
      if (!trial.HasMoments()) core.trace.push_back("no moments");
      if (trial.LearningRate() != 0.001) core.trace.push_back("the other's learning rate");
    };
    Controller(context, trial).Run();
    return Join(core.trace) + trial.positions;
  });
  EXPECT_EQ(results[0],
            "validate 0; save 0; train 4; train 6; validate 6; save 6; 0.0 0.1 0.2 0.3 0.4 0.5 ");
}

TEST_F(ControllerTest, SavesAndValidatesAtRungs) {
  const auto results = RunRanks(2, [&](Communicator& communicator) {
    FakeContext::Options options = Options({Unit::kRecords, 96});
    options.training.validate_at = {17, 40, 96};
    options.training.reporting_period = 100;
    options.training.checkpoint_policy = TrainingConfig::CheckpointPolicy::kNone;
    options.training.validation_period = {Unit::kBatches, 7};
    return RunOnce(communicator, options, false).trace;
  });
  EXPECT_EQ(results[0],
            "train 3; save 3; validate 3; train 5; save 5; validate 5; train 7; validate 7; "
            "train 12; validate 12; save 12; finished; steps 12; ");
}

TEST_F(ControllerTest, ValidationContainsLengthOfTraining) {
  const auto results = RunRanks(1, [&](Communicator& communicator) {
    FakeContext::Options options = Options({Unit::kEpochs, 2});
    options.training.validation_period = {Unit::kBatches, 9};
    return RunOnce(communicator, options, false).metrics;
  });
  for (const char* report : {"9 batches 0x1.2p+3;", "9 epochs 0x1.8p+0;", "9 records 0x1.2p+6;"}) {
    EXPECT_NE(results[0].find(report), std::string::npos) << report << " in " << results[0];
  }
}

TEST_F(ControllerTest, ResumesOnFewerSlots) {
  RunRanks(2, [&](Communicator& communicator) {
    return RunOnce(communicator, Options({Unit::kEpochs, 2}), false, 7).trace;
  });
  const auto results = RunRanks(1, [&](Communicator& communicator) {
    FakeContext::Options options = Options({Unit::kEpochs, 2});
    options.latest = "steps-7";
    return RunOnce(communicator, options, false).trace;
  });
  EXPECT_EQ(results[0], "train 8; train 12; validate 12; save 12; finished; steps 12; ");
}

TEST_F(ControllerTest, RejectsCheckpointOfOtherTrial) {
  const auto results = RunRanks(1, [&](Communicator& communicator) {
    FakeContext::Options options = Options({Unit::kBatches, 2});
    RunOnce(communicator, options, false);
    std::filesystem::remove(directory_ + "/steps-2/optimizer_0.pt");
    options.latest = "steps-2";
    return RunOnce(communicator, options, false).trace;
  });
  EXPECT_NE(results[0].find("steps-2/optimizer_0.pt does not fit this trial"), std::string::npos)
      << results[0];
}

TEST_F(ControllerTest, ThrowsInvalidHp_WhenBatchCannotBeDivided) {
  const auto results = RunRanks(2, [&](Communicator& communicator) -> std::string {
    FakeContext::Options options = Options({Unit::kBatches, 2});
    options.hparams = R"({"global_batch_size": 7})";
    try {
      return RunOnce(communicator, options, false).trace;
    } catch (const InvalidHp& error) {
      return error.what();
    }
  });
  EXPECT_EQ(results[0],
            "global_batch_size 7 cannot be divided evenly among 2 slots: use a multiple of 2");
}

}  // namespace
}  // namespace det::trial
