// Where an experiment lies and what people call it, as they may change it at any time. Part of
// request.h and change.h.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_SPACES_H_
#define MASTER_CORE_CLUSTER_SPACES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "master/core/experiment/experiment.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/ids.h"

namespace det::cluster {

struct Space {
  int32_t workspace = 1;
  int32_t project = 1;
  std::string workspace_name;
  std::string project_name;
  friend bool operator==(const Space&, const Space&) = default;
};
// What is set changes.
struct Texts {
  std::optional<std::string> name = std::nullopt;
  std::optional<std::string> description = std::nullopt;
  std::optional<std::vector<std::string>> labels = std::nullopt;
  std::optional<std::string> notes = std::nullopt;  // of the row alone
  friend bool operator==(const Texts&, const Texts&) = default;
};

// Puts them into the experiment, its configuration too.
void Put(const Space& space, experiment::Experiment& e);
void Put(const Texts& texts, experiment::Experiment& e);

// ---- requests, also about experiments that have ended ----

// To another project. While it runs, fair share and quotas count it by its workspace, what its runs
// have used so far included; INVALID_ARGUMENT when that may not use its pool.
struct MoveExperiment {
  model::ExperimentId id;
  Space to;
};
// A workspace, or a project, has another name now: those that run there are told.
struct RenameSpace {
  int32_t workspace = 0;  // one of the two, the other is 0
  int32_t project = 0;
  std::string name;
};
struct DescribeExperiment {
  model::ExperimentId id;
  Texts texts;
};

// ---- changes ----

struct SetProject {
  model::ExperimentId experiment;
  Space to;
  friend bool operator==(const SetProject&, const SetProject&) = default;
};
struct SetTexts {
  model::ExperimentId experiment;
  Texts texts;
  friend bool operator==(const SetTexts&, const SetTexts&) = default;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_SPACES_H_
