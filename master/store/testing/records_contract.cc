// Records that bypass the engine: metrics, logs, contexts, properties.
#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"
#include <gmock/gmock.h>

namespace det::store {
namespace {

using model::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Texts(const std::vector<LogRecord>& records) {
  std::vector<std::string> texts;
  for (const LogRecord& record : records) texts.push_back(record.line.text);
  return texts;
}

// ---- checkpoints ----

TEST_P(StoreContractTest, ReplacesCheckpointMetadata) {
  Commit({cluster::PutExperiment{MakeExperiment(1)}, cluster::PutTrial{MakeTrial(1, 1)},
          cluster::AddCheckpoint{MakeCheckpoint("a", 1, 10)}});
  const model::Value metadata = model::Value::Object{{"steps_completed", 10}, {"note", "good"}};
  EXPECT_TRUE(store_->runs().PutCheckpointMetadata(model::CheckpointId("a"), metadata).ok());
  const CheckpointEntry entry = *store_->GetCheckpoint(model::CheckpointId("a"));
  EXPECT_EQ(entry.checkpoint.metadata, metadata);
  EXPECT_EQ(entry.checkpoint.steps_completed, 10);
  EXPECT_TRUE(absl::IsNotFound(
      store_->runs().PutCheckpointMetadata(model::CheckpointId("b"), model::Value::Object{})));
}

// ---- metrics, logs ----

TEST_P(StoreContractTest, StoresMetricsOnceAndUsesNewestAttempt) {
  model::MetricReport again = MakeReport(1, "training", 10, 0.2);
  again.run_id = 1;
  model::MetricReport batch = MakeReport(1, "training", 20, 0.3);
  batch.batch_metrics = model::Value::List{model::Value::Object{{"loss", 1.5}}};
  ASSERT_TRUE(
      store_
          ->AddMetrics({MakeReport(1, "training", 10, 0.1), again, batch,
                        MakeReport(1, "validation", 10, 0.4), MakeReport(2, "training", 5, 0.5)})
          .ok());
  ASSERT_TRUE(store_->AddMetrics({again, batch}).ok()) << "repeated reports";
  model::MetricReport other = MakeReport(1, "training", 20, 9.9);
  EXPECT_TRUE(absl::IsInvalidArgument(store_->AddMetrics({other, batch})));
  ASSERT_TRUE(store_->AddMetrics({}).ok());

  using Ids = std::vector<model::TrialId>;
  const Ids one = {model::TrialId(1)};
  EXPECT_THAT(*store_->ListMetrics(one, "training"), ElementsAre(again, batch));
  EXPECT_THAT(*store_->ListMetrics(one, ""),
              ElementsAre(again, batch, MakeReport(1, "validation", 10, 0.4)));
  EXPECT_THAT(*store_->ListMetrics({model::TrialId(2), model::TrialId(1)}, "training"),
              ElementsAre(again, batch, MakeReport(2, "training", 5, 0.5)));
  EXPECT_THAT(*store_->ListMetrics({}, ""), IsEmpty());
}

model::MetricReport MakeTraining(int steps, Value::Object metrics) {
  model::MetricReport report = MakeReport(1, "training", steps, 0);
  report.metrics = std::move(metrics);
  return report;
}

TEST_P(StoreContractTest, AddsNewMetrics_WhenStepIsReportedAgain) {
  const Value nan = std::numeric_limits<double>::quiet_NaN();
  const model::MetricReport first = MakeTraining(
      10, {{"loss", 0.5}, {"whole", 1.0}, {"nan", nan}, {"list", Value::List{1.0, "x"}}});
  const model::MetricReport second = MakeTraining(10, {{"loss", 0.5}, {"nan", nan}, {"acc", 0.25}});
  ASSERT_TRUE(store_->AddMetrics({first}).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store_->AddMetrics({second}).ok());
    ASSERT_TRUE(store_->AddMetrics({first, second}).ok()) << "a repeated report";
  }
  // Second and third reports in one call.
  ASSERT_TRUE(store_
                  ->AddMetrics({MakeTraining(20, {{"a", 1.5}}), MakeTraining(30, {{"a", 2.5}}),
                                MakeTraining(20, {{"b", 3.5}}), MakeTraining(10, {{"top5", 0.75}}),
                                MakeTraining(20, {{"c", 4.5}, {"a", 1.5}})})
                  .ok());
  const std::vector<model::MetricReport> stored =
      *store_->ListMetrics({model::TrialId(1)}, "training");
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_EQ(stored[0].metrics, (Value::Object{{"loss", 0.5},
                                              {"whole", 1.0},
                                              {"nan", "NaN"},
                                              {"list", Value::List{1.0, "x"}},
                                              {"acc", 0.25},
                                              {"top5", 0.75}}));
  EXPECT_EQ(stored[1].metrics, (Value::Object{{"a", 1.5}, {"b", 3.5}, {"c", 4.5}}));
  EXPECT_EQ(stored[2].metrics, (Value::Object{{"a", 2.5}}));
}

TEST_P(StoreContractTest, RefusesReportThatChangesValue_AndStoresOthersOfTheCall) {
  ASSERT_TRUE(store_->AddMetrics({MakeTraining(10, {{"loss", 0.5}})}).ok());
  const absl::Status refused = store_->AddMetrics(
      {MakeTraining(5, {{"loss", 4.5}}), MakeTraining(10, {{"loss", 0.75}, {"acc", 1.5}}),
       MakeTraining(10, {{"top5", 2.5}}), MakeTraining(20, {{"a", 1.5}}),
       MakeTraining(20, {{"a", 6.5}})});
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  for (const char* words : {"conflicting key: loss", "0.5", "0.75", "step 10"}) {
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr(words));
  }
  const std::vector<model::MetricReport> stored =
      *store_->ListMetrics({model::TrialId(1)}, "training");
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_EQ(stored[0].metrics, (Value::Object{{"loss", 4.5}}));
  EXPECT_EQ(stored[1].metrics, (Value::Object{{"loss", 0.5}, {"top5", 2.5}}));
  EXPECT_EQ(stored[2].metrics, (Value::Object{{"a", 1.5}}));
  EXPECT_TRUE(store_->AddMetrics({MakeTraining(30, {{"loss", 0.5}})}).ok());
}

