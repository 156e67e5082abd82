// Runs as people search them: the trials of all experiments, each with what its experiment says,
// what it was given (hyperparameters), what it reported (summaries of metrics), and what was said
// of it later (metadata). Reached by Store::runs(). Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_RUNS_H_
#define MASTER_STORE_INTERFACES_RUNS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "master/core/experiment/trial.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/core/model/value.h"
#include "master/store/interfaces/metric_query.h"
#include "master/store/interfaces/search.h"
#include "master/store/interfaces/window.h"

namespace det::store {

// A group and a name in it.
using MetricName = std::pair<std::string, std::string>;
// Of all numbers that a trial reported under a name, in all its runs: of the newest run's last
// report, the number is the last. Numbers beyond 1e290, names of more than 200 bytes and reports of
// more than 1,000 numbers are not counted.
struct MetricSummary {
  int64_t count = 0;
  double sum = 0;
  double min = 0;
  double max = 0;
  double last = 0;
  friend bool operator==(const MetricSummary&, const MetricSummary&) = default;
};

struct RunRecord {
  experiment::Trial trial;
  // Of the experiment.
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  model::UserId owner;
  std::string searcher;
  std::string searcher_metric;
  std::optional<model::ExperimentId> forked_from;
  std::string resource_pool;
  double progress = 0;
  bool archived = false;
  // Where that lies.
  int32_t project = 0;
  std::string project_name;
  std::string project_key;
  int32_t workspace = 0;
  std::string workspace_name;
  bool parent_archived = false;  // project or workspace

  int checkpoint_count = 0;  // whose files are there
  int64_t checkpoint_size = 0;
  model::Value metadata;  // an object, or null
  std::map<MetricName, MetricSummary> metrics;
};

struct RunQuery {
  Search search;
  int32_t project = 0;                          // of this one alone; 0: of all
  std::optional<std::vector<int32_t>> visible;  // in these workspaces alone
  Window window;
};
struct RunPage {
  std::vector<RunRecord> runs;
  int total = 0;
};
struct FoundExperiments {
  std::vector<model::ExperimentId> ids;
  int total = 0;
};

// A hyperparameter or a piece of metadata that runs of a project have.
struct ValueColumn {
  std::string key;      // "hp.lr"
  bool number = false;  // in one of them at least
  friend bool operator==(const ValueColumn&, const ValueColumn&) = default;
};
struct MetricRange {
  MetricName name;
  double min = 0;
  double max = 0;
  friend bool operator==(const MetricRange&, const MetricRange&) = default;
};

class Runs {
 public:
  virtual ~Runs() = default;

  // A search of Table::kRuns.
  virtual absl::StatusOr<RunPage> SearchRuns(const RunQuery& query) = 0;
  // A search of Table::kExperiments; not those that are DELETED. What is of runs is asked of the
  // best trial; without one, of the first.
  virtual absl::StatusOr<FoundExperiments> SearchExperiments(const RunQuery& query) = 0;

  // By name.
  virtual absl::StatusOr<std::vector<ValueColumn>> ListValueColumns(int32_t project) = 0;
  virtual absl::StatusOr<std::vector<MetricName>> ListMetricNames(int32_t project) = 0;
  virtual absl::StatusOr<std::vector<MetricName>> ListMetricNames(
      const std::vector<model::ExperimentId>& experiments) = 0;
  virtual absl::StatusOr<std::vector<MetricRange>> MetricRanges(int32_t project) = 0;

  // Of each trial that has reports, by steps, of each the newest run's. All within the steps where
  // they are no more than kWholeCurve; otherwise the first, the last, and of equal stretches in
  // between those where the metric is lowest and highest. A value that a later run has replaced may
  // keep its step in, and may count.
  virtual absl::StatusOr<Curves> ReadCurves(const CurveQuery& query) = 0;
  // The same of one metric, `query.metric`, of the reports that have it, for half of the time.
  virtual absl::StatusOr<NumberCurves> ReadNumbers(const CurveQuery& query) = 0;
  // The steps at which any trial has reported the metric, in order.
  virtual absl::StatusOr<std::vector<int64_t>> ListSteps(const SeriesQuery& query) = 0;
  // The last number of each trial that has one, by trial.
  virtual absl::StatusOr<std::vector<SeriesPoint>> ReadLast(const SeriesQuery& query) = 0;

  // An object, which replaces what was there. NOT_FOUND when there is no such trial.
  virtual absl::Status PutMetadata(model::TrialId id, const model::Value& metadata) = 0;
  // Null: none. NOT_FOUND when there is no such trial.
  virtual absl::StatusOr<model::Value> GetMetadata(model::TrialId id) = 0;
  // The same of a checkpoint, which has an empty one at first. NOT_FOUND when there is none.
  virtual absl::Status PutCheckpointMetadata(const model::CheckpointId& id,
                                             const model::Value& metadata) = 0;
  // The texts under "metadata.<key>", each once, in order; the first 1,000.
  virtual absl::StatusOr<std::vector<std::string>> ListMetadataValues(int32_t project,
                                                                      const std::string& key) = 0;
};

// What all implementations say.
inline absl::Status NoSuchRun(model::TrialId id) {
  return absl::NotFoundError(absl::StrCat("run ", id.value(), " does not exist"));
}
inline absl::Status NoSuchCheckpoint(const model::CheckpointId& id) {
  return absl::NotFoundError(absl::StrCat("checkpoint ", id.value(), " does not exist"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_RUNS_H_
