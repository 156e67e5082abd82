#include "master/app/metrics.h"

#include <string>
#include <utility>

#include "base/fake_event_loop.h"
#include "master/engine/testing/null_sink.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::app {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, RendersGaugesAndCounters) {
  store::FakeStore store;
  base::FakeEventLoop loop;
  engine::NullSink sink;
  engine::Engine engine(
      cluster::Settings{}, &store, &loop, {&sink, &sink, &sink},
      [](const absl::Status& status) { FAIL() << status; }, &loop);
  ASSERT_TRUE(engine.Start().ok());
  cluster::CreateExperiment create;
  create.config = store::MakeConfig("one");
  create.owner = model::UserId(1);
  create.activate = true;
  engine.Submit(create);
  loop.RunUntilIdle();

  Metrics metrics;
  metrics.CountResponse(200);
  metrics.CountCall(absl::StatusCode::kOk);
  metrics.CountCall(absl::StatusCode::kNotFound);
  metrics.CountCall(absl::StatusCode::kNotFound);
  std::string text;
  metrics.Render(engine, [&](std::string rendered) { text = std::move(rendered); });
  loop.RunUntilIdle();

  EXPECT_THAT(text, HasSubstr("\ndet_up 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndet_experiments{state=\"ACTIVE\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndet_allocations{state=\"QUEUED\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndet_http_responses_total{code=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndet_calls_total{code=\"NOT_FOUND\"} 2\n"));
  // Time does not advance on this loop.
  EXPECT_THAT(text, HasSubstr("\ndet_engine_commit_latency_seconds_bucket{le=\"0.001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndet_engine_commit_latency_seconds_bucket{le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndet_engine_commit_latency_seconds_count 1\n"));
  engine.Stop();
}

}  // namespace
}  // namespace det::app
