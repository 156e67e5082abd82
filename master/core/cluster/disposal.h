// Changes of experiments that have ended, and of checkpoints that are given up; for an experiment
// that runs they change nothing that its next row would not. Held: view held_checkpoints.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_DISPOSAL_H_
#define MASTER_CORE_CLUSTER_DISPOSAL_H_

#include <vector>

#include "master/core/experiment/retention.h"
#include "master/core/model/file_globs.h"
#include "master/core/model/ids.h"

namespace det::cluster {

struct SetArchived {
  model::ExperimentId experiment;
  bool archived = false;
  friend bool operator==(const SetArchived&, const SetArchived&) = default;
};
// Its checkpoints that nobody holds go with it.
struct MarkDeleting {
  model::ExperimentId experiment;
  friend bool operator==(const MarkDeleting&, const MarkDeleting&) = default;
};
// Retention is due again.
struct PutRetention {
  model::ExperimentId experiment;
  experiment::RetentionPolicy policy;
  friend bool operator==(const PutRetention&, const PutRetention&) = default;
};
// All but DELETED become DELETING where nobody holds them.
struct DropCheckpoints {
  std::vector<model::CheckpointId> ids;
  friend bool operator==(const DropCheckpoints&, const DropCheckpoints&) = default;
};
// COMPLETED and ERROR become PARTIALLY_DELETED where nobody holds them, and the files that are
// named are to go.
struct TrimCheckpoint {
  model::CheckpointId id;
  model::Globs globs;  // as they were asked for: the sweep knows the files
  friend bool operator==(const TrimCheckpoint&, const TrimCheckpoint&) = default;
};
// As DropCheckpoints, and the experiment's retention is done; nothing if its policy is another by
// now.
struct RetainOthers {
  model::ExperimentId experiment;
  experiment::RetentionPolicy policy;
  std::vector<model::CheckpointId> drop;
  friend bool operator==(const RetainOthers&, const RetainOthers&) = default;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_DISPOSAL_H_
