// Searches in the cluster: held and resumed trials, warm starts, the journal, limits, and continued
// experiments. The search is `custom`, so that the test determines its operations.
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::AllocationId;
using model::ExperimentId;
using model::ExperimentState;
using model::RequestId;
using model::TrialId;
using model::TrialState;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SearchTest : public Fixture {
 protected:
  std::shared_ptr<model::ExperimentConfig> Custom() {
    auto config = MakeConfig();
    config->searcher.name = "custom";
    config->searcher.max_concurrent_trials = 2;
    config->searcher.max_length = model::Length{model::Length::Unit::kBatches, 100};
    return config;
  }
  template <class... T>
  Outcome Post(const T&... operations) {
    PostSearcherOperations event{ExperimentId(1), {}};
    event.posted.id = "post-" + std::to_string(++posts_);
    (event.posted.operations.emplace_back(operations), ...);
    return Apply(event);
  }
  static searcher::CreateTrial MakeCreateTrial(const std::string& id,
                                               const std::string& parent = "") {
    searcher::CreateTrial create{.request = RequestId(id), .seed = 1, .hparams = {}};
    if (!parent.empty()) create.parent = RequestId(parent);
    return create;
  }
  // The preempted allocation of the trial saves a checkpoint and exits.
  void Yield(const std::string& id) {
    Apply(PreemptionAcked{AllocationId(id)});
    Exit(id, 0);
  }
  void Save(int trial, const std::string& checkpoint, int64_t steps) {
    CheckpointReported event;
    event.allocation = *this->trial(trial).allocation;
    event.checkpoint.id = model::CheckpointId(checkpoint);
    event.checkpoint.trial = TrialId(trial);
    event.checkpoint.allocation = event.allocation;
    event.checkpoint.steps_completed = steps;
    Apply(event);
  }
  Outcome Report(int trial, int64_t steps, model::Value metrics) {
    model::MetricReport report;
    report.trial = TrialId(trial);
    report.group = "validation";
    report.steps_completed = steps;
    report.metrics = std::move(metrics);
    return Apply(ValidationsReported{*this->trial(trial).allocation, {std::move(report)}});
  }
  int LinesWith(const std::string& text) const {
    int count = 0;
    for (const auto& line : rows_.lines) count += line.text.find(text) != std::string::npos;
    return count;
  }

 private:
  int posts_ = 0;
};

TEST_F(SearchTest, ReleasesSlotsOfHeldTrialUntilResumed) {
  AddAgent("a", 1);
  Create(Custom());
  Post(MakeCreateTrial("x"));
  Tick();
  Start("1.1.1");
  const auto news = GetEffects<AnnouncePreemption>(Post(searcher::PauseTrial{RequestId("x")}));
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_THAT(news[0].reason, HasSubstr("the searcher paused this trial"));
  EXPECT_EQ(trial(1).state, TrialState::kStopping);
  Save(1, "c1", 10);
  Yield("1.1.1");
  EXPECT_EQ(trial(1).state, TrialState::kPaused);
  EXPECT_TRUE(trial(1).held);
  Apply(PauseExperiment{ExperimentId(1)});
  Apply(ActivateExperiment{ExperimentId(1)});
  EXPECT_EQ(trial(1).state, TrialState::kPaused) << "only the searcher resumes it";
  Restart();
  AddAgent("a", 1);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
  Post(searcher::ResumeTrial{RequestId("x")});
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.env.at("DET_LATEST_CHECKPOINT"), "c1");
  EXPECT_EQ(orders[0].spec.env.at("DET_STEPS_COMPLETED"), "10");
}

TEST_F(SearchTest, WithdrawsQueuedTrial) {
  Create(Custom());
  Post(MakeCreateTrial("x"), searcher::PauseTrial{RequestId("x")});
  Post(MakeCreateTrial("y"));
  Post(searcher::PauseTrial{RequestId("y")});
  EXPECT_EQ(trial(1).state, TrialState::kPaused);
  EXPECT_EQ(allocation("1.1.1").state, model::AllocationState::kTerminated);
  Post(searcher::ResumeTrial{RequestId("y")});
  AddAgent("a", 1);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
}

