// Changes that archive or delete ended experiments and delete checkpoints. They touch no column
// that the row of a running experiment writes. A checkpoint is held if the view held_checkpoints
// lists it.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_DELETION_CHANGES_H_
#define MASTER_CORE_CLUSTER_DELETION_CHANGES_H_

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
// Marks an experiment as DELETING, and its checkpoints that are not held.
struct MarkDeleting {
  model::ExperimentId experiment;
  friend bool operator==(const MarkDeleting&, const MarkDeleting&) = default;
};
// Stores a new retention policy and schedules its evaluation.
struct PutRetention {
  model::ExperimentId experiment;
  experiment::RetentionPolicy policy;
  friend bool operator==(const PutRetention&, const PutRetention&) = default;
};
// Changes checkpoints that are not held to DELETING, unless they are DELETED.
struct DropCheckpoints {
  std::vector<model::CheckpointId> ids;
  friend bool operator==(const DropCheckpoints&, const DropCheckpoints&) = default;
};
// Changes a COMPLETED or ERROR checkpoint that is not held to PARTIALLY_DELETED and schedules the
// removal of the files that match `globs`.
struct TrimCheckpoint {
  model::CheckpointId id;
  model::Globs globs;  // as requested; garbage collection expands them
  friend bool operator==(const TrimCheckpoint&, const TrimCheckpoint&) = default;
};
// Drops checkpoints like DropCheckpoints and records that retention was evaluated. Has no effect if
// the policy of the experiment has changed since.
struct ApplyRetention {
  model::ExperimentId experiment;
  experiment::RetentionPolicy policy;
  std::vector<model::CheckpointId> drop;
  friend bool operator==(const ApplyRetention&, const ApplyRetention&) = default;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_DELETION_CHANGES_H_
