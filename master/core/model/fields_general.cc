#include "master/core/model/field_rows.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Owner = ExperimentConfig;
using Role = Field::Role;

constexpr Field kGeneralFields[] = {
    {.path = "name",
     .description = "Shown in lists; by default \"Experiment\" and three words.",
     .target = DET_AT(name)},
    {.path = "description",
     .description = "A sentence for people.",
     .target = DET_AT(description),
     .default_json = "\"\""},
    {.path = "labels",
     .description = "Words to find the experiment by; {word: true} is the same.",
     .target = DET_AT(labels),
     .default_json = "[]",
     .shape = Field::Shape::kLabels},
    {.path = "data",
     .description = "Free-form; handed to the trial as it stands. What is below data.secrets is "
                    "never shown to others.",
     .target = DET_AT(data),
     .default_json = "{}"},
    {.path = "workspace",
     .description = "Workspace of the project; needs project.",
     .target = DET_AT(workspace),
     .default_json = "\"\""},
    {.path = "project",
     .description = "Project that the experiment belongs to; needs workspace.",
     .target = DET_AT(project),
     .default_json = "\"\""},
    {.path = "entrypoint",
     .description = "A Trial, as file.cc:Class in C++ and module:Class in Python; a command for sh "
                    "-c; or a list as argv.",
     .target = DET_AT(entrypoint),
     .required = true},
    {.path = "hyperparameters",
     .description = "What trials are called with, and what the searcher may choose from.",
     .target = DET_AT(hyperparameters),
     .default_json = "{}"},
    {.path = "version",
     .description = "Of the format: 0, the only one.",
     .role = Role::kIgnored,
     .default_json = "0"},
    {.path = "debug",
     .description = "Whether the trial's log tells more.",
     .target = DET_AT(debug),
     .default_json = "false",
     .warning = "no part tells more for it yet"},
    Section("reproducibility", "What makes a second run like the first."),
    {.path = "reproducibility.experiment_seed",
     .description = "Seed of the searcher and of every trial; by default drawn at submission.",
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