TEST_F(SearchTest, RunsAgain_WhenResumedEarly) {
  AddAgent("a", 1);
  Create(Custom());
  Post(MakeCreateTrial("x"));
  Tick();
  Start("1.1.1");
  Post(searcher::PauseTrial{RequestId("x")});
  Post(searcher::ResumeTrial{RequestId("x")});
  EXPECT_EQ(trial(1).state, TrialState::kStopping);
  Yield("1.1.1");
  EXPECT_EQ(trial(1).state, TrialState::kQueued);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
}

TEST_F(SearchTest, CompletesHeldTrials_OnStopAndShutdown) {
  AddAgent("a", 2);
  Create(Custom());
  Post(MakeCreateTrial("x"), MakeCreateTrial("y"));
  Tick();
  Start("1.1.1");
  Start("1.2.1");
  Post(searcher::PauseTrial{RequestId("x")}, searcher::PauseTrial{RequestId("y")});
  Yield("1.1.1");
  Yield("1.2.1");
  Post(searcher::StopTrial{RequestId("x")});
  EXPECT_EQ(trial(1).state, TrialState::kCompleted);
  Post(searcher::Shutdown{});
  EXPECT_EQ(trial(2).state, TrialState::kCompleted);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCompleted);
  EXPECT_THAT(rows_.searcher_events, IsEmpty()) << "the last row is a snapshot";
}

TEST_F(SearchTest, CancelsHeldTrials) {
  AddAgent("a", 2);
  Create(Custom());
  Post(MakeCreateTrial("x"), MakeCreateTrial("y"), MakeCreateTrial("z"));
  Tick();
  Start("1.1.1");
  Start("1.2.1");
  Post(searcher::PauseTrial{RequestId("x")});
  Yield("1.1.1");
  Apply(CancelExperiment{ExperimentId(1)});
  EXPECT_EQ(trial(1).state, TrialState::kCanceled);
  Report(2, 5, model::Value::Object{{"loss", 1.0}});
  EXPECT_TRUE(absl::IsFailedPrecondition(ExpectRejection(PostSearcherOperations{
      ExperimentId(1), {.id = "late", .operations = {MakeCreateTrial("q")}}})));
  Yield("1.2.1");
  EXPECT_EQ(experiment(1).state, ExperimentState::kCanceled);
}

TEST_F(SearchTest, EnforcesConcurrencyLimit) {
  AddAgent("a", 4);
  Create(Custom());
  Post(MakeCreateTrial("x"), MakeCreateTrial("y"), MakeCreateTrial("z"));
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(2));
  Start("1.1.1");
  Post(searcher::PauseTrial{RequestId("x")});
  EXPECT_EQ(trial(3).state, TrialState::kQueued);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty())
      << "the trial that saves still has its slot";
  EXPECT_THAT(cluster_.FindWaitReason(AllocationId("1.3.1"))->text,
              HasSubstr("max_concurrent_trials"));
  Yield("1.1.1");
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
}

TEST_F(SearchTest, StartsChildFromParentCheckpoint) {
  AddAgent("a", 2);
  Create(Custom());
  Post(MakeCreateTrial("x"));
  Tick();
  Start("1.1.1");
  Save(1, "c1", 10);
  Save(1, "c2", 20);
  Post(MakeCreateTrial("y", "x"));
  Save(1, "c3", 30);
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.env.at("DET_LATEST_CHECKPOINT"), "c2");
  EXPECT_EQ(orders[0].spec.env.at("DET_STEPS_COMPLETED"), "0");
  const std::string& info = orders[0].spec.files.at("info/trial.json");
  EXPECT_THAT(info, HasSubstr(R"("latest_checkpoint":"c2")"));
  EXPECT_THAT(info, HasSubstr(R"("warm_start":true)"));
  EXPECT_THAT(info, HasSubstr(R"("validate_at":[])"));
  Start("1.2.1");
  Save(2, "own", 5);
  Exit("1.2.1", 1);
  const auto again = GetEffects<StartTask>(Tick());
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].spec.env.at("DET_LATEST_CHECKPOINT"), "own");
  EXPECT_THAT(again[0].spec.files.at("info/trial.json"), HasSubstr(R"("warm_start":false)"));
}

