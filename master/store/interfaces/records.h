// What readers get and ask with: rows as plain values.
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
#include "master/store/interfaces/window.h"

namespace det::store {

struct ExperimentRecord {
  experiment::Experiment experiment;
  std::string username;
  int num_trials = 0;
  int checkpoint_count = 0;  // whose files are there
  int64_t checkpoint_size = 0;
  int64_t context_size = 0;
  bool archived = false;
  std::string notes;
  model::UserId project_owner;
};
struct ExperimentQuery {
  enum class Sort { kId, kName, kState, kStartTime, kEndTime, kNumTrials, kProgress, kUser };
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  std::string name;                            // contained in the name, any case
  std::string description;                     // likewise
  std::vector<std::string> labels;             // those that have all of these
  std::vector<model::ExperimentState> states;  // empty: all but DELETED
  std::vector<std::string> usernames;
  std::vector<model::UserId> owner_ids;
  std::vector<model::ExperimentId> ids;         // of these alone, if any are given
  std::vector<model::ExperimentId> not_ids;     // none of these
  std::optional<int64_t> least_id;              // at least
  std::optional<int64_t> greatest_id;           // at most
  int32_t project = 0;                          // of this one alone; 0: of all
  std::optional<std::vector<int32_t>> visible;  // in these workspaces alone
  std::string request_id;                       // exactly; empty: any
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
  int checkpoint_count = 0;  // whose files are there
  int64_t checkpoint_size = 0;
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
    kRestarts
  };
  model::ExperimentId experiment;
  std::vector<model::TrialId> ids;  // these, whatever the experiment, if any are given
  // Those that start from it, whatever the experiment.
  std::optional<model::CheckpointId> warm_start;
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  // The trials alone: no validations and no checkpoints, which cost more than all else.
  bool bare = false;
  std::vector<model::TrialState> states;
};
inline TrialQuery BareTrialsOf(model::ExperimentId experiment) {
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
  model::Hparams hparams;
  std::optional<double> searcher_metric;
  model::Value validation_metrics;
};
struct CheckpointQuery {
  // kSearcherMetric: the best first. kMetric: the least first. Without a finite number: last.
  enum class Sort { kTime, kId, kTrial, kSteps, kState, kSearcherMetric, kMetric };
  std::optional<model::ExperimentId> experiment;
  std::optional<model::TrialId> trial;
  std::vector<model::CheckpointId> ids;        // of these alone, if any are given
  std::vector<model::CheckpointState> states;  // empty: all
  Window window;
  Sort sort = Sort::kTime;
  std::string metric;  // of the checkpoint's validation; for kMetric
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
  std::vector<int> ranks;
  std::vector<model::LogLevel> levels;
  std::vector<std::string> stdtypes;
  std::vector<std::string> sources;
  std::optional<absl::Time> before;
  std::optional<absl::Time> after;
  std::string contains;
  // Each of them contained where capital letters of ASCII are taken for small ones, as these are.
  std::vector<std::string> parts;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_RECORDS_H_
