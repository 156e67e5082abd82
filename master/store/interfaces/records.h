// Queries and records of experiments, trials, checkpoints and logs: rows as plain values.
#ifndef MASTER_STORE_INTERFACES_RECORDS_H_
#define MASTER_STORE_INTERFACES_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/experiment/experiment.h"
#include "master/core/experiment/trial.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/store/interfaces/metric_query.h"
#include "master/store/interfaces/window.h"

namespace det::store {

struct ExperimentRecord {
  experiment::Experiment experiment;
  std::string username;
  int num_trials = 0;
  int checkpoint_count = 0;  // checkpoints whose files exist
  int64_t checkpoint_size = 0;
  int64_t context_size = 0;
  bool archived = false;
  bool parent_archived = false;  // its project or workspace is archived
  std::string notes;
  model::UserId project_owner;
  std::optional<int> log_days;  // how long the logs are kept if it was set; -1: forever
};
struct ExperimentQuery {
  // Experiments without a value of kEndTime, kForkedFrom or kBestMetric come last.
  enum class Sort {
    kId,
    kName,
    kDescription,
    kState,
    kStartTime,
    kEndTime,
    kNumTrials,
    kProgress,
    kUser,
    kForkedFrom,
    kResourcePool,
    kProject,
    kCheckpointSize,
    kCheckpointCount,
    kBestMetric
  };
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  std::string name;                            // substring of the name, case-insensitive
  std::string description;                     // substring, case-insensitive
  std::vector<std::string> labels;             // all of these
  std::vector<model::ExperimentState> states;  // empty: all except DELETED
  std::vector<std::string> usernames;
  std::vector<model::UserId> owner_ids;
  std::vector<model::ExperimentId> ids;         // only these; empty: all
  std::vector<model::ExperimentId> not_ids;     // exclude these
  std::optional<int64_t> min_id;                // at least
  std::optional<int64_t> max_id;                // at most
  int32_t project = 0;                          // only this project; 0: all
  std::optional<std::vector<int32_t>> visible;  // only in these workspaces
  std::string request_id;                       // exact match; empty: any
  // Whether the experiment is archived or, if `project` is 0, its project or workspace is.
  std::optional<bool> archived;
};
struct ExperimentPage {
  std::vector<ExperimentRecord> experiments;
  int total = 0;
};

struct TrialRecord {
  experiment::Trial trial;
  std::optional<model::MetricReport> best_validation;
  std::optional<model::MetricReport> latest_validation;
  std::optional<model::CheckpointRecord> best_checkpoint;
  int checkpoint_count = 0;  // checkpoints whose files exist
  int64_t checkpoint_size = 0;
  MetricSummaries metrics;
  int64_t reported_steps = 0;   // of the newest report with metrics; 0: none
  model::Value metadata;        // of the run: an object, or null
  std::optional<int> log_days;  // how long the logs are kept if it was set; -1: forever
};
struct TrialQuery {
  enum class Sort {
    kId,
    kState,
    kStartTime,
    kEndTime,
    kBestMetric,
    kLatestMetric,
    kSteps,
    kRestarts,
    kDuration,
    kCheckpointSize,
    kLogDays
  };
  model::ExperimentId experiment;
  std::vector<model::TrialId> ids;  // if not empty, these trials of any experiment
  // If set, trials of any experiment that start from this checkpoint.
  std::optional<model::CheckpointId> warm_start;
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  // Reads only the trials, without validations, checkpoints, summaries and metadata, which cost
  // most of the time.
  bool bare = false;
  std::vector<model::TrialState> states;
};
inline TrialQuery MakeBareTrialQuery(model::ExperimentId experiment) {
  TrialQuery query;
  query.experiment = experiment;
  query.bare = true;
  return query;
}
struct TrialPage {
  std::vector<TrialRecord> trials;
  int total = 0;
};

struct CheckpointEntry {
  model::CheckpointRecord checkpoint;
  model::ExperimentId experiment;
  model::TaskId task;
  model::Hparams hparams;
  std::optional<double> searcher_metric;
  // What the trial's newest attempt reported at the checkpoint's steps; null: nothing.
  model::Value validation_metrics;
  model::Value training_metrics;
  model::Value training_batches;  // a list of objects, or null
};
struct CheckpointQuery {
  // kSearcherMetric: best first. kMetric: smallest first. Checkpoints without a finite value come
  // last. Equal ones are in the order of their times.
  enum class Sort { kTime, kId, kTrial, kSteps, kState, kSearcherMetric, kMetric };
  std::optional<model::ExperimentId> experiment;
  std::optional<model::TrialId> trial;
  std::vector<model::CheckpointId> ids;        // only these; empty: all
  std::vector<model::CheckpointState> states;  // empty: all
  Window window;
  Sort sort = Sort::kTime;
  std::string metric;  // metric of the checkpoint's validation, for kMetric
  bool descending = false;
};
struct CheckpointPage {
  std::vector<CheckpointEntry> checkpoints;
  int total = 0;
};

struct LogRecord {
  int64_t id = 0;
  model::LogLine line;
};
struct LogQuery {
  model::TaskId task;
  int64_t after_id = 0;
  int64_t before_id = 0;  // 0: no bound
  int limit = 1000;
  bool descending = false;
  std::vector<std::string> allocations;
  std::vector<std::string> agents;
  std::vector<std::string> containers;
  std::vector<int> ranks;  // -1: lines without a rank
  std::vector<model::LogLevel> levels;
  std::vector<std::string> stdtypes;
  std::vector<std::string> sources;
  std::optional<absl::Time> before;
  std::optional<absl::Time> after;
  std::string contains;  // ignoring the case of ASCII letters
  // Lower-case substrings; all must occur in the line, ignoring the case of ASCII letters.
  std::vector<std::string> parts;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_RECORDS_H_