TEST_F(SearchTest, WaitsForParentCheckpoint) {
  AddAgent("a", 2);
  Create(Custom());
  Post(MakeCreateTrial("x"));
  Tick();
  Start("1.1.1");
  Post(searcher::PauseTrial{RequestId("x")}, MakeCreateTrial("y", "x"), MakeCreateTrial("z", "x"));
  EXPECT_EQ(trial(2).state, TrialState::kPaused);
  Apply(PauseExperiment{ExperimentId(1)});
  Apply(ActivateExperiment{ExperimentId(1)});
  EXPECT_EQ(trial(2).state, TrialState::kPaused);
  Restart();
  AddAgent("a", 2, {"1.1.1"});
  Apply(KillTrial{TrialId(3)});
  Save(1, "c1", 10);
  Yield("1.1.1");
  EXPECT_EQ(trial(2).warm_start, model::CheckpointId("c1"));
  EXPECT_EQ(trial(3).state, TrialState::kCanceled);
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.env.at("DET_LATEST_CHECKPOINT"), "c1");
}

TEST_F(SearchTest, StartsFromExperimentCheckpoint_WithoutParent) {
  AddAgent("a", 2);
  Apply(CreateExperiment{.config = Custom(), .warm_start = model::CheckpointId("c0")});
  Post(MakeCreateTrial("x"), MakeCreateTrial("y", "x"));
  EXPECT_EQ(trial(1).warm_start, model::CheckpointId("c0"));
  EXPECT_EQ(trial(2).warm_start, model::CheckpointId("c0")) << "its parent has none of its own";
}

TEST_F(SearchTest, ReplacesJournalWithSnapshot) {
  AddAgent("a", 1);
  Create(Custom());
  Post(MakeCreateTrial("x"));
  Tick();
  Start("1.1.1");
  size_t longest = 0;
  int snapshots = 0;
  for (int step = 1; step <= 200; ++step) {
    const Outcome outcome = Report(1, step, model::Value::Object{{"loss", 1.0 / step}});
    for (const Change& change : outcome.changes) {
      snapshots += std::holds_alternative<PutSearcher>(change);
    }
    longest = std::max(longest, rows_.searcher_events.size());
  }
  EXPECT_LE(longest, 64u);
  EXPECT_GE(longest, 60u);
  EXPECT_THAT(snapshots, ::testing::AllOf(::testing::Ge(2), ::testing::Le(4)));
}

TEST_F(SearchTest, RejectsDamagedJournal) {
  AddAgent("a", 1);
  Create(Custom());
  Post(MakeCreateTrial("x"));
  Tick();
  Start("1.1.1");
  Report(1, 1, model::Value::Object{{"loss", 1.0}});
  const auto restored = [](const Image& image) {
    Cluster other{Settings{.cluster_id = "test"}};
    return other.Restore(image);
  };
  const Image good = rows_.Load();
  ASSERT_THAT(good.searcher_events, SizeIs(::testing::Ge(2u)));
  Image gap = good;
  gap.searcher_events.erase(gap.searcher_events.begin());
  EXPECT_THAT(std::string(restored(gap).message()), HasSubstr("continues with step"));
  Image odd = good;
  odd.searcher_events.back().events = model::Value::List{"nonsense"};
  EXPECT_THAT(std::string(restored(odd).message()), HasSubstr("nonsense"));
  Image lost = good;
  lost.trials.clear();
  lost.allocations.clear();
  EXPECT_THAT(std::string(restored(lost).message()), HasSubstr("requested trial x"));
}