TEST_P(StoreContractTest, RefusesOnlyCallerThatChangesValue) {
  ASSERT_TRUE(store_->AddMetrics({MakeTraining(10, {{"loss", 0.5}})}).ok());
  std::vector<std::thread> callers;
  std::atomic<int> refused = 0;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      const double loss = i % 2 == 0 ? 0.5 : 9.5;
      const absl::Status status =
          store_->AddMetrics({MakeTraining(10, {{"loss", loss}, {absl::StrCat("own", i), 1.5}})});
      EXPECT_EQ(status.ok(), i % 2 == 0) << status;
      if (!status.ok()) ++refused;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(
      store_->ListMetrics({model::TrialId(1)}, "training")->front().metrics,
      (Value::Object{{"loss", 0.5}, {"own0", 1.5}, {"own2", 1.5}, {"own4", 1.5}, {"own6", 1.5}}));
}

TEST_P(StoreContractTest, KeepsMetricsOfBatches_WhenStepIsReportedAgain) {
  model::MetricReport batches = MakeTraining(10, {{"acc", 0.25}});
  batches.batch_metrics = Value::List{Value::Object{{"loss", 1.5}}};
  ASSERT_TRUE(store_->AddMetrics({MakeTraining(10, {{"loss", 0.5}})}).ok());
  ASSERT_TRUE(store_->AddMetrics({batches}).ok());
  ASSERT_TRUE(store_->AddMetrics({MakeTraining(10, {{"top5", 0.75}})}).ok());
  model::MetricReport changed = batches;
  changed.batch_metrics = Value::List{Value::Object{{"loss", 7.5}}};
  EXPECT_TRUE(absl::IsInvalidArgument(store_->AddMetrics({changed})));
  const model::MetricReport stored = store_->ListMetrics({model::TrialId(1)}, "training")->front();
  EXPECT_EQ(stored.batch_metrics, batches.batch_metrics);
  EXPECT_EQ(stored.metrics, (Value::Object{{"loss", 0.5}, {"acc", 0.25}, {"top5", 0.75}}));
}

