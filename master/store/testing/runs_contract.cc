// Searches over runs: a part of the contract suite in store_contract.h.
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using model::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Search Parse(Table table, const std::string& filter, const std::string& sort = "") {
  absl::StatusOr<Search> search = ParseSearch(table, filter, sort);
  EXPECT_TRUE(search.ok()) << search.status();
  return search.ok() ? *std::move(search) : Search{};
}
std::string Where(const std::string& column, const std::string& op, const std::string& value,
                  const std::string& type = "") {
  return absl::StrCat(R"({"showArchived":true,"filterGroup":{"kind":"group","conjunction":"and",)",
                      R"("children":[{"kind":"field","columnName":")", column, R"(","type":")",
                      type, R"(","operator":")", op, R"(","value":)", value, "}]}}");
}
std::vector<int> Ids(const absl::StatusOr<RunPage>& page) {
  EXPECT_TRUE(page.ok()) << page.status();
  std::vector<int> ids;
  if (!page.ok()) return ids;
  for (const RunRecord& run : page->runs) ids.push_back(run.trial.id.value());
  return ids;
}
std::vector<int> Ids(const absl::StatusOr<FoundExperiments>& page) {
  EXPECT_TRUE(page.ok()) << page.status();
  std::vector<int> ids;
  if (!page.ok()) return ids;
  for (const model::ExperimentId id : page->ids) ids.push_back(id.value());
  return ids;
}

experiment::Trial MakeRun(int id, int experiment, double lr) {
  experiment::Trial trial = MakeTrial(id, experiment);
  trial.hparams = {{"lr", lr},
                   {"kind", id % 2 == 0 ? "even" : "odd"},
                   {"net", Value::Object{{"depth", id}, {"sizes", Value::List{1, 2}}}}};
  trial.ended_at = TimeAt(1000 + id);
  return trial;
}

// Three experiments with two runs each; the last one is in project `elsewhere`.
std::vector<cluster::Change> Rows(int32_t elsewhere) {
  std::vector<cluster::Change> rows;
  for (int e = 1; e <= 3; ++e) {
    experiment::Experiment experiment = MakeExperiment(e);
    auto config = std::make_shared<model::ExperimentConfig>(*experiment.config);
    config->description = e == 2 ? "" : "Some Words";
    if (e != 1) config->labels = {"night", absl::StrCat("e", e)};
    experiment.config = config;
    experiment.ended_at = TimeAt(2000);
    experiment.state = model::ExperimentState::kCompleted;
    if (e == 3) experiment.project = elsewhere;
    if (e == 2) experiment.best_trial = model::TrialId(4);
    rows.push_back(cluster::PutExperiment{experiment});
    for (int id = 2 * e - 1; id <= 2 * e; ++id) {
      experiment::Trial trial = MakeRun(id, e, id / 8.0);
      trial.state = id == 1 ? model::TrialState::kError : model::TrialState::kCompleted;
      if (id % 3 != 0) trial.best_metric = 10.0 - id;
      if (id == 4) trial.log_policy = "CUDA OOM";
      rows.push_back(cluster::PutTrial{trial});
      if (id == 2) rows.push_back(cluster::AddCheckpoint{MakeCheckpoint("c", id, 10)});
      if (id < 6) rows.push_back(cluster::AddMetrics{MakeReport(id, "validation", 10, id / 4.0)});
    }
  }
  return rows;
}

// Returns the project of the last experiment.
int32_t Fill(Store& store) {
  WorkspaceRecord workspace;
  workspace.name = "other";
  workspace.owner = model::UserId(1);
  const int32_t space = store.workspaces().AddWorkspace(workspace)->id;
  ProjectRecord project;
  project.workspace = space;
  project.name = "p";
  project.owner = model::UserId(1);
  const int32_t id = store.projects().AddProject(project)->id;
  EXPECT_TRUE(store.Load().ok());
  EXPECT_TRUE(store.Commit(1, Rows(id)).ok());
  EXPECT_TRUE(store
                  .AddMetrics({MakeReport(1, "training", 5, 0.5), MakeReport(1, "training", 9, 4),
                               MakeReport(2, "training", 5, 0.25)})
                  .ok());
  EXPECT_TRUE(
      store.AddMetrics({MakeReport(1, "training", 7, 1), MakeReport(1, "training", 5, 0.5)}).ok());
  EXPECT_TRUE(store.runs()
                  .PutMetadata(model::TrialId(2),
                               Value::Object{
                                   {"a", Value::Object{{"b", "Deep"}}},
                                   {"n", 7},
                                   {"list", Value::List{1, "x"}},
                               })
                  .ok());
  EXPECT_TRUE(store.runs().PutMetadata(model::TrialId(5), Value::Object{{"n", "seven"}}).ok());
  return id;
}