TEST_F(SearchTest, AcceptsRepeatedPosts) {
  Create(Custom());
  const PostSearcherOperations post{ExperimentId(1),
                                    {.id = "p", .operations = {MakeCreateTrial("x")}}};
  Apply(post);
  Apply(post);
  EXPECT_EQ(rows_.trials.size(), 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(ExpectRejection(PostSearcherOperations{
      ExperimentId(1), {.id = "q", .operations = {searcher::StopTrial{RequestId("no")}}}})));
  EXPECT_TRUE(
      absl::IsNotFound(ExpectRejection(PostSearcherOperations{ExperimentId(7), {.id = "r"}})));
  Create(MakeConfig());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ExpectRejection(PostSearcherOperations{ExperimentId(2), {.id = "s"}})));
}

TEST_F(SearchTest, LogsMissingMetricOnce) {
  AddAgent("a", 1);
  auto config = Custom();
  config->searcher.max_length.reset();
  config->searcher.max_time = 100;
  config->searcher.time_metric = "hours";
  Create(config);
  Post(MakeCreateTrial("x"));
  Tick();
  Start("1.1.1");
  for (const int64_t steps : {1, 2}) {
    Report(1, steps, model::Value::Object{{"hours", 0.5}});
    Report(1, steps, model::Value::Object{{"hours", 0.5}});
  }
  EXPECT_EQ(LinesWith("has no metric loss"), 1);
  EXPECT_EQ(LinesWith("has no metric hours"), 0);
  Report(1, 3, model::Value::Object{{"loss", 0.5}});
  Report(1, 4, model::Value::Object{{"loss", 0.4}});
  EXPECT_EQ(LinesWith("has no metric hours"), 1);
}

// ---- continue ----

class ContinueTest : public SearchTest {
 protected:
  ContinueExperiment Again(std::shared_ptr<const model::ExperimentConfig> config = nullptr) {
    ContinueExperiment event;
    event.config = std::move(config);
    event.rows.experiments.push_back(experiment(1));
    event.rows.searchers.emplace(ExperimentId(1), rows_.searchers.at(ExperimentId(1)));
    for (const auto& [id, trial] : rows_.trials) event.rows.trials.push_back(trial);
    return event;
  }
};

TEST_F(ContinueTest, ContinuesSingleTrialFromCheckpoint) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Save(1, "c1", 10);
  Exit("1.1.1", 0);
  ASSERT_EQ(experiment(1).state, ExperimentState::kCompleted);
  auto longer = MakeConfig();
  longer->searcher.max_length = model::Length{model::Length::Unit::kBatches, 20};
  const ContinueExperiment request = Again(longer);
  Apply(request);
  EXPECT_EQ(experiment(1).state, ExperimentState::kActive);
  EXPECT_EQ(rows_.trials.size(), 1u);
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].spec.allocation, AllocationId("1.1.2"));
  EXPECT_EQ(orders[0].spec.env.at("DET_STEPS_COMPLETED"), "10");
  EXPECT_THAT(orders[0].spec.files.at("info/trial.json"), HasSubstr(R"({"batches":20})"));
  EXPECT_THAT(Apply(request).changes, IsEmpty()) << "the same request again";
  EXPECT_TRUE(absl::IsFailedPrecondition(ExpectRejection(Again(MakeConfig()))));
  Start("1.1.2");
  Exit("1.1.2", 0);
  EXPECT_EQ(experiment(1).state, ExperimentState::kCompleted);
  EXPECT_TRUE(absl::IsAborted(ExpectRejection(request))) << "its rows are outdated";
  Apply(Again());
  EXPECT_EQ(experiment(1).state, ExperimentState::kActive);
}