TEST_P(StoreContractTest, ReadsMetricsInPortions) {
  model::MetricReport again = MakeReport(1, "training", 10, 0.2);
  again.run_id = 1;
  std::vector<model::MetricReport> all = {
      again, MakeReport(1, "training", 20, 0.3), MakeReport(1, "validation", 5, 0.4),
      MakeReport(2, "training", 1, 0.5), MakeReport(2, "training", 2, 0.6)};
  ASSERT_TRUE(store_->AddMetrics(all).ok());
  ASSERT_TRUE(store_->AddMetrics({MakeReport(1, "training", 10, 0.1)}).ok())
      << "of an earlier attempt";
  const auto read = [this](MetricQuery query) {
    std::vector<model::MetricReport> found;
    for (;;) {
      const auto portion = store_->ReadMetrics(query);
      EXPECT_TRUE(portion.ok()) << portion.status();
      if (!portion.ok() || portion->empty()) return found;
      EXPECT_LE(portion->size(), static_cast<size_t>(query.limit));
      found.insert(found.end(), portion->begin(), portion->end());
      query.after = GetPosition(found.back());
    }
  };
  const std::vector<model::TrialId> one = {model::TrialId(1)};
  const std::vector<model::TrialId> both = {model::TrialId(1), model::TrialId(2)};
  for (const int limit : {1, 2, 3, 9}) {
    EXPECT_EQ(read({.trials = both, .group = "", .limit = limit}), all) << limit;
    EXPECT_THAT(read({.trials = one, .group = "training", .limit = limit}),
                ElementsAre(all[0], all[1]));
    EXPECT_THAT(read({.trials = one, .group = "", .limit = limit}),
                ElementsAre(all[0], all[1], all[2]));
    EXPECT_THAT(read({.trials = both, .group = "", .descending = true, .limit = limit}),
                ElementsAre(all[4], all[3], all[2], all[1], all[0]));
  }
  EXPECT_EQ(*store_->CountMetrics(one[0], "training"), 2);
  EXPECT_EQ(*store_->CountMetrics(one[0], ""), 3);
  EXPECT_EQ(*store_->CountMetrics(model::TrialId(9), ""), 0);
}

TEST_P(StoreContractTest, StoresLogLinesOnceInOrder) {
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 1, "one"), MakeLine("1.1", 2, "two")}).ok());
  // The agent repeats lines that were not acknowledged.
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 2, "two"), MakeLine("1.1", 3, "three")}).ok());
  // Lines without a sequence number are never duplicates.
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 0, "own"), MakeLine("1.1", 0, "own")}).ok());
  ASSERT_TRUE(store_->AddLogLines({MakeLine("2.2", 1, "elsewhere")}).ok());
  const LogQuery query = {.task = model::TaskId("1.1")};
  const std::vector<LogRecord> all = *store_->ListLogs(query);
  EXPECT_THAT(Texts(all), ElementsAre("one", "two", "three", "own", "own"));
  EXPECT_EQ(all[1].line, MakeLine("1.1", 2, "two"));

  LogQuery next = query;
  next.after_id = all[1].id;
  next.limit = 2;
  EXPECT_THAT(Texts(*store_->ListLogs(next)), ElementsAre("three", "own"));
  LogQuery last = query;
  last.descending = true;
  last.limit = 3;
  const std::vector<LogRecord> newest = *store_->ListLogs(last);
  EXPECT_THAT(Texts(newest), ElementsAre("own", "own", "three"));
  last.before_id = newest.back().id;
  EXPECT_THAT(Texts(*store_->ListLogs(last)), ElementsAre("two", "one"));
  last.after_id = all[0].id;
  EXPECT_THAT(Texts(*store_->ListLogs(last)), ElementsAre("two"));
}

