#include <span>

#include "master/core/model/field_rows.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Owner = ExperimentConfig;

#define DET_HALVING "asha|async_halving|adaptive_asha|hyperband"

constexpr Field kSearcherFields[] = {
    {.path = "searcher",
     .description = "Which trials are created, and how long they train.",
     .role = Field::Role::kSection,
     .required = true},
    {.path = "searcher.name",
     .description =
         "single: one trial; random, grid: independent points; tpe, bayesian: points chosen by a "
         "model of previous results; asha (async_halving), adaptive_asha, hyperband: stop worse "
         "trials early; pbt: population-based training; custom: your own program.",
     .target = DET_AT(searcher.name),
     .required = true,
     .choices =
         "single|random|grid|adaptive_asha|async_halving|asha|hyperband|tpe|bayesian|pbt|custom",
     .removed = "sync_halving: use asha|adaptive: use adaptive_asha|adaptive_simple: use "
                "adaptive_asha",
     .kind = true},
    {.path = "searcher.smaller_is_better",
     .description = "Whether smaller values of the metric are better.",
     .target = DET_AT(searcher.smaller_is_better),
     .default_json = "true"},
    {.path = "searcher.metric",
     .description =
         "Validation metric to optimize, or a list of names or of {name, smaller_is_better} for "
         "several objectives; the first objective determines the best checkpoints.",
     .target = DET_AS(MetricTarget, searcher),
     .required = true},
    {.path = "searcher.max_length",
     .description = "Maximum training length of a Trial class; a number without a unit is batches.",
     .target = DET_AT(searcher.max_length),
     .default_json = "null",
     .min = 1},
    {.path = "searcher.max_time",
     .description = "Maximum training length of a script, in the unit of time_metric.",
     .target = DET_AT(searcher.max_time),
     .default_json = "null",
     .min = 1},
    {.path = "searcher.time_metric",
     .description = "Validation metric that measures a script's progress toward max_time.",
     .target = DET_AT(searcher.time_metric),
     .default_json = "null"},
    {.path = "searcher.max_trials",
     .description = "Number of trials; by default hyperband fills its brackets.",
     .target = DET_AT(searcher.max_trials),
     .default_json = "null",
     .required_for = "random|tpe|bayesian|asha|async_halving|adaptive_asha",
     .min = 1,
     .max = 1'000'000,
     .only_for = "random|tpe|bayesian|" DET_HALVING},
    {.path = "searcher.max_concurrent_trials",
     .description = "Maximum number of trials that run at the same time; 0 is unlimited.",
     .target = DET_AT(searcher.max_concurrent_trials),
     .default_json = "16",
     .min = 0,
     .max = 1'000'000,
     .only_for = "random|grid|tpe|bayesian|pbt|custom|" DET_HALVING},
    {.path = "searcher.sampler",
     .description = "Method that chooses the hyperparameters of the next trial.",
     .target = DET_AT(searcher.sampler),
     .default_json = "\"random\"",
     .choices = "random|tpe|bayesian",
     .only_for = "random|" DET_HALVING},

    {.path = "searcher.divisor",
     .description = "One of this many trials is promoted from each rung to the next.",
     .target = DET_AT(searcher.divisor),
     .default_json = "4.0",
     .min = 1,
     .above_min = true,
     .only_for = DET_HALVING},
    {.path = "searcher.num_rungs",
     .description = "Number of rungs of the bracket.",
     .target = DET_AT(searcher.num_rungs),
     .required = true,
     .min = 1,
     .max = 1000,
     .only_for = "asha|async_halving"},
    {.path = "searcher.mode",
     .description =
         "How aggressively trials are stopped early: with one bracket, half of them, or all.",
     .target = DET_CHOICE(searcher.mode),
     .default_json = "\"standard\"",
     .choices = "aggressive|standard|conservative",
     .only_for = "adaptive_asha"},
    {.path = "searcher.max_rungs",
     .description = "Maximum number of rungs of a bracket.",
     .target = DET_AT(searcher.max_rungs),
     .default_json = "5",
     .min = 1,
     .max = 1000,
     .only_for = "adaptive_asha"},
    {.path = "searcher.bracket_rungs",
     .description = "Number of rungs of each bracket; if empty, determined by the mode.",
     .target = DET_AT(searcher.bracket_rungs),
     .default_json = "[]",
     .min = 1,
     .max = 1000,
     .only_for = "adaptive_asha"},
    {.path = "searcher.stop_once",
     .description =
         "true: a trial is compared once, when it reaches a rung, and stopped or continued; "
         "false: it pauses there, and the best paused trials are promoted.",
     .target = DET_AT(searcher.stop_once),
     .default_json = "true",
     .only_for = "asha|async_halving|adaptive_asha"},

    {.path = "searcher.population_size",
     .description = "Number of trials of a generation.",
     .target = DET_AT(searcher.population.size),
     .default_json = "8",
     .min = 2,
     .max = 100'000,
     .only_for = "pbt"},
    {.path = "searcher.num_generations",
     .description = "Number of generations; each trains an equal part of the whole length.",
     .target = DET_AT(searcher.population.generations),
     .default_json = "8",
     .min = 1,
     .max = 100'000,
     .only_for = "pbt"},
    {.path = "searcher.replaced_fraction",
     .description = "Fraction of a generation, its worst trials, that copies of the best replace.",
     .target = DET_AT(searcher.population.replaced_fraction),
     .default_json = "0.25",
     .min = 0,
     .max = 0.5,
     .above_min = true,
     .only_for = "pbt"},
    {.path = "searcher.resample_probability",
     .description =
         "Probability that a hyperparameter of a copy is resampled instead of perturbed.",
     .target = DET_AT(searcher.population.resample_probability),
     .default_json = "0.25",
     .min = 0,
     .max = 1,
     .only_for = "pbt"},
    {.path = "searcher.perturb_factor",
     .description = "Factor by which a hyperparameter of a copy is multiplied or divided.",
     .target = DET_AT(searcher.population.perturb_factor),
     .default_json = "1.2",
     .min = 1,
     .above_min = true,
     .only_for = "pbt"},

    {.path = "searcher.source_trial_id",
     .description = "Trial whose latest checkpoint every trial starts from.",
     .target = DET_AT(searcher.source_trial_id),
     .default_json = "null",
     .min = 1,
     .max = kMaxInt},
    {.path = "searcher.source_checkpoint_uuid",
     .description = "Checkpoint that every trial starts from.",
     .target = DET_AT(searcher.source_checkpoint_uuid),
     .default_json = "null"},
};

#undef DET_HALVING

}  // namespace

std::span<const Field> SearcherFields() { return kSearcherFields; }

}  // namespace det::model
