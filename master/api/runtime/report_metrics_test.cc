#include "master/api/runtime/report_metrics.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/fake_event_loop.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/testing/fixture.h"
#include "master/engine/engine.h"
#include "master/engine/testing/null_sink.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/faulty_store.h"

namespace det::api {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// A running trial "1.1.1" in an engine whose loops the test runs.
class ReportMetricsTest : public ::testing::Test {
 protected:
  ReportMetricsTest()
      : store_(&fake_),
        engine_(
            cluster::Settings{.cluster_id = "test"}, &store_, &loop_,
            engine::Sinks{&sink_, &sink_, &sink_},
            [](const absl::Status& status) { ADD_FAILURE() << status; }, &commits_) {
    EXPECT_TRUE(engine_.Start().ok());
    cluster::AgentRegistered agent;
    agent.agent.id = model::AgentId("a");
    agent.agent.resource_pool = "default";
    agent.agent.slots.push_back({.id = 0});
    cluster::CreateExperiment create;
    create.config = cluster::MakeConfig();
    create.owner = model::UserId(1);
    engine_.Submit(std::move(agent));
    engine_.Submit(std::move(create));
    Settle();
    engine_.Submit(cluster::LocalTaskStarted{allocation_, model::AgentId("a")});
    Settle();
  }

  void Settle() {
    while (!loop_.IsIdle() || !commits_.IsIdle()) {
      loop_.RunUntilIdle();
      commits_.RunUntilIdle();
    }
  }

  // Reports one metric for each pair of group and steps; returns the result.
  std::optional<absl::Status> Report(const std::vector<std::pair<std::string, int>>& reports) {
    det::trial::v1::ReportMetricsRequest request;
    request.set_trial_id(1);
    for (const auto& [group, steps] : reports) {
      auto& report = *request.add_reports();
      report.set_group(group);
      report.set_steps_completed(steps);
      // The smallest value is the best one: that of the last report.
      (*report.mutable_metrics()->mutable_fields())["loss"].set_number_value(1.0 / steps);
    }
    auto converted = ToReports(request, loop_.Now());
    if (!converted.ok()) return converted.status();
    std::optional<absl::Status> result;
    AddMetrics(
        engine_, store_, watch_, nullptr, pool_, model::ExperimentId(1), allocation_,
        *std::move(converted), [this] { ++best_; },
        [&result](absl::Status status) { result = std::move(status); });
    Settle();
    return result;
  }

  const model::AllocationId allocation_ = model::AllocationId("1.1.1");
  base::FakeEventLoop loop_;
  base::FakeEventLoop commits_;
  base::ThreadPool pool_{1};
  store::FakeStore fake_;
  store::FaultyStore store_;
  engine::NullSink sink_;
  live::ExperimentWatch watch_;
  engine::Engine engine_;
  int best_ = 0;
};

TEST_F(ReportMetricsTest, CommitsAllValidationsOfReportOnce) {
  const size_t before = store_.commits().size();
  EXPECT_EQ(Report({{"validation", 10}, {"training", 10}, {"validation", 20}, {"validation", 30}}),
            absl::OkStatus());
  const std::vector<store::FaultyStore::Call> commits = store_.commits();
  ASSERT_THAT(commits, SizeIs(before + 1));
  std::vector<int64_t> steps;
  for (const cluster::Change& change : commits.back().changes) {
    if (const auto* added = std::get_if<cluster::AddMetrics>(&change)) {
      steps.push_back(added->report.steps_completed);
    }
  }
  EXPECT_THAT(steps, ElementsAre(10, 20, 30));
  EXPECT_EQ(best_, 1);
}

TEST_F(ReportMetricsTest, StoresNothing_WhenOneReportIsInvalid) {
  const size_t before = store_.commits().size();
  const auto result = Report({{"validation", 10}, {"validation", -1}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(store_.commits(), SizeIs(before));
}

}  // namespace
}  // namespace det::api