// A rejected line would be repeated forever and hold up all later lines.
TEST_P(StoreContractTest, AcceptsAnyLogText) {
  model::LogLine odd = MakeLine("1.1", 1, std::string("nul \0 bad \xff half \xE2\x82", 19));
  odd.stdtype = std::string("std\0out", 7);
  odd.source = "\xC0\xAF";
  odd.agent = std::string("agent\0", 6);
  odd.level = static_cast<model::LogLevel>(1'000'000);
  odd.rank = std::numeric_limits<int>::min();
  odd.time = absl::InfinitePast();
  model::LogLine late = MakeLine("1.1", std::numeric_limits<int64_t>::max(), "late");
  late.time = absl::InfiniteFuture();
  model::LogLine negative = MakeLine("1.1", -1, "{\"a\", b}\\ 'c' NULL");
  const model::LogLine large = MakeLine("1.1", 2, std::string(8 << 20, 'x'));
  ASSERT_TRUE(store_->AddLogLines({odd, late, negative, large}).ok());
  ASSERT_TRUE(store_->AddLogLines({odd}).ok());
  const std::vector<LogRecord> all = *store_->ListLogs({.task = model::TaskId("1.1")});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].line.text,
            std::string("nul \0 bad \xEF\xBF\xBD half \xEF\xBF\xBD\xEF\xBF\xBD", 25));
  EXPECT_EQ(all[0].line.level, model::LogLevel::kUnknown);
  EXPECT_EQ(all[0].line.rank, std::numeric_limits<int>::min());
  EXPECT_EQ(all[0].line.time, absl::InfinitePast());
  EXPECT_EQ(all[1].line.time, absl::InfiniteFuture());
  EXPECT_EQ(all[2].line.text, negative.text);
  EXPECT_EQ(all[3].line.text, large.text);
}

TEST_P(StoreContractTest, FiltersLogLines) {
  model::LogLine second = MakeLine("1.1", 2, "50% of it");
  second.rank = 1;
  second.level = model::LogLevel::kError;
  second.stdtype = "stderr";
  model::LogLine third = MakeLine("1.1", 3, "bad \xff byte");
  third.agent = "";
  third.rank.reset();
  third.source = "master";
  third.allocation = model::AllocationId("1.1.1");
  second.container = "box";
  ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", 1, "one"), second, third}).ok());
  const auto list = [&](LogQuery query) {
    query.task = model::TaskId("1.1");
    return Texts(*store_->ListLogs(query));
  };
  const std::string bad = "bad \xEF\xBF\xBD byte";
  EXPECT_THAT(list({.allocations = {"1.1.1"}}), ElementsAre(bad));
  EXPECT_THAT(list({.agents = {"agent-0"}}), ElementsAre("one", "50% of it"));
  EXPECT_THAT(list({.ranks = {1, 5}}), ElementsAre("50% of it"));
  EXPECT_THAT(list({.ranks = {-1}}), ElementsAre(bad)) << "lines without a rank";
  EXPECT_THAT(list({.ranks = {-2}}), ElementsAre());
  EXPECT_THAT(list({.levels = {model::LogLevel::kError}}), ElementsAre("50% of it"));
  EXPECT_THAT(list({.stdtypes = {"stdout"}}), ElementsAre("one", bad));
  EXPECT_THAT(list({.sources = {"master"}}), ElementsAre(bad));
  EXPECT_THAT(list({.before = TimeAt(2)}), ElementsAre("one"));
  EXPECT_THAT(list({.after = TimeAt(2)}), ElementsAre(bad));
  EXPECT_THAT(list({.contains = "% of"}), ElementsAre("50% of it"));
  EXPECT_THAT(list({.contains = "% OF"}), ElementsAre("50% of it"));
  EXPECT_THAT(list({.contains = "50_ of"}), ElementsAre());
  EXPECT_THAT(list({.containers = {"box", "1.1.1"}}), ElementsAre("50% of it", bad));
  EXPECT_EQ(
      store_->ListLogs({.task = model::TaskId("1.1"), .containers = {"box"}})->at(0).line.container,
      "box");
}

TEST_P(StoreContractTest, FindsLogLinesBySubstrings) {
  const std::vector<std::string> texts = {"50% OF it", "500 of it", "a_b\\c", "aXb\\c", "ÄB"};
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_TRUE(store_->AddLogLines({MakeLine("1.1", i + 1, texts[i])}).ok());
  }
  const auto list = [&](std::vector<std::string> parts) {
    return Texts(*store_->ListLogs({.task = model::TaskId("1.1"), .parts = std::move(parts)}));
  };
  EXPECT_THAT(list({"of", "it"}), ElementsAre("50% OF it", "500 of it"));
  EXPECT_THAT(list({"0% o"}), ElementsAre("50% OF it"));
  EXPECT_THAT(list({"a_b\\c"}), ElementsAre("a_b\\c"));
  EXPECT_THAT(list({"of", "nowhere"}), ElementsAre());
  EXPECT_THAT(list({"Äb"}), ElementsAre("ÄB"));
}

