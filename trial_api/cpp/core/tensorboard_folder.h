// TensorBoard event files in a directory of the run, which are copied to the checkpoint storage.
// Created by Context::FromEnvironment.
#ifndef TRIAL_API_CPP_CORE_TENSORBOARD_FOLDER_H_
#define TRIAL_API_CPP_CORE_TENSORBOARD_FOLDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "trial_api/cpp/core/event_file.h"
#include "trial_api/cpp/core/ranks.h"
#include "trial_api/cpp/core/tensorboard.h"

namespace det::core {

// `copy` copies the changed files of the directory, and throws Error on failure; if it is empty,
// files are not copied. It is called on another thread, one call at a time; the destructor waits
// until all requested copies are made. `resumed_at` are the steps at which this attempt continues
// an earlier one: what that wrote for later steps is hidden.
std::unique_ptr<Tensorboard> MakeTensorboard(std::string folder,
                                             std::function<void(const std::string& folder)> copy,
                                             WallClock now,
                                             std::optional<int64_t> resumed_at = std::nullopt);

// Returns the directory of this rank below `root`.
std::string TensorboardFolder(const std::string& root, const Ranks& ranks);

// Returns the time of the system's clock in seconds since 1970.
double SecondsNow();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_TENSORBOARD_FOLDER_H_