std::vector<int> Find(Store& store, const std::string& filter, const std::string& sort = "id=asc") {
  return Ids(store.runs().SearchRuns({.search = Parse(Table::kRuns, filter, sort)}));
}
std::vector<int> FindExperiments(Store& store, const std::string& filter,
                                 const std::string& sort = "id=asc") {
  return Ids(store.runs().SearchExperiments({.search = Parse(Table::kExperiments, filter, sort)}));
}

TEST_P(StoreContractTest, ReturnsFieldsOfRun) {
  Fill(*store_);
  const RunPage page =
      *store_->runs().SearchRuns({.search = Parse(Table::kRuns, Where("id", "=", "2"))});
  ASSERT_EQ(page.total, 1);
  const RunRecord& run = page.runs[0];
  EXPECT_EQ(run.name, "experiment 1");
  EXPECT_EQ(run.description, "Some Words");
  EXPECT_EQ(run.searcher, "single");
  EXPECT_EQ(run.searcher_metric, "accuracy");
  EXPECT_EQ(run.project, 1);
  EXPECT_EQ(run.project_key, "UNCAT");
  EXPECT_EQ(run.workspace_name, "Uncategorized");
  EXPECT_EQ(run.checkpoint_count, 1);
  EXPECT_EQ(run.checkpoint_size, 1024);
  EXPECT_EQ(*run.metadata.Find("n")->AsInt(), 7);
  EXPECT_EQ(run.metrics.at({"training", "accuracy"}), MakeSummary(1, 0.25, 0.25, 0.25, 0.25));
}

TEST_P(StoreContractTest, SummarizesAllReports) {
  Fill(*store_);
  const RunPage page =
      *store_->runs().SearchRuns({.search = Parse(Table::kRuns, Where("id", "=", "1"))});
  ASSERT_EQ(page.runs.size(), 1u);
  // The repeated step was stored once.
  EXPECT_EQ(page.runs[0].metrics.at({"training", "accuracy"}), MakeSummary(3, 5.5, 0.5, 4, 4));
  model::MetricReport later = MakeReport(1, "training", 6, 3);
  later.run_id = 1;
  later.metrics = Value::Object{{"accuracy", 3.0}, {"text", "x"}, {"huge", 1e300}};
  ASSERT_TRUE(store_->AddMetrics({later}).ok());
  const RunPage after =
      *store_->runs().SearchRuns({.search = Parse(Table::kRuns, Where("id", "=", "1"))});
  EXPECT_EQ(after.runs[0].metrics.at({"training", "accuracy"}), MakeSummary(4, 8.5, 0.5, 4, 3));
  const MetricSummary& text = after.runs[0].metrics.at({"training", "text"});
  EXPECT_EQ(text.type, "string");
  EXPECT_EQ(text.newest, Value("x"));
  EXPECT_EQ(after.runs[0].metrics.size(), 3u) << "without \"huge\"";
}