TEST_P(StoreContractTest, FindsLogErrorsInBothDirections) {
  using Level = model::LogLevel;
  const std::vector<Level> levels = {Level::kError, Level::kInfo, Level::kCritical, Level::kWarning,
                                     Level::kError};
  for (size_t i = 0; i < levels.size(); ++i) {
    model::LogLine line = MakeLine("1.1", i + 1, absl::StrCat(i + 1));
    line.level = levels[i];
    ASSERT_TRUE(store_->AddLogLines({line}).ok());
  }
  const std::vector<LogRecord> all = *store_->ListLogs({.task = model::TaskId("1.1")});
  LogQuery query = {.task = model::TaskId("1.1"), .levels = {Level::kError, Level::kCritical}};
  EXPECT_THAT(Texts(*store_->ListLogs(query)), ElementsAre("1", "3", "5"));
  query.after_id = all[0].id;
  query.limit = 1;
  EXPECT_THAT(Texts(*store_->ListLogs(query)), ElementsAre("3"));
  query = {.task = query.task, .before_id = all[4].id, .descending = true, .levels = query.levels};
  EXPECT_THAT(Texts(*store_->ListLogs(query)), ElementsAre("3", "1"));
  query.levels = {Level::kCritical};
  EXPECT_THAT(Texts(*store_->ListLogs(query)), ElementsAre("3"));
  query.levels = {Level::kWarning, Level::kCritical};
  EXPECT_THAT(Texts(*store_->ListLogs(query)), ElementsAre("4", "3"));
}

TEST_P(StoreContractTest, AllowsConcurrentWriters) {
  constexpr int kThreads = 8;
  constexpr int kBatches = 20;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string task = absl::StrCat("1.", thread);
      for (int i = 1; i <= kBatches; ++i) {
        EXPECT_TRUE(store_->AddLogLines({MakeLine(task, i, absl::StrCat(i))}).ok());
        EXPECT_TRUE(store_->AddMetrics({MakeReport(thread + 1, "training", i, 0.5)}).ok());
        // Durable, and therefore visible, when the call returns.
        EXPECT_EQ(store_->ListLogs({.task = model::TaskId(task)})->size(), size_t(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int thread = 0; thread < kThreads; ++thread) {
    EXPECT_EQ(store_->ListMetrics({model::TrialId(thread + 1)}, "")->size(), size_t{kBatches});
  }
}

// ---- plain records ----

TEST_P(StoreContractTest, StoresContextsByHash) {
  std::string bytes(256 * 1024, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  EXPECT_TRUE(absl::IsNotFound(store_->GetContext("h").status()));
  ASSERT_TRUE(store_->PutContext("h", bytes).ok());
  ASSERT_TRUE(store_->PutContext("h", bytes).ok());
  EXPECT_EQ(*store_->GetContext("h"), bytes);
}

TEST_P(StoreContractTest, DropsUnusedContextsOnTakeover) {
  experiment::Experiment e = MakeExperiment(1);
  e.context_hash = "used";
  e.state = model::ExperimentState::kCompleted;
  Commit({cluster::PutExperiment{e}});
  ASSERT_TRUE(store_->PutContext("used", "tgz").ok());
  ASSERT_TRUE(store_->PutContext("orphan", "tgz").ok());
  EXPECT_TRUE(store_->GetContext("orphan").ok());
  Reload();
  EXPECT_TRUE(store_->GetContext("used").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->GetContext("orphan").status()));
}

TEST_P(StoreContractTest, SetsPropertyOnce) {
  EXPECT_EQ(*store_->GetOrSetProperty("cluster_id", "first"), "first");
  EXPECT_EQ(*store_->GetOrSetProperty("cluster_id", "second"), "first");
  EXPECT_EQ(*backend_->Open()->GetOrSetProperty("cluster_id", "third"), "first");
}

}  // namespace
}  // namespace det::store
