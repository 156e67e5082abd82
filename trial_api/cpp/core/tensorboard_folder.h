// TensorBoard's event files in a folder of the run, copied beside the checkpoints. Made by
// Context::FromEnvironment.
#ifndef TRIAL_API_CPP_CORE_TENSORBOARD_FOLDER_H_
#define TRIAL_API_CPP_CORE_TENSORBOARD_FOLDER_H_

#include <functional>
#include <memory>
#include <string>

#include "trial_api/cpp/core/event_file.h"
#include "trial_api/cpp/core/ranks.h"
#include "trial_api/cpp/core/tensorboard.h"

namespace det::core {

// `copy` brings what has changed in the folder to where it is kept, and throws Error when it
// cannot; empty: it stays where it is. Called on a thread of its own, one call at a time, until the
// object ends, which waits for the call under way.
std::unique_ptr<Tensorboard> MakeTensorboard(std::string folder,
                                             std::function<void(const std::string& folder)> copy,
                                             WallClock now);

// Of this rank, below `root`.
std::string TensorboardFolder(const std::string& root, const Ranks& ranks);

// The system's clock.
double SecondsNow();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_TENSORBOARD_FOLDER_H_