TEST_P(StoreContractTest, SummarizesValuesOfAllTypes) {
  Fill(*store_);
  const auto report = [&](int64_t steps, Value::Object metrics) {
    model::MetricReport one = MakeReport(2, "mixed", steps, 0);
    one.metrics = std::move(metrics);
    ASSERT_TRUE(store_->AddMetrics({one}).ok());
    ASSERT_TRUE(store_->AddMetrics({one}).ok()) << "a repeated report is not counted twice";
  };
  report(1, {{"loss", 2.0}, {"acc", "Infinity"}, {"flag", true}, {"list", Value::List{1}}});
  report(2, {{"loss", "NaN"}, {"acc", 0.5}, {"low", "-Infinity"}, {"note", "x"}});
  report(3, {{"loss", 1.0}, {"note", 7}, {"nothing", Value()}, {"nest", Value::Object{{"a", 1}}}});
  const MetricSummaries metrics = store_->GetTrial(model::TrialId(2))->metrics;
  const auto get = [&](const char* name) { return metrics.at({"mixed", name}); };
  MetricSummary loss = MakeSummary(2, 3, 1, 2, 1);
  loss.nans = 1;
  EXPECT_EQ(get("loss"), loss);
  EXPECT_EQ(get("acc").count, 1);
  EXPECT_EQ(get("acc").infinities, 1);
  EXPECT_EQ(get("acc").type, "number");
  EXPECT_TRUE(get("acc").newest.is_null()) << "the newest report lacks it";
  EXPECT_EQ(get("low").negative_infinities, 1);
  EXPECT_EQ(get("low").count, 0);
  EXPECT_EQ(get("flag").type, "boolean");
  EXPECT_EQ(get("list").type, "array");
  EXPECT_EQ(get("nothing").type, "null");
  EXPECT_EQ(get("nest").type, "object");
  EXPECT_EQ(get("nest").newest, (Value::Object{{"a", 1}}));
  EXPECT_EQ(get("note").type, "string") << "a text and a number";
  EXPECT_EQ(get("note").newest, Value(7.0));
  const std::vector<MetricName> names =
      *store_->runs().ListMetricNames({store_->GetTrial(model::TrialId(2))->trial.experiment});
  EXPECT_EQ(std::count(names.begin(), names.end(), MetricName("mixed", "flag")), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), MetricName("mixed", "loss")), 1);
}

TEST_P(StoreContractTest, ReturnsSettingsOfTrial) {
  Fill(*store_);
  const auto get = [&](int id) { return *store_->GetTrial(model::TrialId(id)); };
  EXPECT_EQ(*get(2).metadata.Find("n")->AsInt(), 7);
  EXPECT_TRUE(get(1).metadata.is_null());
  EXPECT_EQ(get(1).log_days, std::nullopt);
  const model::ExperimentId experiment = get(1).trial.experiment;
  ASSERT_TRUE(store_->garbage_collection().SetExperimentLogDays(experiment, 9).ok());
  EXPECT_EQ(get(1).log_days, 9);
  ASSERT_TRUE(store_->garbage_collection().SetTrialLogDays(model::TrialId(1), -1).ok());
  EXPECT_EQ(get(1).log_days, -1);
}

TEST_P(StoreContractTest, DerivesShownStateFromTrials) {
  ASSERT_TRUE(store_->Load().ok());
  using State = model::TrialState;
  const std::vector<std::vector<State>> trials = {{State::kQueued, State::kRunning},
                                                  {State::kQueued, State::kCompleted},
                                                  {State::kStopping},
                                                  {State::kCompleted}};
  std::vector<cluster::Change> rows;
  int id = 0;
  for (size_t e = 0; e < trials.size(); ++e) {
    experiment::Experiment experiment = MakeExperiment(static_cast<int>(e) + 1);
    experiment.state = model::ExperimentState::kActive;
    rows.push_back(cluster::PutExperiment{experiment});
    for (const State state : trials[e]) {
      ++id;
      experiment::Trial trial = MakeRun(id, static_cast<int>(e) + 1, 1.0);
      trial.state = state;
      rows.push_back(cluster::PutTrial{trial});
    }
  }
  ASSERT_TRUE(store_->Commit(1, rows).ok());
  const auto find = [this](const char* op, const char* state) {
    return FindExperiments(*store_, Where("state", op, absl::StrCat("\"", state, "\"")));
  };
  EXPECT_THAT(find("=", "RUNNING"), ElementsAre(1, 3));
  EXPECT_THAT(find("=", "STATE_QUEUED"), ElementsAre(2));
  EXPECT_THAT(find("!=", "RUNNING"), ElementsAre(2, 4));
  EXPECT_THAT(find("=", "ACTIVE"), ElementsAre(1, 2, 3, 4));
}

