#include "master/app/lost_trials.h"

#include <vector>

#include "base/fake_event_loop.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"

namespace det::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Watchers final : public engine::ExperimentSink, public engine::WebhookSink {
 public:
  void Changed(const model::TaskId&) override {}
  void Changed(model::ExperimentId id) override { changed.push_back(id); }
  void QueueChanged() override {}
  void Wake() override { ++wakes; }
  std::vector<model::ExperimentId> changed;
  int wakes = 0;
};

class LostTrialsTest : public testing::Test {
 protected:
  LostTrialsTest() {
    experiment::Experiment e = store::MakeExperiment(1);
    e.unmanaged = true;
    e.state = model::ExperimentState::kPaused;
    EXPECT_TRUE(store_.detached().AddExperiment(e).ok());
    experiment::Trial trial = store::MakeTrial(1, 1);
    trial.state = model::TrialState::kPaused;
    EXPECT_TRUE(store_.detached().PutTrial(trial).ok());
  }

  void StartTrial(absl::Time at) {
    EXPECT_TRUE(store_.detached().StartTrial(model::TrialId(1), true, at).ok());
  }
  // Lets time pass, with a check each minute.
  void Pass(int minutes) {
    for (; minutes > 0; --minutes) lost_.Check(now_ += absl::Minutes(1));
    loop_.RunUntilIdle();
  }
  model::TrialState GetState() { return store_.GetTrial(model::TrialId(1))->trial.state; }

  base::FakeEventLoop loop_;
  absl::Time now_ = loop_.Now();
  store::FakeStore store_{store::MakeFakeDatabase()};
  live::LifeSigns signs_;
  Watchers watchers_;
  LostTrials lost_{{.store = &store_,
                    .signs = &signs_,
                    .experiments = &watchers_,
                    .webhooks = &watchers_,
                    .loop = &loop_,
                    .pool = nullptr}};
};

TEST_F(LostTrialsTest, EndsTrial_WithoutSignOfLife) {
  StartTrial(now_);
  const absl::Time started = now_;
  lost_.Start();
  Pass(4);
  EXPECT_EQ(GetState(), model::TrialState::kRunning);
  EXPECT_THAT(watchers_.changed, IsEmpty());
  Pass(2);
  EXPECT_EQ(GetState(), model::TrialState::kError);
  EXPECT_EQ(store_.GetTrial(model::TrialId(1))->trial.ended_at, started);
  EXPECT_THAT(watchers_.changed, ElementsAre(model::ExperimentId(1)));
  EXPECT_GT(watchers_.wakes, 0);
}

TEST_F(LostTrialsTest, KeepsTrialThatReports) {
  StartTrial(now_);
  lost_.Start();
  for (int i = 0; i < 10; ++i) {
    signs_.Record(model::TrialId(1), now_);
    Pass(2);
  }
  EXPECT_EQ(GetState(), model::TrialState::kRunning);
}

TEST_F(LostTrialsTest, DoesNotCountTimeBeforeStart) {
  StartTrial(now_ - absl::Hours(10));
  lost_.Start();
  Pass(4);
  EXPECT_EQ(GetState(), model::TrialState::kRunning);
  Pass(1);
  EXPECT_EQ(GetState(), model::TrialState::kError);
}

TEST_F(LostTrialsTest, DoesNotCountTimeWithoutChecks) {
  StartTrial(now_);
  lost_.Start();
  now_ += absl::Hours(1);  // the machine of the master was suspended
  Pass(5);
  EXPECT_EQ(GetState(), model::TrialState::kRunning);
  Pass(1);
  EXPECT_EQ(GetState(), model::TrialState::kError);
}

}  // namespace
}  // namespace det::app
