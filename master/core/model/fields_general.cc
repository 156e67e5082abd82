#include <limits>
#include <span>

#include "master/core/model/field_rows.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Owner = ExperimentConfig;
using Role = Field::Role;

constexpr Field kGeneralFields[] = {
    {.path = "name",
     .description = "Name of the experiment; by default \"Experiment\" and three random words.",
     .target = DET_AT(name)},
    {.path = "description",
     .description = "Free-form description of the experiment.",
     .target = DET_AT(description),
     .default_json = "\"\"",
     .shown_default = "null"},
    {.path = "labels",
     .description = "Labels to find the experiment by; {label: true} is accepted as well.",
     .target = DET_AT(labels),
     .default_json = "[]",
     .shape = Field::Shape::kLabels},
    {.path = "data",
     .description = "Free-form; passed to the trial unchanged. Values below data.secrets are never "
                    "shown.",
     .target = DET_AT(data),
     .default_json = "{}"},
    {.path = "workspace",
     .description = "Workspace of the project; requires project.",
     .target = DET_AT(workspace),
     .default_json = "\"\""},
    {.path = "project",
     .description = "Project that the experiment belongs to; requires workspace.",
     .target = DET_AT(project),
     .default_json = "\"\""},
    {.path = "entrypoint",
     .description =
         "A Trial class, as file.cc:Class in C++ or module:Class in Python; a command for "
         "sh -c; or a list of strings as argv.",
     .target = DET_AT(entrypoint),
     .required = true},
    {.path = "hyperparameters",
     .description = "Hyperparameters of the trials: fixed values, or ranges for the searcher.",
     .target = DET_AT(hyperparameters),
     .default_json = "{}"},
    {.path = "version",
     .description = "Version of the format; 0 is the only one.",
     .role = Role::kIgnored,
     .default_json = "0"},
    {.path = "debug",
     .description = "Whether to log debug messages.",
     .target = DET_AT(debug),
     .default_json = "false",
     .warning = "no component logs more yet"},
    Section("reproducibility", "Settings for reproducible runs."),
    {.path = "reproducibility.experiment_seed",
     .description = "Seed of the searcher and of every trial; by default random.",
     .target = DET_AT(experiment_seed),
     .min = 0,
     .max = std::numeric_limits<uint32_t>::max()},
    Ignored("data_layer"),
    Ignored("internal"),
    Ignored("security"),
    Ignored("tensorboard_storage"),
};

}  // namespace

std::span<const Field> GeneralFields() { return kGeneralFields; }

}  // namespace det::model
