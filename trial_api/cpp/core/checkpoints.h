// Implementation of Checkpoints: the ranks write to a storage together, and the chief registers the
// checkpoint. Created by Context::FromEnvironment on and off the cluster; called on the training
// thread.
//
// From the first save on, each rank has a thread for saving, and the ranks have a separate channel
// for it. All ranks start the same saves in the same order, so these threads perform the same
// operations on that channel, and no other thread uses the channel of the training. If a rank ends,
// its connections are closed: the saving threads of the others fail, which the next call reports.
#ifndef TRIAL_API_CPP_CORE_CHECKPOINTS_H_
#define TRIAL_API_CPP_CORE_CHECKPOINTS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "trial_api/cpp/core/checkpoint.h"
#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/report.h"
#include "trial_api/cpp/storage/storage.h"

namespace det::core {

// Registers a published checkpoint, or reports a damaged one, immediately or later; throws Error if
// that is impossible. Called on the chief only: on its saving thread, or, for damage, on the
// training thread.
using Registrar = std::function<void(const CheckpointReport& checkpoint)>;

// The checkpoint that a run starts from.
struct StartPoint {
  std::string uuid;  // empty: a new attempt
  // Steps completed at that checkpoint; an older checkpoint may replace it. nullopt: no replacement
  // is allowed.
  std::optional<int64_t> steps;
};

// `communicator` must outlive the result.
std::unique_ptr<Checkpoints> MakeCheckpoints(Communicator* communicator,
                                             std::unique_ptr<storage::Storage> storage,
                                             StartPoint start, Registrar registrar);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CHECKPOINTS_H_
