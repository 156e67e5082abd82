// The project of an experiment and its details (name, description, labels, notes), which users may
// change at any time. Part of request.h and change.h.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_EXPERIMENT_DETAILS_H_
#define MASTER_CORE_CLUSTER_EXPERIMENT_DETAILS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "master/core/experiment/experiment.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/ids.h"

namespace det::cluster {

struct ProjectRef {
  int32_t workspace = 1;
  int32_t project = 1;
  std::string workspace_name;
  std::string project_name;
  friend bool operator==(const ProjectRef&, const ProjectRef&) = default;
};
// The details to change; an absent one is unchanged.
struct ExperimentDetails {
  std::optional<std::string> name = std::nullopt;
  std::optional<std::string> description = std::nullopt;
  std::optional<std::vector<std::string>> labels = std::nullopt;
  std::optional<std::string> notes = std::nullopt;  // stored in the row only
  friend bool operator==(const ExperimentDetails&, const ExperimentDetails&) = default;
};

// Stores them in the experiment and in its configuration.
void Put(const ProjectRef& project, experiment::Experiment& e);
void Put(const ExperimentDetails& details, experiment::Experiment& e);

// ---- requests, also about experiments that have ended ----

// Moves an experiment to another project. While it runs, fair share and quotas count its whole
// usage for the new workspace; INVALID_ARGUMENT if that workspace may not use its pool.
struct MoveExperiment {
  model::ExperimentId id;
  ProjectRef to;
};
// Updates the name of a workspace or of a project in the experiments that run there.
struct RenameWorkspaceOrProject {
  int32_t workspace = 0;  // one of the two, the other is 0
  int32_t project = 0;
  std::string name;
};
struct UpdateExperimentDetails {
  model::ExperimentId id;
  ExperimentDetails details;
};

// ---- changes ----

struct SetProject {
  model::ExperimentId experiment;
  ProjectRef to;
  friend bool operator==(const SetProject&, const SetProject&) = default;
};
struct SetExperimentDetails {
  model::ExperimentId experiment;
  ExperimentDetails details;
  friend bool operator==(const SetExperimentDetails&, const SetExperimentDetails&) = default;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_EXPERIMENT_DETAILS_H_
