#include "master/app/idle_watch.h"

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/model/task_definition.h"

namespace det::app {
namespace {

using model::TaskId;
using model::TaskKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class IdleWatchTest : public testing::Test {
 protected:
  IdleWatchTest() {
    definition_.idle_timeout = absl::Minutes(5);
    task_.id = TaskId("n");
    task_.kind = TaskKind::kNotebook;
    task_.state = model::TaskState::kRunning;
    task_.service_port = 8888;
  }

  // Checks every 5 seconds for this time. Returns the reasons of the kills.
  std::vector<std::string> Pass(absl::Duration time) {
    task_.definition = std::make_shared<const model::TaskDefinition>(definition_);
    std::vector<std::string> reasons;
    for (; time > absl::ZeroDuration(); time -= IdleWatch::kInterval) {
      clock_.Advance(IdleWatch::kInterval);
      for (const cluster::KillTasks& kill : watch_.Check({&task_}, clock_.Now())) {
        EXPECT_THAT(kill.ids, ElementsAre(task_.id));
        reasons.push_back(kill.reason);
      }
    }
    return reasons;
  }

  base::FakeClock clock_;
  proxy::Activity activity_{&clock_};
  IdleWatch watch_{{.activity = &activity_}};
  model::TaskDefinition definition_;
  experiment::Task task_;
};

TEST_F(IdleWatchTest, KillsNotebook_ThatNobodyUsesForItsTimeout) {
  EXPECT_THAT(Pass(absl::Minutes(5)), IsEmpty());
  EXPECT_THAT(Pass(absl::Seconds(5)), ElementsAre("idle for more than 5m0s"));
}

TEST_F(IdleWatchTest, KillsTensorboard) {
  task_.kind = TaskKind::kTensorboard;
  definition_.idle_timeout = absl::Seconds(10);
  EXPECT_THAT(Pass(absl::Seconds(10)), IsEmpty());
  EXPECT_THAT(Pass(absl::Seconds(5)), ElementsAre("idle for more than 10s"));
}

TEST_F(IdleWatchTest, KeepsNotebookThatIsUsed) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Pass(absl::Minutes(4)), IsEmpty());
    activity_.Touch(task_.id);
  }
  EXPECT_THAT(Pass(absl::Seconds(295)), IsEmpty());
  EXPECT_THAT(Pass(absl::Seconds(5)), ElementsAre("idle for more than 5m0s"));
}

TEST_F(IdleWatchTest, CountsFromTheTimeAtWhichItServes) {
  task_.service_port.reset();
  EXPECT_THAT(Pass(absl::Hours(1)), IsEmpty());
  task_.service_port = 8888;
  EXPECT_THAT(Pass(absl::Minutes(5)), IsEmpty());
  EXPECT_EQ(Pass(absl::Seconds(5)).size(), 1);
}

TEST_F(IdleWatchTest, RepeatsTheKill_UntilTheTaskIsStopping) {
  EXPECT_EQ(Pass(absl::Minutes(5) + 2 * IdleWatch::kInterval).size(), 2);
  task_.state = model::TaskState::kStopping;
  EXPECT_THAT(Pass(absl::Hours(1)), IsEmpty());
}

TEST_F(IdleWatchTest, ForgetsTheActivityOfATaskThatHasEnded) {
  activity_.Touch(task_.id);
  EXPECT_THAT(Pass(absl::Minutes(1)), IsEmpty());
  EXPECT_TRUE(activity_.Last(task_.id).has_value());
  task_.state = model::TaskState::kCompleted;
  EXPECT_THAT(Pass(absl::Minutes(1)), IsEmpty());
  EXPECT_FALSE(activity_.Last(task_.id).has_value());
}

TEST_F(IdleWatchTest, IgnoresOtherTasks) {
  task_.kind = TaskKind::kShell;
  EXPECT_THAT(Pass(absl::Hours(1)), IsEmpty());
  task_.kind = TaskKind::kCommand;
  EXPECT_THAT(Pass(absl::Hours(1)), IsEmpty());
  task_.kind = TaskKind::kNotebook;
  definition_.idle_timeout.reset();
  EXPECT_THAT(Pass(absl::Hours(1)), IsEmpty());
}

}  // namespace
}  // namespace det::app
