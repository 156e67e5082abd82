// Checkpoints of a trial: the ranks write together into a storage, the chief registers. Made by
// Context::FromEnvironment for both twins; called by the training thread.
//
// Saving has a thread of its own on each rank, and a channel of its own among the ranks, both from
// the first save on. All ranks begin the same saves in the same order, so the threads go through
// the same operations on that channel, and the training's channel is never used by another thread.
// A rank that dies closes its connections: the others' threads fail, and say so at the next call.
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

// Makes a published checkpoint known, or one that was found damaged, or sees to it that it will be;
// throws Error when it cannot. Called on the chief alone, on its saving thread or, of damage, on
// the training's.
using Registrar = std::function<void(const CheckpointReport& checkpoint)>;

// What a run starts from.
struct StartPoint {
  std::string uuid;  // empty: a fresh start
  // How far the trial was at it; what it saved before then may take its place. None: nothing may.
  std::optional<int64_t> steps;
};

// `communicator` must outlive the result.
std::unique_ptr<Checkpoints> MakeCheckpoints(Communicator* communicator,
                                             std::unique_ptr<storage::Storage> storage,
                                             StartPoint start, Registrar registrar);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_CHECKPOINTS_H_
