// Reports of trials, step by step: a part of the contract suite in store_contract.h.
#include <cmath>
#include <limits>
#include <utility>

#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNan;
using ::testing::Pair;

TEST_P(StoreContractTest, ReadsShortCurveWhole) {
  model::MetricReport again = MakeReport(1, "training", 10, 0.2);
  again.run_id = 1;
  const model::MetricReport next = MakeReport(1, "training", 20, 0.3);
  const model::MetricReport other = MakeReport(2, "training", 10, 0.5);
  ASSERT_TRUE(store_
                  ->AddMetrics({MakeReport(1, "training", 10, 0.1), again, next, other,
                                MakeReport(1, "validation", 10, 0.4)})
                  .ok());
  CurveQuery query{
      .trials = {model::TrialId(2), model::TrialId(1)}, .group = "training", .max_reports = 2};
  EXPECT_THAT(*store_->runs().ReadCurves(query),
              ElementsAre(Pair(model::TrialId(1), ElementsAre(again, next)),
                          Pair(model::TrialId(2), ElementsAre(other))));
  query.first_steps = 11;
  EXPECT_THAT(*store_->runs().ReadCurves(query),
              ElementsAre(Pair(model::TrialId(1), ElementsAre(next))));
  query.last_steps = 19;
  EXPECT_THAT(*store_->runs().ReadCurves(query), IsEmpty());
}

TEST_P(StoreContractTest, ReadsNumbersOfOneMetric) {
  const auto with = [](int trial, int64_t steps, model::Value value, int run = 0) {
    model::MetricReport report = MakeReport(trial, "training", steps, 0);
    report.metrics = model::Value::Object{{"lo\"ss", std::move(value)}, {"zero", 0}};
    report.run_id = run;
    return report;
  };
  model::MetricReport without = MakeReport(1, "training", 30, 0.3);
  without.run_id = 1;  // replaces the older attempt's report of the step
  ASSERT_TRUE(
      store_
          ->AddMetrics({with(1, 10, 0.25), with(1, 10, -1.5e-7, 1), with(1, 20, "NaN"),
                        with(1, 30, 1), without, with(1, 40, "-Infinity"), with(1, 50, "text"),
                        with(1, 60, model::Value()), with(1, 70, model::Value::List{1}),
                        with(1, 80, 7), with(2, 10, true), MakeReport(3, "training", 10, 0.5)})
          .ok());
  CurveQuery query{.trials = {model::TrialId(3), model::TrialId(2), model::TrialId(1)},
                   .group = "training",
                   .metric = "lo\"ss"};
  const NumberCurves curves = *store_->runs().ReadNumbers(query);
  ASSERT_EQ(curves.size(), 2u);  // the third trial has not reported the metric
  const NumberCurve& first = curves.at(model::TrialId(1));
  EXPECT_THAT(first.steps, ElementsAre(10, 20, 40, 50, 60, 70, 80));
  EXPECT_THAT(first.values, ElementsAre(-1.5e-7, IsNan(), -std::numeric_limits<double>::infinity(),
                                        IsNan(), IsNan(), IsNan(), 7));
  EXPECT_THAT(curves.at(model::TrialId(2)).values, ElementsAre(IsNan()));
  query.first_steps = 11;
  query.last_steps = 40;
  EXPECT_THAT(store_->runs().ReadNumbers(query)->at(model::TrialId(1)).steps, ElementsAre(20, 40));
}

TEST_P(StoreContractTest, ReadsMetricOfAllTrials) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutExperiment{MakeExperiment(2)},
          cluster::PutTrial{MakeTrial(1, 1)}, cluster::PutTrial{MakeTrial(2, 1)},
          cluster::PutTrial{MakeTrial(3, 2)}, cluster::PutTrial{MakeTrial(4, 1)}});
  const auto other = [](int trial, int64_t steps, model::Value value) {
    model::MetricReport report = MakeReport(trial, "validation", steps, 0);
    report.metrics = model::Value::Object{{"loss", std::move(value)}};
    return report;
  };
  model::MetricReport again = MakeReport(1, "validation", 30, 0.9);
  again.metrics = model::Value::Object{{"other", 1}};
  again.run_id = 1;
  ASSERT_TRUE(
      store_
          ->AddMetrics({MakeReport(1, "validation", 10, 0.1), MakeReport(1, "validation", 20, 0.2),
                        MakeReport(1, "validation", 30, 0.3), again,
                        MakeReport(1, "training", 15, 0.4), MakeReport(2, "validation", 20, 0.5),
                        MakeReport(2, "validation", 40, 0.6), MakeReport(3, "validation", 25, 0.7),
                        other(2, 50, "NaN"), other(2, 60, "text"), other(4, 10, "-Infinity")})
          .ok());
  SeriesQuery query{
      .experiment = model::ExperimentId(1), .group = "validation", .metric = "accuracy"};
  EXPECT_THAT(*store_->runs().ListSteps(query), ElementsAre(10, 20, 40));
  EXPECT_THAT(*store_->runs().ReadLast(query),
              ElementsAre(SeriesPoint{model::TrialId(1), 20, 0.2},
                          SeriesPoint{model::TrialId(2), 40, 0.6}));
  query.first_steps = 15;
  query.last_steps = 30;
  EXPECT_THAT(*store_->runs().ListSteps(query), ElementsAre(20));
  EXPECT_THAT(*store_->runs().ReadLast(query),
              ElementsAre(SeriesPoint{model::TrialId(1), 20, 0.2},
                          SeriesPoint{model::TrialId(2), 20, 0.5}));
  query = {.experiment = model::ExperimentId(1), .group = "validation", .metric = "loss"};
  EXPECT_THAT(*store_->runs().ListSteps(query), ElementsAre(10, 50, 60));
  const auto odd = *store_->runs().ReadLast(query);
  ASSERT_EQ(odd.size(), 2u);
  EXPECT_EQ(odd[0].steps, 50);
  EXPECT_TRUE(std::isnan(odd[0].value));
  EXPECT_EQ(odd[1].value, -std::numeric_limits<double>::infinity());
  query.experiment = model::ExperimentId(9);
  EXPECT_THAT(*store_->runs().ListSteps(query), IsEmpty());
  EXPECT_THAT(*store_->runs().ReadLast(query), IsEmpty());
}

}  // namespace
}  // namespace det::store