TEST_F(ContinueTest, UsesChangedHyperparametersOfSingleTrial) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->hyperparameters["lr"] = {model::ConstHparam{1}};
  Create(config);
  Start("1.1.1");
  Exit("1.1.1", 0);
  auto changed = MakeConfig();
  changed->hyperparameters["lr"] = {model::ConstHparam{2}};
  Apply(Again(changed));
  EXPECT_EQ(model::Value(trial(1).hparams).ToJson(), R"({"lr":2})");
  const auto orders = GetEffects<StartTask>(Tick());
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_THAT(orders[0].spec.files.at("info/trial.json"), HasSubstr(R"("lr":2)"));
}

TEST_F(ContinueTest, ContinuesIncompleteTrialsOfRandomSearch) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->searcher.name = "random";
  config->searcher.max_trials = 4;
  config->searcher.max_concurrent_trials = 2;
  config->max_restarts = 0;
  config->hyperparameters["lr"] = {model::DoubleHparam{0, 1, std::nullopt}};
  Create(config);
  Start("1.1.1");
  Exit("1.1.1", 0);
  Tick();
  Start("1.2.1");
  Exit("1.2.1", 1);
  Apply(KillExperiment{ExperimentId(1)});
  Tick();
  ASSERT_EQ(experiment(1).state, ExperimentState::kCanceled);
  ASSERT_EQ(trial(2).state, TrialState::kError);
  const model::Hparams before = trial(2).hparams;
  Apply(Again());
  EXPECT_EQ(trial(1).state, TrialState::kCompleted);
  EXPECT_EQ(trial(2).state, TrialState::kQueued);
  EXPECT_EQ(trial(2).hparams, before);
  EXPECT_EQ(experiment(1).reason, "");
  for (int i = 0; i < 8 && experiment(1).state == ExperimentState::kActive; ++i) {
    Tick();
    for (const auto& [id, a] : std::map(rows_.allocations)) {
      if (a.state == model::AllocationState::kAssigned) Exit(id.value(), 0);
    }
  }
  EXPECT_EQ(experiment(1).state, ExperimentState::kCompleted);
  EXPECT_EQ(rows_.trials.size(), 4u);
  for (const auto& [id, one] : rows_.trials) EXPECT_EQ(one.state, TrialState::kCompleted);
}

TEST_F(ContinueTest, KeepsTrialsPaused_WhenExperimentIsPaused) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->searcher.name = "random";
  config->searcher.max_trials = 2;
  config->searcher.max_concurrent_trials = 1;
  config->max_restarts = 0;
  Create(config);
  Start("1.1.1");
  Exit("1.1.1", 1);
  Tick();
  Start("1.2.1");
  Exit("1.2.1", 1);
  ASSERT_EQ(experiment(1).state, ExperimentState::kError);
  Apply(Again());
  ASSERT_EQ(trial(1).state, TrialState::kQueued);
  Apply(PauseExperiment{ExperimentId(1)});
  Apply(KillTrial{TrialId(1)});
  EXPECT_EQ(trial(2).state, TrialState::kPaused);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(0));
  Apply(ActivateExperiment{ExperimentId(1)});
  EXPECT_EQ(trial(2).state, TrialState::kQueued);
}

TEST_F(ContinueTest, ContinuesKilledTrial_AfterMasterRestart) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(KillTrial{TrialId(1)});
  Exit("1.1.1", 143);
  Restart();
  AddAgent("a", 1);
  Apply(Again());
  Restart();
  AddAgent("a", 1);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
}

TEST_F(ContinueTest, RejectsOtherSearchers) {
  Create(Custom());
  Post(searcher::Shutdown{});
  EXPECT_THAT(std::string(ExpectRejection(Again()).message()),
              HasSubstr("uses the searcher custom"));
}

}  // namespace
}  // namespace det::cluster
