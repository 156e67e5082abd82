// How an experiment searches: the `searcher` section of its configuration. Which members mean
// something to which method is said by the table of fields (fields.h).
//
// PURE.
#ifndef MASTER_CORE_MODEL_SEARCHER_CONFIG_H_
#define MASTER_CORE_MODEL_SEARCHER_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "master/core/model/length.h"
#include "master/core/model/value.h"

namespace det::model {

// A metric of a validation, and which way is better.
struct Objective {
  std::string metric;
  bool smaller_is_better = true;
  friend bool operator==(const Objective&, const Objective&) = default;
};

enum class SearchMode { kAggressive, kStandard, kConservative };

// Population-based training.
struct PopulationConfig {
  int64_t size = 8;                    // trials of a generation
  int64_t generations = 8;             // each trains max_length / generations
  double replaced_fraction = 0.25;     // the worst of a generation, replaced by copies of the best
  double resample_probability = 0.25;  // of a hyperparameter: drawn anew rather than perturbed
  double perturb_factor = 1.2;
  friend bool operator==(const PopulationConfig&, const PopulationConfig&) = default;
};

struct SearcherConfig {
  std::string name;
  // The first objective; best checkpoints are judged by it.
  std::string metric;
  bool smaller_is_better = true;
  std::vector<Objective> other_objectives;

  // How long a trial trains at most, and the unit of rungs: one of the two, or neither. A Trial
  // class is told max_length; a script that owns its loop reports `time_metric` in its validations.
  std::optional<Length> max_length;
  std::optional<int64_t> max_time;
  std::string time_metric;

  int64_t max_trials = 1;              // 0: hyperband's own number
  int64_t max_concurrent_trials = 16;  // 0: no limit
  std::string sampler = "random";      // random, tpe, bayesian

  // Successive halving.
  double divisor = 4;
  int64_t num_rungs = 0;               // async_halving
  int64_t max_rungs = 5;               // adaptive_asha
  std::vector<int64_t> bracket_rungs;  // empty: by the mode
  SearchMode mode = SearchMode::kStandard;
  bool stop_once = true;  // false: trials pause at their rung, and the best of them go on

  PopulationConfig population;

  std::optional<int32_t> source_trial_id;
  std::string source_checkpoint_uuid;
  friend bool operator==(const SearcherConfig&, const SearcherConfig&) = default;
};

// All objectives, the first one first.
std::vector<Objective> Objectives(const SearcherConfig& config);

// The longest that a trial trains, in the searcher's unit; 0 when the configuration does not say.
int64_t MaxLength(const SearcherConfig& config);

// The member of a validation's metrics that says how long the trial has trained, in the unit of
// MaxLength; "batches" is also the report's own steps_completed.
std::string LengthMetric(const SearcherConfig& config);

const char* ToText(SearchMode mode);    // "standard"
const char* ToText(Length::Unit unit);  // "batches"

// In the configuration's own format.
Value ToValue(const Length& length);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_SEARCHER_CONFIG_H_