TEST_P(StoreContractTest, FindsRunsByAnyColumn) {
  Fill(*store_);
  EXPECT_THAT(Find(*store_, Where("hp.lr", ">", "0.5")), ElementsAre(5, 6));
  EXPECT_THAT(Find(*store_, Where("hp.kind", "=", "\"even\"")), ElementsAre(2, 4, 6));
  EXPECT_THAT(Find(*store_, Where("hp.net.depth", "<=", "2")), ElementsAre(1, 2));
  EXPECT_THAT(Find(*store_, Where("hp.net.sizes", "contains", "\"1,2\"")),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Find(*store_, Where("metadata.a.b", "contains", "\"deep\"")), ElementsAre(2));
  EXPECT_THAT(Find(*store_, Where("metadata.n", "=", "7")), ElementsAre(2));
  EXPECT_THAT(Find(*store_, Where("metadata.n", "!=", "7")), ElementsAre(1, 3, 4, 5, 6));
  EXPECT_THAT(Find(*store_, Where("metadata.n", "notEmpty", "null")), ElementsAre(2, 5));
  EXPECT_THAT(Find(*store_, Where("validation.accuracy.min", ">=", "1")), ElementsAre(4, 5));
  EXPECT_THAT(Find(*store_, Where("training.accuracy.mean", "<", "1")), ElementsAre(2));
  EXPECT_THAT(Find(*store_, Where("validation.accuracy.last", "isEmpty", "null")), ElementsAre(6));
  EXPECT_THAT(Find(*store_, Where("tags", "contains", "\"night\"")), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(Find(*store_, Where("tags", "isEmpty", "null")), ElementsAre(1, 2));
  EXPECT_THAT(Find(*store_, Where("state", "!=", "\"COMPLETED\"")), ElementsAre(1));
  EXPECT_THAT(Find(*store_, Where("startTime", "<", "\"2023-11-14T22:13:22Z\"")), ElementsAre(1));
  EXPECT_THAT(Find(*store_, Where("searcherMetricsVal", "isEmpty", "null")), ElementsAre(3, 6));
  EXPECT_THAT(Find(*store_, Where("checkpointCount", "=", "1")), ElementsAre(2));
  EXPECT_THAT(Find(*store_, Where("isExpMultitrial", "=", "false")), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Find(*store_, Where("localId", "=", "\"UNCAT-3\"")), ElementsAre(3));
  EXPECT_THAT(Find(*store_, Where("externalRunId", "notEmpty", "null")), IsEmpty());
  EXPECT_THAT(Find(*store_, Where("logPolicyMatched", "=", "\"CUDA OOM\"")), ElementsAre(4));
  EXPECT_THAT(Find(*store_, Where("logPolicyMatched", "notEmpty", "null")), ElementsAre(4));
  EXPECT_THAT(Find(*store_, Where("logPolicyMatched", "isEmpty", "null")),
              ElementsAre(1, 2, 3, 5, 6));
}

TEST_P(StoreContractTest, SortsRunsByAnyColumn) {
  Fill(*store_);
  const std::string all = R"({"showArchived":true})";
  EXPECT_THAT(Find(*store_, all, ""), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(Find(*store_, all, "hp.kind=asc,hp.lr=desc"), ElementsAre(6, 4, 2, 5, 3, 1));
  EXPECT_THAT(Find(*store_, all, "searcherMetricsVal=asc"), ElementsAre(5, 4, 2, 1, 3, 6));
  EXPECT_THAT(Find(*store_, all, "validation.accuracy.max=desc"), ElementsAre(5, 4, 3, 2, 1, 6));
  EXPECT_THAT(Find(*store_, all, "metadata.n=desc"), ElementsAre(2, 5, 6, 4, 3, 1));
  EXPECT_THAT(Find(*store_, all, "tags=desc,id=asc"), ElementsAre(5, 6, 3, 4, 1, 2));
  const Search search = Parse(Table::kRuns, all, "id=asc");
  const RunPage page = *store_->runs().SearchRuns({.search = search, .window = {2, 3}});
  EXPECT_EQ(page.total, 6);
  EXPECT_THAT(Ids(absl::StatusOr<RunPage>(page)), ElementsAre(3, 4, 5));
}

TEST_P(StoreContractTest, ListsOnlyVisibleRuns) {
  const int32_t elsewhere = Fill(*store_);
  Runs& runs = store_->runs();
  const Search all = Parse(Table::kRuns, Where("hp.lr", ">", "0"), "id=asc");
  EXPECT_THAT(Ids(runs.SearchRuns({.search = all, .project = 1})), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Ids(runs.SearchRuns({.search = all, .project = elsewhere})), ElementsAre(5, 6));
  EXPECT_THAT(Ids(runs.SearchRuns({.search = all, .visible = {{1}}})), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Ids(runs.SearchRuns({.search = all, .project = elsewhere, .visible = {{1}}})),
              IsEmpty());
  EXPECT_THAT(Ids(runs.SearchRuns({.search = all, .visible = std::vector<int32_t>()})), IsEmpty());
  // Runs move with their experiment.
  cluster::SetProject move;
  move.experiment = model::ExperimentId(2);
  move.to.project = elsewhere;
  ASSERT_TRUE(store_->Commit(2, {move}).ok());
  EXPECT_THAT(Ids(runs.SearchRuns({.search = all, .project = elsewhere})), ElementsAre(3, 4, 5, 6));
  const Search by_metric = Parse(Table::kRuns, Where("validation.accuracy.min", ">", "0"));
  EXPECT_THAT(Ids(runs.SearchRuns({.search = by_metric, .project = 1})), ElementsAre(2, 1));
}

TEST_P(StoreContractTest, FindsExperimentsByBestRun) {
  Fill(*store_);
  EXPECT_THAT(FindExperiments(*store_, Where("name", "contains", "\"MENT 2\"")), ElementsAre(2));
  EXPECT_THAT(FindExperiments(*store_, Where("hp.net.depth", "=", "4")), ElementsAre(2));
  EXPECT_THAT(FindExperiments(*store_, Where("hp.net.depth", "<", "3")), ElementsAre(1));
  EXPECT_THAT(FindExperiments(*store_, Where("validation.accuracy.last", ">", "0.5")),
              ElementsAre(2, 3));
  EXPECT_THAT(FindExperiments(*store_, Where("numTrials", "=", "2"), "hp.net.depth=desc"),
              ElementsAre(3, 2, 1));
  EXPECT_THAT(FindExperiments(*store_, Where("checkpointCount", ">", "0")), ElementsAre(1));
}

TEST_P(StoreContractTest, ListsColumnsOfProject) {
  const int32_t elsewhere = Fill(*store_);
  Runs& runs = store_->runs();
  const std::vector<ValueColumn> all = {{"hp.kind", false},      {"hp.lr", true},
                                        {"hp.net.depth", true},  {"hp.net.sizes", false},
                                        {"metadata.a.b", false}, {"metadata.list", false},
                                        {"metadata.n", true}};
  EXPECT_EQ(*runs.ListValueColumns(1), all);
  EXPECT_THAT(*runs.ListMetricNames(1), ElementsAre(MetricName("training", "accuracy"),
                                                    MetricName("validation", "accuracy")));
  EXPECT_THAT(*runs.ListMetricNames(elsewhere), ElementsAre(MetricName("validation", "accuracy")));
  EXPECT_THAT(*runs.ListMetricNames({model::ExperimentId(2), model::ExperimentId(3)}),
              ElementsAre(MetricName("validation", "accuracy")));
  EXPECT_THAT(*runs.ListMetricRanges(1),
              ElementsAre(MetricRange{{"training", "accuracy"}, 0.25, 4},
                          MetricRange{{"validation", "accuracy"}, 0.25, 1}));
  EXPECT_THAT(*runs.ListMetadataValues(1, "a.b"), ElementsAre("Deep"));
  EXPECT_THAT(*runs.ListMetadataValues(1, "n"), IsEmpty());
}

TEST_P(StoreContractTest, ReplacesMetadata) {
  Fill(*store_);
  Runs& runs = store_->runs();
  const model::TrialId id(2);
  ASSERT_TRUE(runs.PutMetadata(id, Value::Object{{"c", true}}).ok());
  EXPECT_EQ(*runs.GetMetadata(id), Value(Value::Object{{"c", true}}));
  EXPECT_THAT(Find(*store_, Where("metadata.a.b", "notEmpty", "null")), IsEmpty());
  EXPECT_THAT(Find(*store_, Where("metadata.c", "=", "\"true\"")), ElementsAre(2));
  EXPECT_THAT(Find(*store_, Where("hp.lr", "=", "0.25")), ElementsAre(2));
  EXPECT_TRUE(runs.GetMetadata(model::TrialId(1))->is_null());
  EXPECT_TRUE(absl::IsNotFound(runs.GetMetadata(model::TrialId(99)).status()));
  EXPECT_TRUE(absl::IsNotFound(runs.PutMetadata(model::TrialId(99), Value::Object{})));
}

// ---- any question gets the same answer ----

class Questions {
 public:
  explicit Questions(uint32_t seed) : random_(seed) {}

  std::string Filter() {
    return absl::StrCat(R"({"showArchived":)", Pick({"true", "false"}), R"(,"filterGroup":)",
                        Group(3), "}");
  }
  std::string Order(Table table) {
    std::vector<std::string> keys;
    for (int i = Below(3); i > 0; --i) {
      keys.push_back(absl::StrCat(Name(table), "=", Pick({"asc", "desc"})));
    }
    return absl::StrJoin(keys, ",");
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  std::string Pick(const std::vector<std::string>& of) {
    return of[static_cast<size_t>(Below(static_cast<int>(of.size())))];
  }
  std::string Name(Table table) {
    if (Below(2) == 0) {
      return Pick({"hp.lr", "hp.kind", "hp.none", "hp.net.depth", "metadata.n", "metadata.a.b",
                   "validation.accuracy.min", "training.accuracy.mean", "training.none.last"});
    }
    const auto& columns = FixedColumns(table);
    return columns[static_cast<size_t>(Below(static_cast<int>(columns.size())))].name;
  }
  // A condition that both tables support.
  std::string Condition() {
    static const auto& kConditions = *new std::vector<std::string>{
        R"("columnName":"hp.lr","type":"COLUMN_TYPE_NUMBER")",
        R"("columnName":"hp.net.depth","type":"COLUMN_TYPE_NUMBER")",
        R"("columnName":"metadata.n","type":"COLUMN_TYPE_NUMBER")",
        R"("columnName":"validation.accuracy.max")",
        R"("columnName":"training.accuracy.mean")",
        R"("columnName":"searcherMetricsVal")",
        R"("columnName":"checkpointSize")",
        R"("columnName":"forkedFrom")",
        R"("columnName":"projectId")",
    };
    static const auto& kTexts = *new std::vector<std::string>{
        R"("columnName":"hp.kind","type":"COLUMN_TYPE_TEXT")",
        R"("columnName":"metadata.n","type":"COLUMN_TYPE_TEXT")",
        R"("columnName":"metadata.a.b","type":"COLUMN_TYPE_TEXT")",
        R"("columnName":"name")",
        R"("columnName":"description")",
        R"("columnName":"user")",
        R"("columnName":"externalExperimentId")",
        R"("columnName":"searcherType")",
    };
    std::string what, op, value;
    if (Below(2) == 0) {
      what = Pick(kConditions);
      op = Pick({"=", "!=", "<", "<=", ">", ">=", "isEmpty", "notEmpty"});
      value = absl::StrCat(Below(20) / 8.0);
    } else if (Below(4) > 0) {
      what = Pick(kTexts);
      op = Pick({"=", "!=", "contains", "notContains", "isEmpty", "notEmpty"});
      value = Pick({"\"even\"", "\"d\"", "\"seven\"", "\"experiment 2\"", "\"\"", "\"it's\""});
    } else {
      what = std::string(R"("columnName":"tags")");
      op = Pick({"contains", "notContains", "isEmpty", "notEmpty"});
      value = Pick({"\"night\"", "\"e2\"", "\"nigh\""});
    }
    return absl::StrCat(R"({"kind":"field",)", what, R"(,"operator":")", op, R"(","value":)", value,
                        "}");
  }
  std::string Group(int depth) {
    std::vector<std::string> children;
    for (int i = Below(4); i > 0; --i) {
      children.push_back(depth > 0 && Below(3) == 0 ? Group(depth - 1) : Condition());
    }
    return absl::StrCat(R"({"kind":"group","conjunction":")", Pick({"and", "or"}),
                        R"(","children":[)", absl::StrJoin(children, ","), "]}");
  }

  std::mt19937 random_;
};

TEST_P(StoreContractTest, AnswersRandomSearchesLikeFake) {
  Fill(*store_);
  FakeStore memory;
  Fill(memory);
  Questions questions(7);
  for (int i = 0; i < 300; ++i) {
    const std::string filter = questions.Filter();
    const std::string order = questions.Order(Table::kRuns);
    SCOPED_TRACE(absl::StrCat(filter, " by ", order));
    const RunQuery runs = {.search = Parse(Table::kRuns, filter, order)};
    ASSERT_EQ(Ids(store_->runs().SearchRuns(runs)), Ids(memory.runs().SearchRuns(runs)));
    const std::string other = questions.Order(Table::kExperiments);
    const RunQuery experiments = {.search = Parse(Table::kExperiments, filter, other)};
    ASSERT_EQ(Ids(store_->runs().SearchExperiments(experiments)),
              Ids(memory.runs().SearchExperiments(experiments)))
        << other;
  }
}

}  // namespace
}  // namespace det::store
