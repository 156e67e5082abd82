// Search over runs: the trials of all experiments, each with fields of its experiment,
// hyperparameters, summaries of its metrics, and metadata that users add. Reached through
// Store::runs(). Any thread; blocks.
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

struct RunRecord {
  experiment::Trial trial;
  // Fields of the experiment.
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  model::UserId owner;
  std::string searcher;
  std::string searcher_metric;
  std::optional<model::ExperimentId> forked_from;
  bool unmanaged = false;
  std::optional<std::string> external_experiment_id;
  std::string resource_pool;
  double progress = 0;
  bool archived = false;
  // Project and workspace of the experiment.
  int32_t project = 0;
  std::string project_name;
  std::string project_key;
  int32_t workspace = 0;
  std::string workspace_name;
  bool parent_archived = false;  // project or workspace

  int checkpoint_count = 0;  // checkpoints whose files exist
  int64_t checkpoint_size = 0;
  model::Value metadata;  // an object, or null
  MetricSummaries metrics;
};

struct RunQuery {
  Search search;
  int32_t project = 0;                          // only this project; 0: all
  std::optional<std::vector<int32_t>> visible;  // only in these workspaces
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

// A hyperparameter or metadata key that runs of a project have.
struct ValueColumn {
  std::string key;      // "hp.lr"
  bool number = false;  // a number in at least one of them
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

  // The search must be for Table::kRuns.
  virtual absl::StatusOr<RunPage> SearchRuns(const RunQuery& query) = 0;
  // The search must be for Table::kExperiments. Skips DELETED experiments. Conditions on runs apply
  // to the best trial; without one, to the first.
  virtual absl::StatusOr<FoundExperiments> SearchExperiments(const RunQuery& query) = 0;

  // Sorted by name.
  virtual absl::StatusOr<std::vector<ValueColumn>> ListValueColumns(int32_t project) = 0;
  virtual absl::StatusOr<std::vector<MetricName>> ListMetricNames(int32_t project) = 0;
  virtual absl::StatusOr<std::vector<MetricName>> ListMetricNames(
      const std::vector<model::ExperimentId>& experiments) = 0;
  virtual absl::StatusOr<std::vector<MetricRange>> ListMetricRanges(int32_t project) = 0;

  // Reports of each trial, sorted by steps; each step as the newest attempt reported it. Returns
  // all reports within the steps if there are at most kMaxUnsampledReports; otherwise the first,
  // the last, and those with the minimum and maximum of the metric in equal intervals. A value that
  // a later attempt has replaced may still select its step.
  virtual absl::StatusOr<Curves> ReadCurves(const CurveQuery& query) = 0;
  // Values of one metric, `query.metric`, only; takes half of the time of ReadCurves.
  virtual absl::StatusOr<NumberCurves> ReadNumbers(const CurveQuery& query) = 0;
  // The steps at which any trial reported the metric, sorted.
  virtual absl::StatusOr<std::vector<int64_t>> ListSteps(const SeriesQuery& query) = 0;
  // The last value of each trial that has one, sorted by trial.
  virtual absl::StatusOr<std::vector<SeriesPoint>> ReadLast(const SeriesQuery& query) = 0;

  // Replaces the metadata, an object. NOT_FOUND if there is no such trial.
  virtual absl::Status PutMetadata(model::TrialId id, const model::Value& metadata) = 0;
  // Returns null if there is none. NOT_FOUND if there is no such trial.
  virtual absl::StatusOr<model::Value> GetMetadata(model::TrialId id) = 0;
  // Replaces the metadata of a checkpoint, initially an empty object. NOT_FOUND if there is no such
  // checkpoint.
  virtual absl::Status PutCheckpointMetadata(const model::CheckpointId& id,
                                             const model::Value& metadata) = 0;
  // Distinct strings stored at "metadata.<key>", sorted; at most 1,000.
  virtual absl::StatusOr<std::vector<std::string>> ListMetadataValues(int32_t project,
                                                                      const std::string& key) = 0;
};

// Errors that all implementations return.
inline absl::Status NoSuchRun(model::TrialId id) {
  return absl::NotFoundError(absl::StrCat("run ", id.value(), " not found"));
}
inline absl::Status NoSuchCheckpoint(const model::CheckpointId& id) {
  return absl::NotFoundError(absl::StrCat("checkpoint ", id.value(), " not found"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_RUNS_H_
