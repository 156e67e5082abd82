// Checkpoints of a trial: the ranks write together into a storage, the chief registers. Made by
// Context::FromEnvironment for both twins; called by the training thread.
#ifndef TRIAL_API_CPP_CORE_CHECKPOINTS_H_
#define TRIAL_API_CPP_CORE_CHECKPOINTS_H_

#include <functional>
#include <memory>
#include <string>

#include "trial_api/cpp/core/checkpoint.h"
#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/report.h"
#include "trial_api/cpp/storage/storage.h"

namespace det::core {

// Makes a published checkpoint known, or sees to it that it will be; throws Error when it cannot.
// Called on the chief alone.
using Registrar = std::function<void(const CheckpointReport& checkpoint)>;

// `communicator` must outlive the result. `latest`: what this run starts from, or empty.
std::unique_ptr<Checkpoints> MakeCheckpoints(Communicator* communicator,
                                             std::unique_ptr<storage::Storage> storage,
                                             std::string latest, Registrar registrar);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CHECKPOINTS_H_
